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
from tracekit.stages.update import MOST_TRACES, UnitsUpdate, define_request_ids, update_jobs, update_units

__all__ = [
    "MOST_TRACES",
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
    "define_request_ids",
    "operations",
    "update_jobs",
    "update_units",
]
