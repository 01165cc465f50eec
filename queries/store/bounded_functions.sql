-- Functions that make one huge value out of little, within bounds, for whoever asks a served store.
--
-- DuckDB looks whether a statement is to stop between vectors of rows, not inside one call of a function. These make
-- gigabytes, or take minutes, in one call. They stand in a schema that questions search before DuckDB's own functions.
--
-- No parameters, no columns.
CREATE SCHEMA memory.bounded;

-- Up to 131,072 characters or list entries.
CREATE MACRO memory.bounded.repeat(value, count) AS
    system.main.repeat(
        value,
        CASE
            WHEN length(value)::HUGEINT * greatest(count, 0)::HUGEINT > 131072
                THEN error('repeat() makes at most 131072 characters here; ask for a shorter value')
            ELSE count
        END
    );

CREATE MACRO memory.bounded.lpad(value, count, padding) AS
    system.main.lpad(
        value,
        CASE
            WHEN count > 131072 THEN error('lpad() makes at most 131072 characters here; ask for a shorter value')
            ELSE count
        END,
        padding
    );

CREATE MACRO memory.bounded.rpad(value, count, padding) AS
    system.main.rpad(
        value,
        CASE
            WHEN count > 131072 THEN error('rpad() makes at most 131072 characters here; ask for a shorter value')
            ELSE count
        END,
        padding
    );

-- Lists of up to 65,536 numbers or times; the table functions of the same names have no end.
CREATE MACRO memory.bounded.range(stop BIGINT) AS
    system.main.range(
        CASE
            WHEN stop > 65536 THEN error('range() makes lists of at most 65536 entries here; use FROM range(...)')
            ELSE stop
        END
    ),
(start BIGINT, stop BIGINT) AS
    system.main.range(
        start,
        CASE
            WHEN stop::HUGEINT - start > 65536
                THEN error('range() makes lists of at most 65536 entries here; use FROM range(...)')
            ELSE stop
        END
    ),
(start BIGINT, stop BIGINT, step BIGINT) AS
    system.main.range(
        start,
        CASE
            WHEN abs(stop::HUGEINT - start) > 65536 * abs(step::HUGEINT)
                THEN error('range() makes lists of at most 65536 entries here; use FROM range(...)')
            ELSE stop
        END,
        step
    ),
(start TIMESTAMP, stop TIMESTAMP, step INTERVAL) AS
    system.main.range(
        start,
        CASE
            WHEN abs(epoch(stop) - epoch(start)) > 65536 * abs(epoch(step))
                THEN error('range() makes lists of at most 65536 entries here; use FROM range(...)')
            ELSE stop
        END,
        step
    );

CREATE MACRO memory.bounded.generate_series(stop BIGINT) AS
    system.main.generate_series(
        CASE
            WHEN stop > 65536
                THEN error('generate_series() makes lists of at most 65536 entries here; use FROM generate_series(...)')
            ELSE stop
        END
    ),
(start BIGINT, stop BIGINT) AS
    system.main.generate_series(
        start,
        CASE
            WHEN stop::HUGEINT - start > 65536
                THEN error('generate_series() makes lists of at most 65536 entries here; use FROM generate_series(...)')
            ELSE stop
        END
    ),
(start BIGINT, stop BIGINT, step BIGINT) AS
    system.main.generate_series(
        start,
        CASE
            WHEN abs(stop::HUGEINT - start) > 65536 * abs(step::HUGEINT)
                THEN error('generate_series() makes lists of at most 65536 entries here; use FROM generate_series(...)')
            ELSE stop
        END,
        step
    ),
(start TIMESTAMP, stop TIMESTAMP, step INTERVAL) AS
    system.main.generate_series(
        start,
        CASE
            WHEN abs(epoch(stop) - epoch(start)) > 65536 * abs(epoch(step))
                THEN error('generate_series() makes lists of at most 65536 entries here; use FROM generate_series(...)')
            ELSE stop
        END,
        step
    );

-- Their time is the product of the lengths.
CREATE MACRO memory.bounded.levenshtein(one, other) AS
    system.main.levenshtein(
        CASE
            WHEN length(one)::HUGEINT * length(other) > 16777216
                THEN error('levenshtein() compares at most 4096 characters with 4096 here')
            ELSE one
        END,
        other
    );

CREATE MACRO memory.bounded.editdist3(one, other) AS memory.bounded.levenshtein(one, other);

CREATE MACRO memory.bounded.damerau_levenshtein(one, other) AS
    system.main.damerau_levenshtein(
        CASE
            WHEN length(one)::HUGEINT * length(other) > 16777216
                THEN error('damerau_levenshtein() compares at most 4096 characters with 4096 here')
            ELSE one
        END,
        other
    );

-- A text that grows by a factor: to four times its length, or 131,072 characters.
CREATE MACRO memory.bounded.replace(value, old, new) AS
    system.main.replace(
        CASE
            WHEN length(new) > length(old) AND length(value)::HUGEINT // greatest(length(old), 1) * length(new)
                > greatest(131072, 4 * length(value)::HUGEINT)
                THEN error('replace() makes at most 131072 characters, or four times as many as there were, here')
            ELSE value
        END,
        old,
        new
    );
