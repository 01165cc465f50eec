"""The tables of docs/generators.md that come from code. `python -m generators.reference` writes them into the
page.
"""

from __future__ import annotations

from pathlib import Path

from generators import corruption, scenarios
from generators.job.parameters import MODEL as JOB
from generators.parameters import Parameter
from generators.serving.parameters import MODEL
from generators.training.parameters import MODEL as TRAINING

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generators.md"


def scenario_table() -> str:
    """Every scenario: what happens and what a right answer says."""
    rows = [scenarios.load(name) for name in scenarios.names()]
    lines = [f"| `{row.name}` | {row.what_happens} | {row.right_answer} |" for row in rows]
    return "\n".join(["| scenario | what happens | what a right answer says |", "|---|---|---|", *lines])


def parameter_table(table: tuple[Parameter, ...]) -> str:
    """Every parameter: default, meaning, what it accepts, source."""
    lines = [f"| `{one.name}` | {_default(one)} | {one.meaning} | {one.accepts()} | {one.source} |" for one in table]
    return "\n".join(["| parameter | default | meaning | accepts | source |", "|---|---|---|---|---|", *lines])


def _default(parameter: Parameter) -> str:
    return str(parameter.default).lower() if isinstance(parameter.default, bool) else str(parameter.default)


def with_tables(page: str) -> str:
    """The page with its generated parts brought up to date; they stand between `<!-- name -->` and `<!-- end
    -->`.
    """
    parts = {
        "scenarios": scenario_table(),
        "serving parameters": parameter_table(MODEL),
        "training parameters": parameter_table(TRAINING),
        "job parameters": parameter_table(JOB),
        "defects": parameter_table(corruption.PARAMETERS),
    }
    for name, text in parts.items():
        head, rest = page.split(f"<!-- {name} -->\n", 1)
        tail = rest.split("<!-- end -->", 1)[1]
        page = f"{head}<!-- {name} -->\n{text}\n<!-- end -->{tail}"
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
