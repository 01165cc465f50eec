-- Bins that hold late requests.
--
-- Reads late_terms.
-- Columns:
--   bin_no: the bin.
SELECT DISTINCT bin_no
FROM late_terms
ORDER BY bin_no
