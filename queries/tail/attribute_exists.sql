-- Whether any unit has an attribute.
--
-- Parameters:
--   $attribute: key of the attribute.
-- Columns:
--   has_attribute: whether it occurs.
SELECT coalesce(bool_or(list_contains(variant_keys(attributes), $attribute)), false) AS has_attribute
FROM base.units
