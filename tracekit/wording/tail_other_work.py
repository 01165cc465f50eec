"""More or other work in place of slowness, in plain sentences."""

from __future__ import annotations

from tracekit.analysis import TailAnswer, is_mix, larger_work, load_bounds_ns, longer_ns
from tracekit.wording.numbers import duration_text


def load_sentence(answer: TailAnswer) -> str:
    """How much more work arrived, by what rose most, and the bounds of what load and slowness can each explain."""
    work, factor = answer.load.filter("is_higher").sort("factor").select("work", "factor").row(-1)
    what = f"many {work.replace('_', ' ')}"
    if work == "work":
        what = "much work, by what requests of their classes take in the baseline,"
    lead = f"In its time {factor:.1f} times as {what} arrived each second as in the baseline"
    shared_ns, other_ns = load_bounds_ns(answer)
    most = f"Load explains at most {duration_text(shared_ns)} of the {duration_text(longer_ns(answer))}"
    least = f", and at least {duration_text(other_ns)} is slowness: it lies where they do not" if other_ns else ""
    where = "and most of the excess is where requests wait for each other"
    return f"{lead}, {where}: there load and slowness cannot be told apart. {most}{least}."


def mix_sentence(answer: TailAnswer) -> str:
    """That the slow ones are other units, and how fast like ones are."""
    rate_ns = int(answer.stages["rate_ns"].sum())
    like_units = "as fast"
    if rate_ns:
        like_units = f"{duration_text(abs(rate_ns))} {'slower' if rate_ns > 0 else 'faster'}"
    others = f"the slow {answer.unit}s are of other kinds or sizes{_kinds_text(answer)}"
    return f"It is mix, not slowness: {others}, like ones are {like_units}{_tokens_text(answer)}."


def kinds_sentence(answer: TailAnswer) -> str:
    """That requests are compared with those of the same value of an attribute, which other shares have than before."""
    if answer.kind_attribute is None or is_mix(answer):
        return ""
    return f"Requests are compared with those of the same {answer.kind_attribute}, because other ones come than before."


def _kinds_text(answer: TailAnswer) -> str:
    """Which values of the attribute that tells the kinds are more frequent than before."""
    if answer.kind_attribute is None:
        return ""
    more = answer.differences.filter(dimension=answer.kind_attribute).head(1)
    if more.is_empty():
        return f" ({answer.kind_attribute})"
    row = more.row(0, named=True)
    return f" ({row['dimension']} {row['value']!r}: {row['tail_share']:.0%}, before {row['rest_share']:.0%})"


def lack_sentence(answer: TailAnswer) -> str:
    """That the baseline has no units to compare with."""
    if not len(larger_work(answer)):
        kind = "a kind or size" if answer.unit == "request" else "a job"
        return (
            f"Most of it lies in {answer.unit}s of {kind} that only one side has: other work and slower work "
            "cannot be told apart."
        )
    return (
        f"Most of it lies in larger {answer.unit}s, and the baseline has no {answer.unit}s of this size: "
        f"size and slowness cannot be told apart{_tokens_text(answer)}."
    )


def _tokens_text(answer: TailAnswer) -> str:
    return "".join(_token_text(row) for row in larger_work(answer).iter_rows(named=True))


def _token_text(row: dict[str, float | str]) -> str:
    """What a token takes on both sides: information, no proof of equal speed."""
    each, before = (duration_text(round(float(row[f"{side}_ns_per_token"]))) for side in ("tail", "baseline"))
    tokens = str(row["tokens"]).replace("_", " ")
    compared = f"{row['baseline_tokens']:,.0f} at {before}"
    return f"; {row['tail_tokens']:,.0f} {tokens} at {each} each against {compared}"
