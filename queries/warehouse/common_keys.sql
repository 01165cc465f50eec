-- Attributes that many of the rows have which are about to be written to a file, in a sample of them.
--
-- Reads the view exported, of which it needs the column `attributes`.
-- Parameters:
--   $every: one row of so many is looked at, by its number.
-- Columns:
--   key: name of the attribute.
--   kind: type of most of its values: VARCHAR, BIGINT, DOUBLE or BOOLEAN. Lists, objects and nulls do not count.
--   share: of the rows, those that have it with this type, 0 to 1.
WITH
numbered AS (
    SELECT attributes, row_number() OVER () AS row_no
    FROM exported
),
sampled AS (
    SELECT attributes::JSON AS said
    FROM numbered
    WHERE hash(row_no) % $every = 0
),
told AS (
    SELECT
        each.key,
        CASE each.type WHEN 'UBIGINT' THEN 'BIGINT' ELSE each.type END AS kind,
        count(*) AS told_count
    FROM sampled, json_each(sampled.said) AS each
    WHERE json_type(sampled.said) = 'OBJECT' AND each.type IN ('VARCHAR', 'UBIGINT', 'BIGINT', 'DOUBLE', 'BOOLEAN')
    GROUP BY ALL
)
SELECT
    key,
    arg_max(kind, told_count) AS kind,
    max(told_count) / (SELECT count(*) FROM sampled) AS share
FROM told
GROUP BY key
ORDER BY share DESC, key
