-- Comments that a view takes over from the table or column of the same name, because it has none of its own.
--
-- Columns:
--   target: what to comment on, as the statement COMMENT ON spells it.
--   comment: the comment of the table or column behind it.
WITH
views AS (
    SELECT view_name AS name, comment
    FROM duckdb_views()
    WHERE NOT internal AND schema_name = 'main'
),

view_columns AS (
    SELECT columns.table_name AS view_name, columns.column_name, columns.comment
    FROM duckdb_columns() AS columns
    INNER JOIN views ON views.name = columns.table_name
    WHERE columns.schema_name = 'main'
),

inherited AS (
    SELECT 'VIEW "' || views.name || '"' AS target, tables.comment
    FROM views
    INNER JOIN duckdb_tables() AS tables
        ON tables.schema_name = 'base' AND tables.table_name = views.name
    WHERE views.comment IS NULL

    UNION ALL

    SELECT
        'COLUMN "' || view_columns.view_name || '"."' || view_columns.column_name || '"' AS target,
        columns.comment
    FROM view_columns
    INNER JOIN duckdb_columns() AS columns
        ON columns.schema_name = 'base'
        AND columns.table_name = view_columns.view_name
        AND columns.column_name = view_columns.column_name
    WHERE view_columns.comment IS NULL
)

SELECT target, comment
FROM inherited
WHERE comment IS NOT NULL
ORDER BY target
