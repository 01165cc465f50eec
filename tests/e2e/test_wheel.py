"""An installed tracekit works outside the checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


def test_the_wheel_carries_queries_app_and_sample_traces(wheel: Path) -> None:
    """Everything that the checkout finds beside the package lies inside it."""
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("queries/schema/1_tables.sql", "app/main.py", "sample_traces/README.md"):
        assert f"tracekit/_bundled/{name}" in names
    assert wheel.name.startswith("tracekit_stages-")
    assert not [name for name in names if name.startswith(("queries/", "app/", "tests/"))]


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel in its own environment, dependencies borrowed from this one."""
    folder = tmp_path_factory.mktemp("installed")
    environment = folder / "environment"
    venv.create(environment, with_pip=False, system_site_packages=False)
    python = environment / "bin" / "python"
    site_packages = next((environment / "lib").glob("python*/site-packages"))
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (site_packages / "borrowed.pth").write_text("\n".join(borrowed), encoding="utf-8")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    _take_kernels_along(site_packages)
    return environment


def _take_kernels_along(site_packages: Path) -> None:
    """What was compiled in this checkout holds for the same sources elsewhere, and compiling takes a minute or two."""
    for top, there in (("tracekit", site_packages), ("generators", site_packages / "tracekit" / "_bundled")):
        for kept in (ROOT / top).rglob("*.nb[ic]"):
            copied = there / kept.relative_to(ROOT)
            copied.parent.mkdir(exist_ok=True)
            shutil.copy(kept, copied)


def test_an_installed_wheel_generates_and_ingests_elsewhere(environment: Path, tmp_path: Path) -> None:
    """Scenarios and models come with the wheel."""
    command = environment / "bin" / "tracekit"
    assert "job_elastic" in run(command, "generate", "--list", cwd=tmp_path)
    run(command, "generate", "job_elastic", "--out", "job", cwd=tmp_path)
    truth = json.loads((tmp_path / "job" / "truth.json").read_text(encoding="utf-8"))
    told = json.loads(run(command, "ingest", "job/traces.jsonl", "job/logs.jsonl", "--json", cwd=tmp_path))
    assert (told["spans"], told["rejected"]) == (truth["spans"], 0)
    assert told["logs"] > 0


def test_an_installed_wheel_runs_the_demo_elsewhere(environment: Path, tmp_path: Path) -> None:
    """It needs nothing of the checkout."""
    python = environment / "bin" / "python"
    where = run(python, "-c", "import tracekit; print(tracekit.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(environment)
    report = run(environment / "bin" / "tracekit", "demo", "--no-serve", cwd=tmp_path)
    assert "ttft" in report
    says = [line for line in report.splitlines() if line.startswith("Tracekit says: ")]
    assert [named in line for named, line in zip(("worker-1", "rank 5", "node-7"), says, strict=True)] == [True] * 3
    count = run(
        environment / "bin" / "tracekit", "query", "SELECT count(*) AS spans FROM spans", "--json",
        "--db", "tracekit-demo.duckdb", cwd=tmp_path,
    )  # fmt: skip
    assert json.loads(count) == [{"spans": 1134 + 3198}]
