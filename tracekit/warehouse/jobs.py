"""The last step of a build: the units of training jobs, read over the files that are about to be committed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tracekit.stages import update_jobs
from tracekit.warehouse.columns import JOB_TABLES
from tracekit.warehouse.files import exported
from tracekit.warehouse.manifest import Manifest, Part
from tracekit.warehouse.reading import opened


def build_jobs(folder: Path, manifest: Manifest, *, built_through: int, number: int) -> Part:
    """Make the units of jobs of which something arrived after source `built_through`; the others stay as they are."""
    with opened(folder, manifest) as database:
        with database.transaction() as cursor:
            cursor.execute("DELETE FROM base.jobs_built_through")
            cursor.execute("INSERT INTO base.jobs_built_through SELECT $last WHERE $last > 0", {"last": built_through})
        with database.building:
            update_jobs(database)
        with closing(database.cursor()) as cursor:
            return Part(number, "jobs", exported(cursor, folder, JOB_TABLES, name=f"{number:06d}"))
