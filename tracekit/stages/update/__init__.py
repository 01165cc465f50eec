"""Which keys have new spans, reading them, storing their units: the store's side of `stages.units`."""

from tracekit.stages.update.updating import UnitsUpdate, update_units

__all__ = ["UnitsUpdate", "update_units"]
