"""Every answer on every sample and scenario, as files that two versions of the code can be compared by.

    python -m tests.accuracy.answers_dump DIR [--worlds WORLDS] [--only NAME]
    python -m tests.accuracy.answers_dump --compare DIR1 DIR2 [--ignore KEY]

DIR gets one folder a world and `checksums.txt`. Worlds are generated once into WORLDS (default: DIR/worlds) and
read from there ever after, so that a change of the generators does not look like a change of the answers. Only the
public API is used: the same file runs on older and newer code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import tracekit
from generators import scenarios
from generators.generate import generate

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
METRICS = ("ttft", "tpot", "e2e", "step")
OPERATIONS_TRACES = 3
"""Traces of a world whose operations are written, the first by trace id."""

_FAULT = {"start_s": 15.0, "duration_s": 15.0}
SMALL: dict[str, dict[str, Any]] = {
    "serving": {"run.duration_s": 30.0} | {f"{group}.{name}": value
                                           for group in ("fault", "change") for name, value in _FAULT.items()},
    "training": {"run.steps": 24, "fault.first_step": 8, "fault.steps": 8},
    "job": {"run.steps": 2000},
    "cloud": {"training.run.steps": 2000, "training.job.accelerators": 1024},
}  # fmt: skip
"""What makes a scenario of each model small: seconds of work, with its fault in the second half."""

SEED = 1


def dump(folder: Path, worlds: Path, only: list[str]) -> None:
    """Write the answers of all worlds, or of those in `only`, below `folder`."""
    for name, files in _sources(worlds):
        if only and name not in only:
            continue
        try:
            _write_answers(files, folder / name)
        except Exception as error:
            error.add_note(f"in the world {name}")
            raise
        print(name, file=sys.stderr, flush=True)
    _write_checksums(folder, worlds)


def _sources(worlds: Path) -> Iterator[tuple[str, Path]]:
    """Name and folder of every sample trace and of every scenario, which is generated where it is not yet there."""
    yield from ((f"sample-{path.name}", path) for path in sorted(SAMPLES.iterdir()) if path.is_dir())
    for name in scenarios.names():
        world = worlds / name
        if not (world / "truth.json").exists():
            model = scenarios.load(name).model
            generate(name, seed=SEED, overrides=SMALL.get(model, {}), out=world)
        yield f"scenario-{name}", world


def _write_answers(world: Path, folder: Path) -> None:
    """Ingest one world into a store in memory and write every answer about it."""
    folder.mkdir(parents=True, exist_ok=True)
    with tracekit.open(None) as store:
        ingested = store.ingest(*sorted(world.glob("*.jsonl")))
        _write(folder / "ingest.json", {name: getattr(ingested, name) for name in ("spans", "metric_points", "logs")})
        for name, ask in _questions(store, _phases(world)).items():
            _write(folder / f"{name}.json", _answer(ask))
        report = store.report()
        _write(folder / "report.json", report.json)
        _write(folder / "report-rows.json", report.rows.to_dicts())
        (folder / "report.txt").write_text(f"{report.text}\n", encoding="utf-8")


def _questions(store: tracekit.Store, phases: tuple[str, str] | None) -> dict[str, Callable[[], Any]]:
    """Each question by the name of its file."""
    asked: dict[str, Callable[[], Any]] = {"quality": store.quality, "stragglers": store.stragglers}
    for metric in METRICS:
        asked[f"tail-{metric}-body"] = partial(store.tail, metric, outcome="any")
        if phases is not None:
            asked[f"tail-{metric}-phases"] = partial(store.tail, metric, where=phases[0], baseline=phases[1])
    traces = store.sql("SELECT DISTINCT lower(hex(trace_id)) AS trace FROM spans ORDER BY ALL")
    for number, trace in enumerate(traces["trace"].head(OPERATIONS_TRACES).to_list()):
        asked[f"operations-{number}"] = partial(store.operations, trace_id=trace)
    return asked


def _phases(world: Path) -> tuple[str, str] | None:
    """The time of the fault and the time before it, as conditions over units, where the truth names them."""
    path = world / "truth.json"
    window = json.loads(path.read_text(encoding="utf-8"))["fault_window_ns"] if path.exists() else None
    if window is None:
        return None
    return f"start_ns >= {window[0]} AND start_ns < {window[1]}", f"start_ns < {window[0]}"


def _answer(ask: Callable[[], Any]) -> Any:
    """The answer as plain values; an error that tracekit raises on purpose is an answer, too."""
    try:
        answer = ask()
    except tracekit.TracekitError as error:
        return {"error": type(error).__name__, "message": str(error)}
    return answer.as_dict() if hasattr(answer, "as_dict") else answer.to_dicts()


def _write(path: Path, value: Any) -> None:
    text = json.dumps(
        value, indent=1, sort_keys=True, default=lambda one: one.hex() if isinstance(one, bytes) else str(one)
    )
    path.write_text(f"{text}\n", encoding="utf-8")


def _write_checksums(folder: Path, worlds: Path) -> None:
    """One line a file of answers: SHA-256 and name, as `sha256sum --check` reads it."""
    found = sorted(path for path in folder.rglob("*") if _is_answer(path) and not path.is_relative_to(worlds))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in found]
    (folder / "checksums.txt").write_text("".join(lines), encoding="utf-8")


def _is_answer(path: Path) -> bool:
    return path.suffix in {".json", ".txt"} and path.name != "checksums.txt"


def compare(first: Path, second: Path, ignored: set[str]) -> int:
    """Print what differs between two dumps and return how many files do."""
    sides = [_names(folder) for folder in (first, second)]
    for folder, names in zip((first, second), (sides[0] - sides[1], sides[1] - sides[0]), strict=True):
        for name in sorted(names):
            print(f"only in {folder}: {name}")
    differing = 0
    for name in sorted(sides[0] & sides[1]):
        differences = list(_differences(first / name, second / name, ignored))
        differing += bool(differences)
        for line in differences[:8]:
            print(f"{name}: {line}")
        if len(differences) > 8:
            print(f"{name}: and {len(differences) - 8} more")
    print(f"{len(sides[0] & sides[1])} files compared, {differing} differ, {len(sides[0] ^ sides[1])} on one side only")
    return differing + len(sides[0] ^ sides[1])


def _names(folder: Path) -> set[str]:
    """The files that the checksums of a dump name."""
    return {line.split("  ", 1)[1] for line in (folder / "checksums.txt").read_text(encoding="utf-8").splitlines()}


def _differences(first: Path, second: Path, ignored: set[str]) -> Iterator[str]:
    texts = [path.read_text(encoding="utf-8") for path in (first, second)]
    if texts[0] == texts[1]:
        return
    if first.suffix == ".json":
        yield from _unequal(*(json.loads(text) for text in texts), "", ignored)
        return
    lines = [text.splitlines() for text in texts]
    if len(lines[0]) != len(lines[1]):
        yield f"{len(lines[0])} lines, {len(lines[1])} lines"
    for number, (one, other) in enumerate(zip(*lines, strict=False), start=1):
        if one != other:
            yield f"line {number}: {one!r} is now {other!r}"


def _unequal(one: Any, other: Any, place: str, ignored: set[str]) -> Iterator[str]:
    """Where two JSON values differ, keys in `ignored` aside."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted((one.keys() | other.keys()) - ignored):
            if key in one and key in other:
                yield from _unequal(one[key], other[key], f"{place}.{key}", ignored)
            else:
                yield f"{place}.{key}: only in the {'first' if key in one else 'second'}"
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _unequal(left, right, f"{place}[{number}]", ignored)
    elif one != other or type(one) is not type(other):
        yield f"{place}: {_short(one)} is now {_short(other)}"


def _short(value: Any) -> str:
    text = f"{len(value)} rows" if isinstance(value, list) else repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR")
    parser.add_argument("--worlds", type=Path, help="where generated telemetry is kept (default: DIR/worlds)")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this world; repeatable")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("DIR1", "DIR2"))
    parser.add_argument("--ignore", action="append", default=[], metavar="KEY", help="a JSON key not to compare")
    chosen = parser.parse_args()
    if chosen.compare:
        sys.exit(1 if compare(*chosen.compare, set(chosen.ignore)) else 0)
    if chosen.folder is None:
        parser.error("name the folder to write to, or two with --compare")
    dump(chosen.folder, chosen.worlds or chosen.folder / "worlds", chosen.only)


if __name__ == "__main__":
    main()
