-- Which attribute keys the spans of each resource have.
CREATE TABLE base.span_attribute_keys (
    resource_id UINTEGER NOT NULL,
    key VARCHAR NOT NULL
);

INSERT INTO base.span_attribute_keys
SELECT DISTINCT
    resource_id,
    unnest(variant_keys(attributes)) AS key
FROM base.spans;
