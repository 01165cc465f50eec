-- Functions that make one huge value out of little, within bounds, for whoever asks a served store.
--
-- DuckDB looks whether a statement is to stop between vectors of rows, not inside one call of a function. These make
-- gigabytes, or take minutes, in one call. They stand in a schema that questions search before DuckDB's own functions.
-- Each argument stands once where it may be a long expression, in a list of one entry: a call inside a call inside a
-- call would else be written out three times, nine times, 27 times. What goes beyond a bound fails as a cast of the
-- sentence that says so: `error()` would count as a side effect, which keeps an alias of the value from being used.
--
-- No parameters, no columns.
CREATE SCHEMA memory.bounded;

-- Up to 16,384 characters, those of a list as text: a vector of 2,048 such texts is 32 MiB.
CREATE MACRO memory.bounded.repeat(value, count) AS
    list_transform(
        [{'value': value, 'count': count::BIGINT}],
        lambda made: system.main.repeat(
            made['value'],
            CASE
                WHEN length(made['value']::VARCHAR)::HUGEINT * greatest(made['count'], 0) > 16384
                    THEN 'repeat() makes at most 16384 characters here; ask for a shorter value'::BIGINT
                ELSE made['count']
            END
        )
    )[1];

CREATE MACRO memory.bounded.lpad(value, count, padding) AS
    system.main.lpad(
        value,
        list_transform(
            [count],
            lambda made: CASE
                WHEN made > 16384 THEN 'lpad() makes at most 16384 characters here; ask for a shorter value'::INTEGER
                ELSE made
            END
        )[1],
        padding
    );

CREATE MACRO memory.bounded.rpad(value, count, padding) AS
    system.main.rpad(
        value,
        list_transform(
            [count],
            lambda made: CASE
                WHEN made > 16384 THEN 'rpad() makes at most 16384 characters here; ask for a shorter value'::INTEGER
                ELSE made
            END
        )[1],
        padding
    );

CREATE MACRO memory.bounded.bar(value, low, high) AS system.main.bar(value, low, high),
(value, low, high, width) AS
    system.main.bar(
        value,
        low,
        high,
        list_transform(
            [width],
            lambda made: CASE
                WHEN made > 16384 THEN 'bar() makes at most 16384 characters here; ask for a shorter one'::INTEGER
                ELSE made
            END
        )[1]
    );

CREATE MACRO memory.bounded.bitstring(value, count) AS
    system.main.bitstring(
        value,
        list_transform(
            [count],
            lambda made: CASE
                WHEN made > 131072 THEN 'bitstring() makes at most 131072 bits here; ask for a shorter one'::INTEGER
                ELSE made
            END
        )[1]
    );

-- Lists of up to 65,536 numbers or times; the table functions of the same names have no end.
CREATE MACRO memory.bounded.range(stop BIGINT) AS
    list_transform(
        [stop],
        lambda made: system.main.range(
            CASE
                WHEN made > 65536
                    THEN 'range() makes lists of at most 65536 entries here; use FROM range(...)'::BIGINT
                ELSE made
            END
        )
    )[1],
(start BIGINT, stop BIGINT) AS
    list_transform(
        [{'start': start, 'stop': stop}],
        lambda made: system.main.range(
            made['start'],
            CASE
                WHEN made['stop']::HUGEINT - made['start'] > 65536
                    THEN 'range() makes lists of at most 65536 entries here; use FROM range(...)'::BIGINT
                ELSE made['stop']
            END
        )
    )[1],
(start BIGINT, stop BIGINT, step BIGINT) AS
    list_transform(
        [{'start': start, 'stop': stop, 'step': step}],
        lambda made: system.main.range(
            made['start'],
            CASE
                WHEN abs(made['stop']::HUGEINT - made['start']) > 65536 * abs(made['step']::HUGEINT)
                    THEN 'range() makes lists of at most 65536 entries here; use FROM range(...)'::BIGINT
                ELSE made['stop']
            END,
            made['step']
        )
    )[1],
(start TIMESTAMP, stop TIMESTAMP, step INTERVAL) AS
    list_transform(
        [{'start': start, 'stop': stop, 'step': step}],
        lambda made: system.main.range(
            made['start'],
            CASE
                WHEN abs(epoch(made['stop']) - epoch(made['start'])) > 65536 * abs(epoch(made['step']))
                    THEN 'range() makes lists of at most 65536 entries here; use FROM range(...)'::BIGINT::VARCHAR
                        ::TIMESTAMP
                ELSE made['stop']
            END,
            made['step']
        )
    )[1];

CREATE MACRO memory.bounded.generate_series(stop BIGINT) AS
    list_transform(
        [stop],
        lambda made: system.main.generate_series(
            CASE
                WHEN made > 65536
                    THEN 'generate_series() makes lists of at most 65536 entries here; use FROM generate_series(...)'
                        ::BIGINT
                ELSE made
            END
        )
    )[1],
