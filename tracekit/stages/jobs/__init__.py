"""Units of jobs: a pure function of one job, from all that arrived about it to the ledger and its incidents."""

from tracekit.stages.jobs.build import JobFrames, build_job
from tracekit.stages.jobs.records import JobRecords, read_records

__all__ = ["JobFrames", "JobRecords", "build_job", "read_records"]
