"""A kernel and all that it calls, compiled as one: optimised once, and made into machine code once.

numba optimises every function that a kernel calls, and makes machine code of it, before it links it into the kernel,
where all of it is optimised anew: half of the time that compiling takes, for code that nobody runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class WholeCompiler(Compiler):  # type: ignore[misc]
    """Compiles a function that Python calls; what it calls is only linked into it."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function: its own code in a library as numba's, all below it in `ForLinking`."""
        codegen = self.state.targetctx.codegen()
        self.state.library = codegen.create_library(func.__qualname__)
        self.state.library.enable_object_caching()
        with _libraries_for_linking(codegen):
            return super().compile_extra(func)


class ForLinking(JITCodeLibrary):  # type: ignore[misc]
    """Code as it was generated, for those who link it: they optimise it with their own."""

    def finalize(self) -> None:
        """Bring together what this code calls."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None of it can be called from outside: 0, as for a name that numba does not know."""
        return 0

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout


@contextmanager
def _libraries_for_linking(codegen: Any) -> Iterator[None]:
    """Let all libraries be made for linking; who compiles holds numba's lock, so nobody else makes any meanwhile."""
    set_env = codegen.set_env

    def set_where_it_is(env_name: str, env: Any) -> None:
        if codegen._engine.get_global_value_address(env_name):
            set_env(env_name, env)

    codegen._library_class, codegen.set_env = ForLinking, set_where_it_is
    try:
        yield
    finally:
        del codegen._library_class, codegen.set_env
