"""From spans to operations to units: what each span is, and whose time each nanosecond of a unit was.

`mapping` says what spans are, `units` makes units of them, `update` keeps those of a store up to date.
"""

from tracekit.stages.trace_operations import operations
from tracekit.stages.units import (
    JobFrames,
    JobRecords,
    RequestFrames,
    StepFrames,
    StepTables,
    TraceTables,
    build_job,
    build_requests,
    build_steps,
)
from tracekit.stages.update import UnitsUpdate, update_units

__all__ = [
    "JobFrames",
    "JobRecords",
    "RequestFrames",
    "StepFrames",
    "StepTables",
    "TraceTables",
    "UnitsUpdate",
    "build_job",
    "build_requests",
    "build_steps",
    "operations",
    "update_units",
]