(start BIGINT, stop BIGINT) AS
    list_transform(
        [{'start': start, 'stop': stop}],
        lambda made: system.main.generate_series(
            made['start'],
            CASE
                WHEN made['stop']::HUGEINT - made['start'] > 65536
                    THEN 'generate_series() makes lists of at most 65536 entries here; use FROM generate_series(...)'
                        ::BIGINT
                ELSE made['stop']
            END
        )
    )[1],
(start BIGINT, stop BIGINT, step BIGINT) AS
    list_transform(
        [{'start': start, 'stop': stop, 'step': step}],
        lambda made: system.main.generate_series(
            made['start'],
            CASE
                WHEN abs(made['stop']::HUGEINT - made['start']) > 65536 * abs(made['step']::HUGEINT)
                    THEN 'generate_series() makes lists of at most 65536 entries here; use FROM generate_series(...)'
                        ::BIGINT
                ELSE made['stop']
            END,
            made['step']
        )
    )[1],
(start TIMESTAMP, stop TIMESTAMP, step INTERVAL) AS
    list_transform(
        [{'start': start, 'stop': stop, 'step': step}],
        lambda made: system.main.generate_series(
            made['start'],
            CASE
                WHEN abs(epoch(made['stop']) - epoch(made['start'])) > 65536 * abs(epoch(made['step']))
                    THEN 'generate_series() makes lists of at most 65536 entries here; use FROM generate_series(...)'
                        ::BIGINT::VARCHAR::TIMESTAMP
                ELSE made['stop']
            END,
            made['step']
        )
    )[1];

CREATE MACRO memory.bounded.list_resize(list, size) AS
    system.main.list_resize(
        list,
        list_transform(
            [size],
            lambda made: CASE
                WHEN made > 65536 THEN 'list_resize() makes lists of at most 65536 entries here; ask for less'::BIGINT
                ELSE made
            END
        )[1]
    ),
(list, size, entry) AS
    list_transform(
        [{'list': list, 'size': size, 'entry': entry}],
        lambda made: system.main.list_resize(
            made['list'],
            CASE
                WHEN made['size']::HUGEINT * greatest(length(made['entry']::VARCHAR), 16) > 1048576
                    THEN 'list_resize() makes lists of at most 65536 short entries here; ask for less'::BIGINT
                ELSE made['size']
            END,
            made['entry']
        )
    )[1];

CREATE MACRO memory.bounded.array_resize(list, size) AS memory.bounded.list_resize(list, size),
(list, size, entry) AS memory.bounded.list_resize(list, size, entry);

-- The separator has to stay a constant.
CREATE MACRO memory.bounded.array_to_string(list, separator) AS
    system.main.array_to_string(
        list_transform(
            [list],
            lambda made: made[
                :CASE
                    WHEN len(made)::HUGEINT * length(separator) > 1048576
                        THEN 'array_to_string() puts at most 1048576 characters between entries here; ask for less'
                            ::BIGINT
                    ELSE len(made)
                END
            ]
        )[1],
        separator
    );

-- Their time is the product of the lengths.
CREATE MACRO memory.bounded.levenshtein(one, other) AS
    list_transform(
        [{'one': one, 'other': other}],
        lambda made: system.main.levenshtein(
            CASE
                WHEN length(made['one'])::HUGEINT * length(made['other']) > 16777216
                    THEN 'levenshtein() compares at most 4096 characters with 4096 here; ask for less'::BIGINT::VARCHAR
                ELSE made['one']
            END,
            made['other']
        )
    )[1];

CREATE MACRO memory.bounded.editdist3(one, other) AS memory.bounded.levenshtein(one, other);

CREATE MACRO memory.bounded.damerau_levenshtein(one, other) AS
    list_transform(
        [{'one': one, 'other': other}],
        lambda made: system.main.damerau_levenshtein(
            CASE
                WHEN length(made['one'])::HUGEINT * length(made['other']) > 16777216
                    THEN 'damerau_levenshtein() compares at most 4096 characters with 4096 here; ask for less'::BIGINT
                        ::VARCHAR
                ELSE made['one']
            END,
            made['other']
        )
    )[1];

-- A text that grows by a factor: to four times its length, or 131,072 characters.
CREATE MACRO memory.bounded.replace(value, old, new) AS
    list_transform(
        [{'value': value, 'old': old, 'new': new}],
        lambda made: system.main.replace(
            CASE
                WHEN length(made['new']) > length(made['old'])
                    AND length(made['value'])::HUGEINT // greatest(length(made['old']), 1) * length(made['new'])
                        > greatest(131072, 4 * length(made['value'])::HUGEINT)
                    THEN 'replace() makes at most 131072 characters, or four times those there were, here; ask for less'
                        ::BIGINT::VARCHAR
                ELSE made['value']
            END,
            made['old'],
            made['new']
        )
    )[1];

