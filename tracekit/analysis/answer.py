"""What every answer is, and how a question with its answer becomes known to every surface.

A new question is one file here and one in `tracekit/wording`:

    # tracekit/analysis/idle.py
    @registered("idle", rows="hosts", title="Which hosts idle?")
    @dataclass(frozen=True)
    class IdleAnswer(BaseAnswer):
        schema: ClassVar = {"hosts": HOST_SCHEMA}

        hosts: pl.DataFrame
        verdict: IdleVerdict          # codes: tracekit/schema/verdicts.py
        evidence: Evidence
        units: pl.DataFrame

    @question("idle")
    def idle(database: Database, *, job: str | None = None) -> IdleAnswer:
        with Selection(database, "step", where=...) as selection:
            ...

    # tracekit/wording/idle.py
    @words_for(IdleAnswer)
    def idle_summary(answer: IdleAnswer) -> str: ...

Both packages export what the files define. From then on `Store.ask("idle", job=...)` answers, here and
through a server; `tracekit.report.answer_output(answer)` gives rows, JSON and text for every `--format` (a text of its
own: `@text_for(IdleAnswer)` in `tracekit/report`); a typed method of `Store` and a command in `tracekit/cli` are
three lines each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

import polars as pl

from tracekit.analysis.worded import Drawn, in_words
from tracekit.errors import UsageError
from tracekit.schema import exchanged

if TYPE_CHECKING:
    from tracekit.analysis.evidence import Evidence

FrameSchema = Mapping[str, "type[pl.DataType] | pl.DataType"]

UNITS_SCHEMA = pl.Schema([("unit_id", pl.Int64()), ("cohort", pl.Enum(["tail", "baseline", "selection"]))])
"""The units that an answer is about: their ids, and on which side of a comparison they are."""


@runtime_checkable
class Answer(Protocol):
    """What every answer has; see the head of this module for how to add one.

    schema: the columns of each of its frames. verdict: the conclusion as a stable code. evidence: what the data can
    bear. units: the units that it is about (UNITS_SCHEMA), None for all units of the store. summary: the conclusion
    in sentences. `as_dict` is the JSON of the command, frames as lists of rows.
    """

    @property
    def schema(self) -> Mapping[str, FrameSchema]: ...

    @property
    def verdict(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def evidence(self) -> Evidence: ...

    @property
    def units(self) -> pl.DataFrame | None: ...

    def chart(self) -> Any: ...

    def as_dict(self) -> dict[str, Any]: ...


class BaseAnswer(Drawn):
    """What answers that are frozen dataclasses share: their sentences, and their JSON.

    `not_in_json` names fields that are not part of the JSON: those that only sentences need, and the units.
    """

    schema: ClassVar[Mapping[str, FrameSchema]] = {}
    not_in_json: ClassVar[frozenset[str]] = frozenset({"evidence", "units"})

    @property
    def summary(self) -> str:
        """The conclusion in sentences, as `tracekit.wording` says it."""
        return in_words(self)

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values: frames as lists of rows, `quality` for the evidence."""
        listed = [field.name for field in fields(self) if field.name not in self.not_in_json]  # type: ignore[arg-type]
        values = {name: plain(getattr(self, name)) for name in listed}
        return values | {"summary": self.summary, "quality": self.evidence.as_dict()}  # type: ignore[attr-defined]


@dataclass(frozen=True)
class AnswerKind:
    """A kind of answer: `name` on the wire and in JSON, `rows` its main frame, `title` its question in a report."""

    name: str
    type: type
    rows: str
    title: str


Registered = TypeVar("Registered", bound=type)
Asked = TypeVar("Asked", bound=Callable[..., Any])

_KINDS: dict[type, AnswerKind] = {}
_QUESTIONS: dict[str, Callable[..., Any]] = {}


def registered(name: str, *, rows: str, title: str) -> Callable[[Registered], Registered]:
    """Make a class of answers known under `name`: to the wire, to all formats, to the report."""

    def register(kind: Registered) -> Registered:
        _KINDS[kind] = AnswerKind(name, kind, rows, title)
        return exchanged(name)(kind)

    return register


def question(name: str) -> Callable[[Asked], Asked]:
    """Make a function known as the question `name`: it takes a `Database`, then its options."""

    def register(ask: Asked) -> Asked:
        _QUESTIONS[name] = ask
        return ask

    return register


def questions() -> tuple[str, ...]:
    """Names of all questions."""
    return tuple(_QUESTIONS)


def question_named(name: str) -> Callable[..., Any]:
    """The function that answers a question. Raises `UsageError` where there is none of this name."""
    if name not in _QUESTIONS:
        raise UsageError(
            f"there is no question {name!r}; ask one of {', '.join(sorted(_QUESTIONS))}", option="question", value=name
        )
    return _QUESTIONS[name]


def answer_kinds() -> tuple[AnswerKind, ...]:
    """Every kind of answer."""
    return tuple(_KINDS.values())


def kind_of(answer: Answer) -> AnswerKind:
    """The registered kind of an answer."""
    return _KINDS[type(answer)]


def plain(value: object) -> object:
    """A value as JSON holds it: a frame as a list of rows."""
    return value.to_dicts() if isinstance(value, pl.DataFrame) else value
