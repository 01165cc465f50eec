"""The first example that a reader tries says what happened in the capture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_of_the_readme_names_what_overload_made_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tail waited in the queue and before it, where vLLM reports nothing; the middle prefilled longer."""
    (tmp_path / "sample_traces").symlink_to(ROOT / "sample_traces")
    monkeypatch.chdir(tmp_path)
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert example
    names: dict[str, Any] = {}
    exec(example[1], names)
    answer, printed = names["answer"], capsys.readouterr().out
    names["store"].close()
    assert answer.stages["stage"].to_list()[:2] == ["eng.queue", "unattributed"]
    assert re.search(r"of that eng\.queue \d+%, unattributed \d+%", printed)
    assert "times as many input tokens arrived each second" in printed
    assert re.search(r"The typical request of the selection .*: eng\.prefill \d+%, unattributed \d+%", printed)
