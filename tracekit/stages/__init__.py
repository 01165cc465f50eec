"""From spans to operations to units: what each span is, and whose time each nanosecond of a unit was."""

from tracekit.stages.operations import operations
from tracekit.stages.update import UnitsUpdate, update_units

__all__ = ["UnitsUpdate", "operations", "update_units"]
