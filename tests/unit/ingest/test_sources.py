"""Which files stand behind the paths that a user gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.ingest.sources import Source, find


def named(sources: list[Source], folder: Path) -> list[str]:
    return [source.name.removeprefix(f"{folder}/") for source in sources]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.jsonl", "a.jsonl", "deep/er/c.pb", "deep/d.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"1234")
    return tmp_path


def test_a_folder_is_read_recursively_in_the_order_of_names(folder: Path) -> None:
    """The order does not depend on the file system."""
    sources = find([folder])
    assert named(sources, folder) == ["a.jsonl", "b.jsonl", "deep/d.jsonl", "deep/er/c.pb"]
    assert not any(source.is_named or source.error for source in sources)
    assert [source.size_bytes for source in sources] == [4] * 4


def test_paths_keep_the_order_given(folder: Path) -> None:
    """Files that are named are read as named."""
    sources = find([folder / "b.jsonl", str(folder / "deep" / "d.jsonl"), folder / "a.jsonl"])
    assert named(sources, folder) == ["b.jsonl", "deep/d.jsonl", "a.jsonl"]
    assert all(source.is_named for source in sources)


def test_a_pattern_matches_files_and_folders(folder: Path) -> None:
    """A quoted pattern works as an unquoted one, `**` included."""
    assert named(find([f"{folder}/*.jsonl"]), folder) == ["a.jsonl", "b.jsonl"]
    assert named(find([f"{folder}/**/*.pb"]), folder) == ["deep/er/c.pb"]
    assert named(find([f"{folder}/dee?"]), folder) == ["deep/d.jsonl", "deep/er/c.pb"]


def test_a_file_whose_name_looks_like_a_pattern_is_itself(tmp_path: Path) -> None:
    """What exists under the exact name is meant."""
    (tmp_path / "[1].jsonl").write_bytes(b"")
    assert find([tmp_path / "[1].jsonl"])[0].error is None


def test_what_is_not_there_is_a_source_with_the_reason(folder: Path) -> None:
    """One wrong path does not keep the others from being read."""
    (folder / "empty").mkdir()
    (folder / "gone").symlink_to(folder / "nowhere")
    sources = find([folder / "missing", f"{folder}/*.txt", folder / "empty", folder / "gone", folder / "a.jsonl"])
    assert [source.error for source in sources] == [
        "cannot be read: No such file or directory",
        "no file matches this pattern",
        "the folder holds no files",
        f"points to {folder / 'nowhere'}, which is not there",
        None,
    ]


def test_standard_input_is_one_source() -> None:
    """`-` is no file name."""
    assert find(["-"]) == [Source(name="-")]
