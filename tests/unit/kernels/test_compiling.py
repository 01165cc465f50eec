"""Compiled code that is kept on disk is used again, and only while it is current."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tracekit.kernels import compiling

ROOT = Path(__file__).resolve().parents[3]
INNER = "from tracekit.kernels import kernel\n\n@kernel\ndef inner(value):\n    return value + {added}\n"
OUTER = (
    "from inner import inner\nfrom tracekit.kernels import kernel\n\n"
    "@kernel\ndef outer(value):\n    return inner(value)\n"
)
PACKAGE = {
    "demo/__init__.py": "",
    "demo/far/limits.py": "LIMIT = {limit}\n",
    "demo/near/inner.py": "from demo.far.limits import LIMIT\nfrom tracekit.kernels import kernel\n\n"
    "@kernel\ndef inner(value):\n    return value + LIMIT\n",
    "demo/outer.py": OUTER.replace("from inner", "from demo.near.inner"),
    "call.py": "from demo.outer import outer\nprint(outer(1), sum(outer.stats.cache_hits.values()))\n",
}
CALL = "from outer import outer\nprint(outer(1), sum(outer.stats.cache_hits.values()))\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, of which one calls a kernel of the other, and a script that calls the caller."""
    (tmp_path / "inner.py").write_text(INNER.format(added=1))
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "call.py").write_text(CALL)
    return tmp_path


def call(folder: Path) -> str:
    """Output of the script in a fresh process: the value and how often kept code was used."""
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(folder)}
    command = [sys.executable, str(folder / "call.py")]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def test_kept_code_is_used_by_the_next_process(folder: Path) -> None:
    """Otherwise every command would wait for the compiler."""
    assert call(folder) == "2 0"
    assert call(folder) == "2 1"


def test_kept_code_is_loaded_without_the_compiler_and_raises_what_it_should(tmp_path: Path) -> None:
    """A function that uses NumPy needs none of what numba knows of it; what is not kept is compiled all the same."""
    (tmp_path / "outer.py").write_text(
        "import numpy as np\nfrom tracekit.kernels import kernel\n\n@kernel\ndef outer(rows, most):\n"
        "    if rows.size > most:\n        raise ValueError('too many', rows.size)\n    return np.cumsum(rows)[-1]\n"
    )
    (tmp_path / "call.py").write_text(
        "import sys\nimport numpy as np\nfrom outer import outer\n"
        "try:\n    print(outer(np.array([1, 2]), 2), outer(np.array([1, 2, 3]), 2))\n"
        "except ValueError as error:\n    print(outer(np.array([1, 2]), 2), error.args)\n"
        "print('numba.np.arrayobj' in sys.modules)\n"
        "if len(outer.stats.cache_hits):\n    print(outer(np.array([0.5, 2.0]), 2))\n"
    )
    assert call(tmp_path) == "3 ('too many', 3)\nTrue"
    assert call(tmp_path) == "3 ('too many', 3)\nFalse\n2.5"


def test_a_change_in_a_neighbouring_file_is_noticed(folder: Path) -> None:
    """Otherwise an update of one file would leave its callers computing with the old one."""
    assert call(folder) == "2 0"
    # Of another size: Python itself takes a file of the same second and size for unchanged.
    (folder / "inner.py").write_text(INNER.format(added=105))
    assert call(folder) == "106 0"


def test_a_change_in_another_folder_of_the_package_is_noticed(tmp_path: Path) -> None:
    """A constant two imports away is compiled in as well."""
    for name, text in PACKAGE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.format(limit=10))
    assert [call(tmp_path), call(tmp_path)] == ["11 0", "11 1"]
    (tmp_path / "demo/far/limits.py").write_text(PACKAGE["demo/far/limits.py"].format(limit=120))
    assert call(tmp_path) == "121 0"


def test_what_else_a_process_has_loaded_does_not_matter(folder: Path) -> None:
    """Otherwise two commands, of which one has loaded what a function imports later, compile in turn for ever."""
    lazy = "\n\ndef later():\n    from xml.dom import minidom\n    return minidom\n"
    (folder / "inner.py").write_text(INNER.format(added=1) + lazy)
    assert call(folder) == "2 0"
    (folder / "call.py").write_text("import xml.dom.minidom\n" + CALL)
    assert call(folder) == "2 1"


def test_a_file_that_changes_under_a_running_process_is_not_kept_for_it(folder: Path) -> None:
    """What the process has loaded is not what lies there by then: the next one must not compute with it."""
    (folder / "call.py").write_text(
        "from outer import outer\nfrom pathlib import Path\nfile = Path(__file__).with_name('inner.py')\n"
        "file.write_text(file.read_text().replace('+ 1', '+ 2 + 3'))\nprint(outer(1))\n"
    )
    assert call(folder) == "2"
    (folder / "call.py").write_text(CALL)
    assert call(folder) == "6 0"


def test_the_descriptors_of_otlp_count_as_source() -> None:
    """Field numbers are compiled into the decoder, so another version of the protocol's package builds it anew."""
    import_module("tracekit.otlp.decoding")
    reached = compiling._reached("tracekit.otlp.wire.protobuf") | compiling._reached("tracekit.otlp.tables.attributes")
    assert {"tracekit.records.reasons", "opentelemetry.proto.trace.v1.trace_pb2", "numpy"} <= reached


def test_that_something_is_compiled_is_told_once_and_only_then(folder: Path) -> None:
    """A person who waits for half a minute wants to know what for; later there is nothing to wait for."""
    told = "from tracekit.kernels import tell_of_compiling\ntell_of_compiling(lambda: print('compiling'))\n"
    (folder / "call.py").write_text(told + CALL)
    assert call(folder) == "compiling\n2 0"
    assert call(folder) == "2 1"


def test_what_is_compiled_into_its_callers_is_not_kept_apart_and_can_be_called(folder: Path) -> None:
    """It is kept within its callers, which notice its changes; alone it is compiled when it is called alone."""
    inner = INNER.replace("import kernel", "import inlined").replace("@kernel", "@inlined")
    (folder / "inner.py").write_text(inner.format(added=1))
    assert [call(folder), call(folder)] == ["2 0", "2 1"]
    assert not list(folder.glob("__pycache__/inner.inner*.nbi"))
    (folder / "inner.py").write_text(inner.format(added=105))
    assert call(folder) == "106 0"
    (folder / "call.py").write_text("from inner import inner\nprint(inner(1))\n" + CALL)
    assert call(folder) == "106\n106 1"


def test_programs_compile_their_own_functions_beside_kernels(folder: Path) -> None:
    """What numba generated for a kernel is linked into the functions of others in the process as well."""
    (folder / "outer.py").write_text(
        "from inner import inner\nfrom tracekit.kernels import kernel\n\n"
        "@kernel\ndef outer(rows):\n    return inner(max(rows[0], 3)) + rows.sum()\n"
    )
    (folder / "call.py").write_text(
        "import numba, numpy as np\nfrom outer import outer\nprint(outer(np.array([2, 5])))\n"
        "@numba.njit\ndef own(rows):\n    return max(rows[0], 3) + rows.sum()\n"
        "print(own(np.array([2, 5])), len(own.inspect_asm(own.signatures[0])) > 0)\n"
    )
    assert call(folder) == "11\n10 True"
    assert not list(folder.glob("__pycache__/inner.inner*.nbi"))
