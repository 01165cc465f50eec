-- The tables of a database that users or tracekit made.
--
-- Columns:
--   name: schema and table, joined by a dot.
SELECT schema_name || '.' || table_name AS name
FROM duckdb_tables()
WHERE NOT internal
ORDER BY name
