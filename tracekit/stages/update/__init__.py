"""Which keys have new spans, reading them, storing their units: the store's side of `stages.units`."""

from tracekit.stages.update.jobs import update_jobs
from tracekit.stages.update.selection import MOST_TRACES, define_request_ids
from tracekit.stages.update.updating import UnitsUpdate, update_units

__all__ = ["MOST_TRACES", "UnitsUpdate", "define_request_ids", "update_jobs", "update_units"]
