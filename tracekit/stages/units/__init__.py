"""From the spans of whole keys to units: pure functions, Arrow tables in, frames out; no store, no database.

A kind of unit is a module here with its tables (what is known about the spans of some whole keys), its frames
and one function from the one to the other. Keys do not see each other, so the tables may be those of one batch
of a store or of one partition of a cluster. Whoever reads tables and stores frames lies in `stages.update`.
"""

from tracekit.stages.units.jobs import JobFrames, JobRecords, build_job
from tracekit.stages.units.requests import RequestFrames, build_requests
from tracekit.stages.units.steps import StepFrames, StepTables, build_steps
from tracekit.stages.units.traces import TraceTables

__all__ = [
    "JobFrames",
    "JobRecords",
    "RequestFrames",
    "StepFrames",
    "StepTables",
    "TraceTables",
    "build_job",
    "build_requests",
    "build_steps",
]
