"""The whole picture of a store: what is in it, what it can bear, and the headline of every question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from tracekit.analysis import Answer, QualityAnswer, TailAnswer, quality, stragglers, tail
from tracekit.output import Output, table
from tracekit.report.answers import answer_text
from tracekit.report.html import section_html
from tracekit.schema import METRICS, Metric, UnitKind
from tracekit.store import Database
from tracekit.wording import counted, moment_text

TAIL_TITLES: dict[Metric, str] = {
    "ttft": "What made the first token of the slow requests late?",
    "tpot": "What made the tokens of the slow requests slow?",
    "e2e": "What made the slow requests slow from end to end?",
    "step": "What made the slow training steps slow?",
}


@dataclass(frozen=True)
class Section:
    """A question that the report asks after the tails.

    name: its key in the JSON. title: the heading. ask: the answer, None where the store has nothing to ask about;
    it is given the store and the kinds of units that the store has tails of.
    """

    name: str
    title: str
    ask: Callable[[Database, frozenset[UnitKind]], Answer | None]


_SECTIONS: list[Section] = []


def add_section(section: Section) -> None:
    """Let the report ask one more question, after those that were added before."""
    _SECTIONS.append(section)


def _ask_stragglers(database: Database, kinds: frozenset[UnitKind]) -> Answer | None:
    return stragglers(database) if UnitKind.STEP in kinds else None


add_section(Section("stragglers", "Which rank made the others wait?", _ask_stragglers))


@dataclass(frozen=True)
class _Picture:
    """What the report shows."""

    contents: dict[str, Any]
    outcomes: pl.DataFrame
    quality: QualityAnswer
    tails: dict[Metric, TailAnswer]
    further: dict[str, Answer | None]


def report(database: Database, *, html: bool = False) -> Output:
    """What is in the store, its quality, and for each metric that it has the tail.

    rows: one row a metric and stage (`metric, stage, owner, excess_ns, share, significant`).
    html: with `html`, the sections of a page with the charts of the answers (`tracekit.report.html.page`).
    json: `contents`, `outcomes`, `quality`, `tails` by metric, then the further sections, `stragglers` first.
    """
    picture = _picture(database)
    sections = _sections(picture)
    text = "\n\n".join(f"# {heading}\n\n{lay_out()}" for heading, lay_out, _ in sections)
    body = "\n".join(_drawn(*section) for section in sections) if html else None
    return Output(rows=_rows(picture.tails), json=_json(picture), text=text, html=body)


def _drawn(heading: str, lay_out: Callable[[], str], answer: Answer | None) -> str:
    return section_html(heading, lay_out, None if answer is None else answer.chart())


def _picture(database: Database) -> _Picture:
    verdict = quality(database)
    tails = {metric: tail(database, metric) for metric in METRICS}
    tails = {metric: answer for metric, answer in tails.items() if answer.count}
    kinds = frozenset(METRICS[metric].unit_kind for metric in tails)
    return _Picture(
        contents=database.query("explore/store_contents").row(0, named=True),
        outcomes=database.query("explore/unit_outcomes"),
        quality=verdict,
        tails=tails,
        further={section.name: section.ask(database, kinds) for section in _SECTIONS},
    )


def _rows(tails: dict[Metric, TailAnswer]) -> pl.DataFrame:
    columns = ["stage", "owner", "excess_ns", "share", "significant"]
    frames = [answer.stages.select(pl.lit(metric).alias("metric"), *columns) for metric, answer in tails.items()]
    return pl.concat(frames) if frames else pl.DataFrame()


def _json(picture: _Picture) -> dict[str, Any]:
    further = {name: None if answer is None else answer.as_dict() for name, answer in picture.further.items()}
    return {
        "contents": picture.contents,
        "outcomes": picture.outcomes.to_dicts(),
        "quality": picture.quality.as_dict(),
        "tails": {metric: answer.as_dict() for metric, answer in picture.tails.items()},
    } | further


def _sections(picture: _Picture) -> list[tuple[str, Callable[[], str], Answer | None]]:
    """Heading, text and answer of each part, in order."""
    asked: list[tuple[str, Answer | None]] = [
        *((f"{TAIL_TITLES[metric]} ({metric})", answer) for metric, answer in picture.tails.items()),
        *((section.title, picture.further[section.name]) for section in _SECTIONS),
    ]
    return [
        ("What is in the store", lambda: _contents_text(picture.contents, picture.outcomes), None),
        ("Quality", lambda: answer_text(picture.quality), None),
        *((title, partial(answer_text, answer), answer) for title, answer in asked if answer is not None),
    ]


def _contents_text(contents: dict[str, Any], outcomes: pl.DataFrame) -> str:
    parts = [
        counted(contents["span_count"], "span"),
        counted(contents["metric_point_count"], "metric point"),
        counted(contents["log_count"], "log record"),
        f"from {counted(contents['service_count'], 'service')}",
    ]
    period = f"{moment_text(contents['first_ns'])} to {moment_text(contents['last_ns'])}"
    told = ", ".join(parts) + (f"; {period}." if contents["span_count"] else ".")
    return f"{told}\n\n{_outcomes_text(outcomes)}" if len(outcomes) else told


def _outcomes_text(outcomes: pl.DataFrame) -> str:
    return table(outcomes.select("kind", "outcome", pl.col("unit_count").alias("units")))
