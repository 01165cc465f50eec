-- How far the data of the store has reached, in one row: what was computed stays true while the row is the same.
--
-- Columns:
--   span_count: spans.
--   metric_point_count: metric points of all kinds.
--   log_count: log records.
--   unit_count: requests and steps that were made of the spans.
--   newest_ingest: number of the ingest that came last, -1 for none.
--   built_through: number of the last ingest whose spans are in the units, -1 for none.
SELECT
    (SELECT count(*) FROM base.spans) AS span_count,
    (SELECT count(*) FROM base.metric_points)
    + (SELECT count(*) FROM base.metric_histograms)
    + (SELECT count(*) FROM base.metric_summaries) AS metric_point_count,
    (SELECT count(*) FROM base.logs) AS log_count,
    (SELECT count(*) FROM base.units) AS unit_count,
    (SELECT coalesce(max(ingest_id)::BIGINT, -1) FROM base.ingests) AS newest_ingest,
    (SELECT coalesce(max(ingest_id)::BIGINT, -1) FROM base.built_through) AS built_through
