"""What is to be different in a replay of requests, as people write it: `replicas=+1`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.errors import UsageError

EXAMPLES = "normal=gw.auth, replicas=+1, batch=128 or without=prefill_interference"

_REPLICAS = re.compile(r"[+-]\d{1,3}")
_MOST_SEATS = 8192


@dataclass(frozen=True)
class ServingChange:
    """Changes of how requests are served, together.

    stage: a stage that takes no longer than it normally does. added: engines more, or fewer. seats: sequences that an
    engine runs at most. is_apart: prompts are prefilled beside the decode steps instead of between them.
    """

    stage: str | None = None
    added: int = 0
    seats: int | None = None
    is_apart: bool = False

    @classmethod
    def parsed(cls, texts: Sequence[str]) -> ServingChange:
        """The changes that texts such as `replicas=+1` mean together. Raises `UsageError`."""
        found: dict[str, object] = {}
        for text in texts:
            name, value = cls._one(text)
            if name in found:
                raise UsageError(
                    f"{text!r} is a second change of the same thing; write each once: {EXAMPLES}",
                    option="change",
                    value=text,
                )
            found[name] = value
        if not found:
            raise UsageError(f"say what is to change: {EXAMPLES}", option="change")
        return cls(**found)  # type: ignore[arg-type]

    @staticmethod
    def is_one(text: str) -> bool:
        """Whether a text is about requests rather than the steps of a job."""
        return text.strip().partition("=")[0] in ("normal", "replicas", "batch") or "prefill_interference" in text

    @classmethod
    def _one(cls, text: str) -> tuple[str, object]:
        verb, _, what = (part.strip() for part in text.strip().partition("="))
        if verb == "normal" and what:
            return "stage", what
        if verb == "replicas" and _REPLICAS.fullmatch(what) and int(what):
            return "added", int(what)
        if verb == "batch" and what.isdigit() and 0 < int(what) <= _MOST_SEATS:
            return "seats", int(what)
        if (verb, what) == ("without", "prefill_interference"):
            return "is_apart", True
        raise UsageError(f"{text!r} is no change that can be replayed: write {EXAMPLES}", option="change", value=text)

    @property
    def text(self) -> str:
        """The changes as they are written."""
        written = {
            f"normal={self.stage}": self.stage is not None,
            f"replicas={self.added:+d}": self.added != 0,
            f"batch={self.seats}": self.seats is not None,
            "without=prefill_interference": self.is_apart,
        }
        return " ".join(text for text, is_there in written.items() if is_there)

    @property
    def moves_engines(self) -> bool:
        """Whether engines have to be replayed for it whatever the stage is."""
        return self.added != 0 or self.seats is not None or self.is_apart
