-- Terms that late requests miss.
--
-- Reads late_terms.
-- Columns:
--   term: ttft, tpot or e2e.
SELECT DISTINCT term
FROM late_terms
ORDER BY term
