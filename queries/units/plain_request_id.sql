-- One id of a request without what APIs put before it (`chatcmpl-`) and, then, the number of a generation behind it;
-- NULL for what names no request. An attribute that is a list has its one value.
--
-- `said` is the text of the attribute.
CREATE OR REPLACE TEMP MACRO plain_request_id(said) AS
CASE
    WHEN regexp_matches(lower(trim(said, ' "[]''')), '^(|0+|-+|unknown|undefined|none|null|nil|nan|n/?a|default|test|[0-]+)$')
        THEN NULL
    WHEN regexp_matches(lower(trim(said, ' "[]''')), '^(chatcmpl|cmpl|embd|pool|score|rerank|classify)-')
        THEN regexp_replace(
            regexp_replace(lower(trim(said, ' "[]''')), '^[a-z]+-', ''), '(.)-[0-9]{1,2}$', '\1'
        )
    ELSE lower(trim(said, ' "[]'''))
END
