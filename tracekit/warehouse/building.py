"""A build: sources to files by the steps, and one exchange of the manifest at its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from tracekit.errors import UsageError
from tracekit.ingest import FileReport, IngestReport
from tracekit.objects import is_object
from tracekit.store import SCHEMA_VERSION, Reject, WriteCounts, added
from tracekit.warehouse import manifest as manifests
from tracekit.warehouse.decoding import DecodedSource
from tracekit.warehouse.engines import Engine
from tracekit.warehouse.folder import building, remove_unnamed
from tracekit.warehouse.jobs import build_jobs
from tracekit.warehouse.lookback import LookBack
from tracekit.warehouse.manifest import Manifest, SourceEntry
from tracekit.warehouse.parts import BuiltPart
from tracekit.warehouse.progress import Progress, Shares
from tracekit.warehouse.reading import check_readable
from tracekit.warehouse.sources import choose
from tracekit.warehouse.steps import Steps


@dataclass(frozen=True, slots=True)
class Built:
    """What a build did: a report of each source that it read, and how many it did not read."""

    report: IngestReport
    known_count: int
    """Sources that an earlier build read, and that are as they were."""
    left_out_count: int
    """Sources that were last changed before the time that was asked for."""
    late_count: int = 0
    """New spans that begin longer than the look-back before the newest that the warehouse had."""


def build(
    folder: str | Path,
    sources: Iterable[str | Path],
    *,
    engine: Engine,
    part_count: int | None = None,
    since_ns: int | None = None,
    endpoint: str | None = None,
    look_back_ns: int | None = None,
    is_compacting: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Build the warehouse in a folder of sources, or build into it those that it does not have yet.

    Everything is committed at the end by one exchange of the manifest; until then readers see what was there. Answers
    from it are those of a store that ingested the same sources in the same order: by name, and those of a later build
    behind those of an earlier one. The report has the sources that were read now. `part_count` is how many parts the
    new records are dealt to, `since_ns` leaves out files that were last changed before, `endpoint` is the URL of the
    store that `s3://` and `s3a://` mean, `progress` is called with bytes done and bytes in all.

    `look_back_ns`: how long before and after a new span to look for what belongs to its request; None looks everywhere.
    Within it the warehouse equals one build of everything; new spans that begin longer before the newest are counted.
    `is_compacting` puts small parts together; a build does that by itself when there are more than 16. Raises
    `StoreLockedError` while another build holds the folder, `StoreError` where it cannot be written; nothing is changed
    then.
    """
    _check(folder, part_count, look_back_ns)
    location = Path(folder).resolve()
    with building(location) as staging:
        old = manifests.read(location) if manifests.is_warehouse(location) else Manifest()
        check_readable(location, old)
        remove_unnamed(location, old)
        chosen = choose(sources, old, since_ns=since_ns, endpoint=endpoint)
        shares = Shares(progress, chosen.new)
        steps = Steps(location, staging, engine, old, part_count, shares, LookBack(look_back_ns), is_compacting)
        decoded = steps.decode(chosen.new)
        late_count = sum(each.late_count for each in decoded)
        return Built(_committed(steps, decoded), chosen.known_count, chosen.left_out_count, late_count)


def _check(folder: str | Path, part_count: int | None, look_back_ns: int | None) -> None:
    if is_object(str(folder)):
        told = "a warehouse is built in a folder, which can be copied to an object store afterwards and read there"
        raise UsageError(told, option="to", value=str(folder))
    if part_count is not None and part_count < 1:
        raise UsageError(f"there are to be {part_count} partitions; give at least 1", option="partitions")
    if look_back_ns is not None and look_back_ns < 0:
        raise UsageError("a look-back is a time of zero or more, such as 2h", option="look-back")


