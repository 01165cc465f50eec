"""What a fuzzer learns from code that it cannot instrument: a branch of Python for each kind of event.

The decoder is compiled, so a coverage-guided fuzzer sees nothing of it. `marks` makes trees of branches with one leaf a
number; reaching a new leaf is new coverage, and so an input that shows the decoder something new is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

# Small trees: the fuzzer's rewriting of a function takes time by the square of its size.
_TREES = 128
_LEAVES = 32


def marks(instrument: Callable[[Callable[[int], int]], Callable[[int], int]]) -> Callable[[Iterable[int]], None]:
    """A function that reaches the leaves of some numbers; `instrument` is the fuzzer's own."""
    trees = [instrument(_tree()) for _ in range(_TREES)]

    def mark(numbers: Iterable[int]) -> None:
        for number in numbers:
            trees[number % _TREES](number // _TREES % _LEAVES)

    return mark


def _tree() -> Callable[[int], int]:
    names: dict[str, Callable[[int], int]] = {}
    exec("\n".join(["def tree(number):", *_branches(0, _LEAVES, "    ")]), names)
    return names["tree"]


def _branches(first: int, end: int, indent: str) -> list[str]:
    if end - first == 1:
        return [f"{indent}return {first}"]
    middle = (first + end) // 2
    low, high = (_branches(*half, indent + " ") for half in ((first, middle), (middle, end)))
    return [f"{indent}if number < {middle}:", *low, f"{indent}else:", *high]
