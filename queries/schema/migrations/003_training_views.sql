-- Views of the ranks and steps of training jobs; no table changes.
SELECT 1;
