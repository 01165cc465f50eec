"""Compiled functions that cost nothing until they are called, and are kept on disk while they are current."""

from __future__ import annotations

import hashlib
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parents[1]
_STARTED_S = time.time()
_IMPORT = re.compile(r"^(?:from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+([^\n]+))", re.MULTILINE)


def kernel(function: _Function) -> _Function:
    """Compile a function that releases the interpreter lock, and keep the result beside its source."""
    return compiled_with(function)


def tell_of_compiling(told: Callable[[], None]) -> None:
    """Call a function when something is compiled that is not kept yet: once, before the first of it."""
    _told.append(told)


_told: list[Callable[[], None]] = []


def compiled_with(function: _Function, **options: Any) -> _Function:
    """Compile a function as `kernel` does, with further options of `numba.njit`."""
    return cast(_Function, _Kernel(function, options))


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes machine code, as `numba.extending.intrinsic`; other kernels may call it."""
    return _Lazy(function, lambda: _intrinsic(function))


class _Lazy:
    """Something that numba makes, made when it is first called or compiled into a caller."""

    def __init__(self, function: Callable[..., Any], make: Callable[[], Any]) -> None:
        update_wrapper(self, function)
        self._make = make

    @cached_property
    def _made(self) -> Any:
        return self._make()

    @property
    def _numba_type_(self) -> Any:
        """What numba takes this for where a function that it compiles names it."""
        from numba.core.registry import cpu_target

        made = self._made
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(made)


class _Kernel(_Lazy):
    """A compiled function: one for Python, which is kept, and one for other kernels, which is not: they contain it.

    What Python would need to call a function is a third of its compilation.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, lambda: _for_kernels(function, options))
        self._options = options

    @cached_property
    def _for_python(self) -> Any:
        return _dispatcher(self.__wrapped__, self._options)

    def __call__(self, *arguments: Any) -> Any:
        return self._for_python(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._for_python, name)


def _for_kernels(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    import numba

    return numba.njit(nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True, **options)(function)


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The compiler's object for a function that Python calls.

    numba takes kept code for current as long as the file of the function itself is unchanged, although the
    code contains kernels and constants of other files. Here it is current as long as all of these are.
    """
    import numba

    _listen()
    if numba.config.DISABLE_JIT:
        return function
    from tracekit.kernels.kept_code import KeptCode
    from tracekit.kernels.whole_compiling import WholeCompiler

    # Nothing of C calls a kernel, so none needs a wrapper for that: a tenth of the compilation.
    compiled = numba.njit(nogil=True, no_cfunc_wrapper=True, pipeline_class=WholeCompiler, **options)(function)
    if not _is_changed_since_start(function.__module__):
        compiled._cache = KeptCode(compiled.py_func, source_stamp=source_digest(function.__module__))
    return compiled


def _listen() -> None:
    """Have the compiler's first start passed on to those who asked to be told."""
    if not _told:
        return
    from numba.core import event

    waiting = [*_told]
    _told.clear()

    class _First(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            while waiting:
                waiting.pop()()

        def on_end(self, event: Any) -> None:
            """Nothing is said at the end."""

    event.register("numba:compile", _First())


def _intrinsic(function: Callable[..., Any]) -> Any:
    from numba import extending

    return extending.intrinsic(function)


class _Source(NamedTuple):
    """The source of a module, and the loaded modules that it names in its imports."""

    digest: bytes
    imported: tuple[str, ...]


@cache
def source_digest(module: str) -> str:
    """A digest of everything that a module's kernels may have been built from.

    That is the module's source, those of the modules of its package and of this one that it imports, and so on, and
    the sources of the modules of others that these name. What a function imports when it is called is not in a kernel,
    and whether it is loaded already is a matter of what else the process did: it does not count.
    """
    digest = hashlib.sha256()
    for name in sorted(_reached(module)):
        digest.update(name.encode() + b"\0" + _source(name).digest)
    return digest.hexdigest()


def _is_changed_since_start(module: str) -> bool:
    """Whether a source was exchanged under the running process: what it has loaded is not what lies there now."""
    paths = [_file(name) for name in _reached(module)]
    return any(path.stat().st_mtime > _STARTED_S for path in paths if path is not None and path.exists())


@cache
def _reached(module: str) -> frozenset[str]:
    roots = (_PACKAGE, _package_of(module))
    found, waiting = {module}, [module]
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if path is not None and any(path.is_relative_to(root) for root in roots):
            new = set(_source(name).imported) - found
            found |= new
            waiting += new
    return frozenset(found)


def _package_of(module: str) -> Path:
    """The folder of the outermost package that a module is in, or its own if it is in none."""
    top = module.partition(".")[0]
    path = _file(top) or _file(module)
    return path.resolve().parent if path is not None else _PACKAGE


@cache
def _source(module: str) -> _Source:
    path = _file(module)
    text = path.read_bytes() if path is not None else b""
    names = dict.fromkeys(name for name in _imported(text.decode(errors="replace")) if name in sys.modules)
    return _Source(hashlib.sha256(text).digest(), tuple(names))


def _imported(text: str) -> Iterator[str]:
    """Names in the import statements of a source, those of its functions aside, that may be modules."""
    for base, names, plain in _IMPORT.findall(text):
        if base:
            yield base
            yield from (f"{base}.{name}" for name in re.findall(r"\w+", names))
        else:
            yield from re.findall(r"[\w.]+", plain)


def _file(module: str) -> Path | None:
    """The source file of a loaded module; none for what is built in."""
    path = getattr(sys.modules.get(module), "__file__", None)
    return Path(path).resolve() if path and path.endswith(".py") else None
