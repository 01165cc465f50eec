"""All answers follow one protocol, and a new one plugs in by registering itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars as pl
import pytest

import tracekit as tk
from tests.unit.analysis.rows import Request, Step, traffic, write_units
from tracekit.analysis import (
    Answer,
    BaseAnswer,
    Evidence,
    Selection,
    answer_kinds,
    compare,
    failures,
    goodput,
    has_words,
    quality,
    question,
    registered,
    request_whatif,
    stragglers,
    tail,
    words_for,
)
from tracekit.errors import TracekitError, UsageError
from tracekit.remote import packed, unpacked
from tracekit.report import answer_output
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]
KINDS = {kind.name: kind for kind in answer_kinds()}


def steps(count: int = 12) -> list[Step]:
    """Two ranks whose steps are alike."""
    return [Step(step, rank, [("step.compute", 1000)]) for step in range(count) for rank in (0, 1)]


def answers(database: Database) -> dict[str, Answer]:
    """One answer of every kind."""
    return {
        "tail": tail(database, "ttft"),
        "stragglers": stragglers(database),
        "quality": quality(database),
        "goodput": goodput(database),
        "failures": failures(database),
        "compare": compare(database, None, None),
        "request_whatif": request_whatif(database, "normal=eng.queue"),
    }


@pytest.mark.parametrize("name", ["compare", "failures", "goodput", "quality", "request_whatif", "stragglers", "tail"])
def test_answers_follow_the_protocol(store: Write, name: str) -> None:
    """Codes, sentences, evidence, frames with the columns that are promised, and JSON."""
    answer = answers(store([*traffic(60), *steps()]))[name]
    assert isinstance(answer, Answer)
    assert has_words(type(answer))
    assert answer.summary
    assert isinstance(answer.evidence, Evidence)
    for frame, columns in answer.schema.items():
        assert getattr(answer, frame).columns == list(columns)
    shown = json.loads(json.dumps(answer.as_dict()))
    assert (shown["verdict"], shown["summary"]) == (answer.verdict, answer.summary)
    assert KINDS[name].rows in answer.schema


@pytest.mark.parametrize("name", ["compare", "failures", "goodput", "quality", "request_whatif", "stragglers", "tail"])
def test_answers_cross_the_wire_by_their_name(store: Write, name: str) -> None:
    """What arrives says the same, in the same types; module paths do not travel."""
    answer = answers(store([*traffic(60), *steps()]))[name]
    sent = json.dumps(packed(answer))
    arrived = unpacked(json.loads(sent))
    assert type(arrived) is type(answer)
    assert arrived.as_dict() == answer.as_dict()
    assert "tracekit." not in sent


@pytest.mark.parametrize("name", ["tracekit.errors:UsageError", "os:system", "no such answer"])
def test_only_registered_types_are_made_from_what_arrives(name: str) -> None:
    """A server cannot make a client build anything else."""
    with pytest.raises(TracekitError, match="unknown"):
        unpacked({"type": name, "fields": {}})


def test_an_answer_says_which_units_it_is_about(store: Write) -> None:
    """The tail and its baseline, or the steps that were looked at; ids as the store has them, nothing else."""
    database = store([*traffic(100), *steps()])
    units = tail(database, "ttft", quantile=0.9).units
    assert units.group_by("cohort").len().sort("cohort").rows() == [("tail", 11), ("baseline", 21)]
    looked_at = stragglers(database).units
    assert sorted(looked_at["unit_id"]) == list(range(102, 124))
    assert set(looked_at["cohort"]) == {"selection"}
    compared = compare(database, "unit_id <= 40", "unit_id > 40").units
    assert compared.group_by("cohort").len().sort("cohort").rows() == [("baseline", 41), ("selection", 59)]
    assert quality(database).units is None


def test_unit_ids_keep_their_sixty_four_bits() -> None:
    """Ids above 2^32 are compared as they are."""
    with Database.open(None) as database:
        write_units(database, traffic(40))
        for table in ("units", "unit_stages", "step_waits"):
            with database.transaction() as cursor:
                cursor.execute(f"UPDATE base.{table} SET unit_id = unit_id + 4611686018427387904")
        answer = tail(database, "ttft", quantile=0)
        assert answer.excess_ns == answer.stages["excess_ns"].sum()
        assert answer.units["unit_id"].min() == 4611686018427387904


def test_a_selection_leaves_nothing_behind(store: Write) -> None:
    """Its tables are gone when it is closed."""
    database = store(traffic(20))
    with Selection(database, "ttft") as selection:
        assert selection.sql("SELECT count(*) FROM tail_units").item() == 20
    with pytest.raises(tk.QueryError, match="tail_units"):
        database.sql("SELECT * FROM tail_units")


def test_a_new_answer_gets_every_surface_by_registering(store: Write) -> None:
    """Question by name, sentences, all formats, JSON and the wire, without a line elsewhere."""

    @registered("test_longest", rows="longest", title="Which units are longest?")
    @dataclass(frozen=True)
    class LongestAnswer(BaseAnswer):
        schema: ClassVar = {"longest": {"unit_id": pl.UInt64, "e2e_ns": pl.Int64}}
        longest: pl.DataFrame
        verdict: str
        evidence: Evidence
        units: pl.DataFrame | None = None

    @question("test_longest")
    def longest(database: Database, *, limit: int = 1) -> LongestAnswer:
        frame = database.sql(
            "SELECT unit_id, e2e_ns FROM units ORDER BY e2e_ns DESC, unit_id LIMIT $limit", limit=limit
        )
        return LongestAnswer(frame, "found", Evidence("good", (), {}))

    @words_for(LongestAnswer)
    def longest_summary(answer: LongestAnswer) -> str:
        return f"Unit {answer.longest['unit_id'][0]} is longest."

    answer = tk.Store(store(traffic(20))).ask("test_longest", limit=2)
    output = answer_output(answer)
    assert (output.rows.height, output.text.splitlines()[0]) == (2, "Unit 0 is longest.")
    assert list(output.json) == ["longest", "verdict", "summary", "quality"]
    assert unpacked(packed(answer)).summary == answer.summary


def test_a_question_that_nobody_knows_is_refused(store: Write) -> None:
    """The message says what can be asked."""
    with pytest.raises(UsageError, match=r"ask one of .*quality, .*stragglers, tail"):
        tk.Store(store([])).ask("why")
