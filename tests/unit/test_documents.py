"""What the documents show works."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: str, language: str) -> list[str]:
    """The fenced code blocks of one language in a document."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [body for name, body in FENCE.findall(text) if name == language]


def documents() -> list[str]:
    pages = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))
    return ["README.md", "CONTRIBUTING.md", *pages]


@pytest.mark.parametrize("document", documents())
def test_python_snippets_run(document: str, tmp_path: Path) -> None:
    """Each Python snippet runs as it stands, in a folder where `sample_traces` lies."""
    (tmp_path / "sample_traces").symlink_to(ROOT / "sample_traces")
    for snippet in blocks(document, "python"):
        command = [sys.executable, "-c", snippet]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{snippet}\n{done.stderr}"


@pytest.mark.parametrize("document", documents())
def test_links_between_documents_lead_somewhere(document: str) -> None:
    """A relative link names a file that exists."""
    text = (ROOT / document).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in link]
    missing = [link for link in links if not (ROOT / document).parent.joinpath(link).exists()]
    assert not missing


def test_every_page_is_found_from_the_first() -> None:
    """The README names each, so that none is there for nobody."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page for page in documents()[1:] if f"]({page})" not in readme] == []


def test_no_document_tells_to_install_another_project() -> None:
    """The name on the package index belongs to somebody else."""
    for document in documents():
        text = (ROOT / document).read_text(encoding="utf-8")
        assert not re.search(r"(pip install|uvx|pipx install) tracekit(?!-stages)", text)


def test_generated_pages_are_up_to_date() -> None:
    """`python docs/generate.py` would change nothing."""
    path = ROOT / "docs" / "generate.py"
    spec = importlib.util.spec_from_file_location("docs_generate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    stale = [page.name for page, text in module.pages().items() if page.read_text(encoding="utf-8") != text]
    assert not stale, f"run `python docs/generate.py`: {stale} differ"
