-- The functions that a statement may call by name, with what they do where DuckDB says it; operators are left out.
--
-- Columns:
--   function_name: name of the function.
--   description: what it does in a line, empty where nothing is said.
SELECT
    function_name,
    coalesce(max(split_part(description, chr(10), 1)), '') AS description
FROM duckdb_functions()
WHERE function_type IN ('scalar', 'aggregate', 'macro') AND regexp_full_match(function_name, '[a-z][a-z0-9_]+')
GROUP BY function_name
ORDER BY function_name