CREATE MACRO memory.bounded.regexp_text(value, new) AS
    list_transform(
        [{'value': value, 'new': new}],
        lambda made: CASE
            WHEN (length(made['value'])::HUGEINT + 1) * length(made['new'])
                > greatest(131072, 4 * length(made['value'])::HUGEINT)
                THEN 'regexp_replace() makes at most 131072 characters, or four times what there was, here; ask for less'
                    ::BIGINT::VARCHAR
            ELSE made['value']
        END
    )[1];

-- The expression and the options have to stay constants, or each row compiles its own.
CREATE MACRO memory.bounded.regexp_replace(value, expression, new) AS
    system.main.regexp_replace(memory.bounded.regexp_text(value, new), expression, new),
(value, expression, new, options) AS
    system.main.regexp_replace(memory.bounded.regexp_text(value, new), expression, new, options);

-- Values that double, or more, with each call: of up to 262,144 characters as text.
CREATE MACRO memory.bounded.short(value, called) AS
    list_transform(
        [value],
        lambda made: [made][
            CASE
                WHEN length(made::VARCHAR) > 262144
                    THEN (called || '() takes at most 262144 characters here; ask for a shorter value')::BIGINT
                ELSE 1
            END
        ]
    )[1];

CREATE MACRO memory.bounded.hex(value) AS system.main.hex(memory.bounded.short(value, 'hex'));

CREATE MACRO memory.bounded.to_hex(value) AS system.main.to_hex(memory.bounded.short(value, 'to_hex'));

CREATE MACRO memory.bounded.bin(value) AS system.main.bin(memory.bounded.short(value, 'bin'));

CREATE MACRO memory.bounded.to_binary(value) AS system.main.to_binary(memory.bounded.short(value, 'to_binary'));

CREATE MACRO memory.bounded.base64(value) AS system.main.base64(memory.bounded.short(value::BLOB, 'base64'));

CREATE MACRO memory.bounded.to_base64(value) AS system.main.to_base64(memory.bounded.short(value::BLOB, 'to_base64'));

CREATE MACRO memory.bounded.url_encode(value) AS
    system.main.url_encode(memory.bounded.short(value, 'url_encode'));

CREATE MACRO memory.bounded.regexp_escape(value) AS
    system.main.regexp_escape(memory.bounded.short(value, 'regexp_escape'));

-- A template that names a width makes as much as it says.
CREATE MACRO memory.bounded.template(value, called) AS
    list_transform(
        [value],
        lambda made: CASE
            WHEN length(made) > 4096
                THEN (called || '() takes a template of at most 4096 characters here; ask for a shorter one')::BIGINT
                    ::VARCHAR
            WHEN regexp_matches(
                system.main.replace(made, '%%', ''),
                '\{[^{}]*:[^{}]*([0-9]{5}|\{)|%[-+ #0]*([0-9.]*[0-9]{5}|[0-9]*\.?\*)'
            )
                THEN (called || '() takes widths of at most four digits in its template here; ask for a shorter one')
                    ::BIGINT::VARCHAR
            ELSE made
        END
    )[1];

CREATE MACRO memory.bounded.format(template) AS system.main.format(memory.bounded.template(template, 'format')),
(template, a) AS system.main.format(memory.bounded.template(template, 'format'), a),
(template, a, b) AS system.main.format(memory.bounded.template(template, 'format'), a, b),
(template, a, b, c) AS system.main.format(memory.bounded.template(template, 'format'), a, b, c),
(template, a, b, c, d) AS system.main.format(memory.bounded.template(template, 'format'), a, b, c, d),
(template, a, b, c, d, e) AS system.main.format(memory.bounded.template(template, 'format'), a, b, c, d, e),
(template, a, b, c, d, e, f) AS system.main.format(memory.bounded.template(template, 'format'), a, b, c, d, e, f),
(template, a, b, c, d, e, f, g) AS
    system.main.format(memory.bounded.template(template, 'format'), a, b, c, d, e, f, g),
(template, a, b, c, d, e, f, g, h) AS
    system.main.format(memory.bounded.template(template, 'format'), a, b, c, d, e, f, g, h);

CREATE MACRO memory.bounded.printf(template) AS system.main.printf(memory.bounded.template(template, 'printf')),
(template, a) AS system.main.printf(memory.bounded.template(template, 'printf'), a),
(template, a, b) AS system.main.printf(memory.bounded.template(template, 'printf'), a, b),
(template, a, b, c) AS system.main.printf(memory.bounded.template(template, 'printf'), a, b, c),
(template, a, b, c, d) AS system.main.printf(memory.bounded.template(template, 'printf'), a, b, c, d),
(template, a, b, c, d, e) AS system.main.printf(memory.bounded.template(template, 'printf'), a, b, c, d, e),
(template, a, b, c, d, e, f) AS system.main.printf(memory.bounded.template(template, 'printf'), a, b, c, d, e, f),
(template, a, b, c, d, e, f, g) AS
    system.main.printf(memory.bounded.template(template, 'printf'), a, b, c, d, e, f, g),
(template, a, b, c, d, e, f, g, h) AS
    system.main.printf(memory.bounded.template(template, 'printf'), a, b, c, d, e, f, g, h);
