-- Makes the rows of the ingests of the registered table `incoming_ingests`, which has the columns of base.ingests.
--
-- Columns:
--   count: rows added.
INSERT INTO base.ingests BY NAME
SELECT * EXCLUDE (row)
FROM incoming_ingests
ORDER BY row
