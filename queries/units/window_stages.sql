-- Stages that mean something else in another window of a request.
--
-- Time of an engine that already decodes while its first token has not been seen downstream is
-- streaming. The own time of a gateway is the handling of the request only before the first
-- token; later, and where no first token is known, nothing says what it is.
--
-- Columns:
--   stage: stage as mapped.
--   window: window of the unit.
--   becomes: stage that the time has there.
SELECT *
FROM (
    VALUES
        ('eng.decode', 'ttft', 'out.stream'),
        ('gw.ingress', 'decode', 'unattributed'),
        ('gw.ingress', 'after', 'unattributed'),
        ('gw.ingress', 'e2e', 'unattributed')
) AS meanings (stage, "window", becomes)