def _committed(steps: Steps, decoded: Sequence[DecodedSource]) -> IngestReport:
    """Build what was decoded, name the result, and say what became of the sources."""
    entries = _entries(decoded, steps.old.last_ingest_id)
    kept = [entry for entry in entries if entry.digest is not None]
    if not kept and steps.old.commit and not steps.to_merge(steps.old.of_kind("spans")):
        return IngestReport(tuple(map(_reported, decoded, entries)))
    manifest = _manifest(steps, decoded, kept)
    manifests.write(steps.folder, manifest)
    counted = {entry.name: entry for entry in manifest.sources[len(steps.old.sources) :]}
    return IngestReport(
        tuple(_reported(each, counted.get(entry.name, entry)) for each, entry in zip(decoded, entries, strict=True))
    )


def _manifest(steps: Steps, decoded: Sequence[DecodedSource], entries: list[SourceEntry]) -> Manifest:
    """The manifest with new sources; all that it names is written."""
    old = steps.old
    draft = replace(
        old,
        commit=old.commit + 1,
        schema_version=SCHEMA_VERSION,
        created_by=f"tracekit {metadata.version('tracekit-stages')}",
        sources=(*old.sources, *entries),
    )
    dimensions = steps.number_senders(decoded, number=old.next_part)
    built, kept = steps.build_parts(decoded, draft.sources, dimensions, first_number=old.next_part + 2)
    next_part = old.next_part + 2 + len(built)
    of_spans = steps.merged([*kept, *(each.part for each in built)], first_number=next_part)
    parts = (*of_spans, dimensions, *old.of_kind("jobs"))
    draft = replace(
        draft,
        next_part=max(next_part, *(part.number + 1 for part in parts)),
        sources=(*old.sources, *_counted(entries, built)),
        parts=parts,
    )
    jobs = build_jobs(steps.folder, draft, built_through=old.last_ingest_id, number=old.next_part + 1)
    return replace(draft, parts=(*(part for part in parts if part.kind != "jobs"), jobs))


def _entries(decoded: Sequence[DecodedSource], last_ingest_id: int) -> list[SourceEntry]:
    """The sources as the manifest knows them; those that brought something have the next numbers."""
    entries = []
    for each in decoded:
        last_ingest_id += bool(each.batches)
        source, ended = each.source, each.ended
        entries.append(
            SourceEntry(
                name=source.name,
                size_bytes=source.size_bytes,
                digest=each.digest,
                ingest_id=last_ingest_id if each.batches else None,
                format=each.format,
                received_ns=each.received_ns,
                counts=each.counts,
                error=ended.error,
                is_skipped=ended.is_unknown and not each.batches and not source.is_named,
                modified_ns=source.modified_ns,
                endpoint=source.endpoint,
            )
        )
    return entries


def _counted(entries: Iterable[SourceEntry], built: Sequence[BuiltPart]) -> list[SourceEntry]:
    """The entries with what became of their records in the parts."""
    return [replace(entry, counts=_summed(entry, [each.counts for each in built])) for entry in entries]


def _summed(entry: SourceEntry, counts: Sequence[Mapping[int, WriteCounts]]) -> WriteCounts:
    found = [
        of_part[entry.ingest_id] for of_part in counts if entry.ingest_id is not None and entry.ingest_id in of_part
    ]
    total = added(WriteCounts(), WriteCounts(rejects=_earliest_first(found)))
    for each in found:
        total = added(total, replace(each, rejects=()))
    return added(entry.counts, total)


def _earliest_first(counts: Sequence[WriteCounts]) -> tuple[Reject, ...]:
    """The rejects of all parts, in order of where they lie: the first stands for those of its reason."""
    rejects = [reject for each in counts for reject in each.rejects]
    return tuple(sorted(rejects, key=lambda reject: (reject.first_offset or 0, reject.example or "")))


def _reported(decoded: DecodedSource, entry: SourceEntry) -> FileReport:
    return FileReport(entry.name, decoded.format, entry.counts, error=entry.error, is_skipped=entry.is_skipped)
