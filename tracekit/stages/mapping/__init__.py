"""What spans are: the exporters' mappings of `queries/stages`, run over the typed columns of `batch_spans`."""

from tracekit.stages.mapping.attributes import batch_statement, make_batch_spans
from tracekit.stages.mapping.exporters import EXPORTERS, STEP_EXPORTERS, map_spans, needed

__all__ = ["EXPORTERS", "STEP_EXPORTERS", "batch_statement", "make_batch_spans", "map_spans", "needed"]
