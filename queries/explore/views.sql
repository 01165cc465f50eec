-- The views of the trace store with what they hold.
--
-- Columns:
--   view_name: name of the view.
--   comment: what one row of it is.
SELECT view_name, comment
FROM duckdb_views()
WHERE NOT internal AND schema_name = 'main'
ORDER BY view_name
