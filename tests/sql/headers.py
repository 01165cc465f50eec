"""What the comment at the top of a query file says."""

from __future__ import annotations

import re


def header(text: str) -> str:
    """The comment at the top of a file, without its dashes."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").removeprefix(" "))
    return "\n".join(lines) + "\n"


def named_under(text: str, title: str) -> list[str]:
    """Names under `Parameters:` or `Columns:`, in order, where one line may explain several."""
    section = re.search(rf"^{title}:.*\n((?:  .*\n)+)", header(text), flags=re.MULTILINE)
    starts = re.findall(r"^  (\$?\w+(?:, \$?\w+)*):", section[1], flags=re.MULTILINE) if section else []
    return [name.removeprefix("$") for start in starts for name in start.split(", ")]


def view_under(text: str, title: str) -> str | None:
    """The view whose columns `Columns: those of the view NAME` stands for."""
    found = re.search(rf"^{title}: those of the view (\w+)", header(text), flags=re.MULTILINE)
    return None if found is None else found[1]
