-- Stages that mean something else in another window of a request.
--
-- Time of an engine that already decodes while its first token has not been seen downstream is
-- streaming. Prefill after the first token repeats one, on another worker or after a preemption:
-- exporters without a word for that call it prefill again. The own time of a gateway is the
-- handling of the request only before the first token; later, and where no first token is known,
-- nothing says what it is.
--
-- Columns:
--   stage: stage as mapped.
--   window: window of the unit.
--   becomes: stage that the time has there.
SELECT *
FROM (
    VALUES
        ('eng.decode', 'ttft', 'out.stream'),
        ('eng.prefill', 'decode', 'eng.recompute'),
        ('gw.ingress', 'decode', 'unattributed'),
        ('gw.ingress', 'after', 'unattributed'),
        ('gw.ingress', 'e2e', 'unattributed')
) AS window_overrides (stage, "window", becomes)
