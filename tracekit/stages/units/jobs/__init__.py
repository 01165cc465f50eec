"""Units of jobs: a pure function of one job, from all that arrived about it to the ledger and its incidents."""

from tracekit.stages.units.jobs.build import JobFrames, build_job
from tracekit.stages.units.jobs.records import JobRecords

__all__ = ["JobFrames", "JobRecords", "build_job"]
