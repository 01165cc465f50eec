-- The columns of the views of the trace store.
--
-- Columns:
--   view_name: name of the view.
--   column: name of the column.
--   type: its DuckDB type.
--   meaning: what it holds, with its unit.
SELECT
    columns.table_name AS view_name,
    columns.column_name AS "column",
    columns.data_type AS type,
    columns.comment AS meaning
FROM duckdb_columns() AS columns
INNER JOIN duckdb_views() AS views
    ON views.view_name = columns.table_name AND views.schema_name = columns.schema_name
WHERE NOT views.internal AND columns.schema_name = 'main'
ORDER BY view_name, columns.column_index
