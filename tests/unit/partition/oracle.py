"""The partition as its definition reads, nanosecond by nanosecond, for small traces of small times.

Slow and plain on purpose, and sharing nothing with the compiled partition: every instant of a root is
painted with its owner, so sums cannot fail to close, and what is compared is who the owner is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor


@dataclass
class Row:
    """One operation; `parent` and `waits_for` are positions in the same trace, or -1 (none), -2 (absent)."""

    start: int
    end: int
    parent: int
    tiebreak: int
    missing_id: int = 0
    blocking: bool = True
    waits_for: int = -1


@dataclass
class Tree:
    """A root and what is below it: clipped intervals, the painted owner of each instant, children by row."""

    root: int
    clipped: dict[int, tuple[int, int]] = field(default_factory=dict)
    owner: dict[int, int] = field(default_factory=dict)


@dataclass
class Answer:
    """All that the definition says about one trace; synthetic rows follow the given ones by ascending id."""

    rows: list[Row]
    parent: list[int]
    root: int
    trees: dict[int, Tree]
    missing_ids: list[int]
    counts: dict[str, int]

    def self_ns(self, cut: tuple[int, int] = (-(10**9), 10**9)) -> list[int]:
        """Instants of the cut that each row owns in its tree."""
        own = [0] * len(self.rows)
        for tree in self.trees.values():
            for instant, row in tree.owner.items():
                own[row] += cut[0] <= instant < cut[1]
        return own


def solve(given: list[Row], rule: str, tolerance: Fraction) -> Answer:
    """Clean one trace and paint all its trees."""
    rows = [
        Row(r.start, max(r.start, r.end), r.parent, r.tiebreak, r.missing_id, r.blocking, r.waits_for) for r in given
    ]
    counts = {"negative_duration_count": sum(r.end < r.start for r in given)}
    parent = [row.parent for row in rows]
    heads = cycle_heads(rows)
    counts["cycle_count"] = len(heads)
    root = primary_root(rows, heads)
    counts["root_parent_missing"] = parent[root] == -2
    extra = {row for row in range(len(rows)) if (parent[row] == -1 or row in heads) and row != root}
    counts["extra_root_count"] = len(extra)
    detached = {row for row in range(len(rows)) if not rows[row].blocking} - extra - {root}
    counts["async_count"] = len(detached)
    counts["async_ns"] = sum(rows[row].end - rows[row].start for row in detached)
    for row in extra | detached | {root}:
        parent[row] = -1
    missing_ids = adopt_orphans(rows, parent, root, counts)
    trees = {}
    for top in [row for row in range(len(rows)) if parent[row] == -1]:
        trees[top] = Tree(top)
        paint(trees[top], top, (rows[top].start, rows[top].end), rows, parent, rule, tolerance)
    count_cuts(trees[root], rows, len(given), counts)
    return Answer(rows, parent, root, trees, missing_ids, counts)


def root_order(rows: list[Row]) -> object:
    """Earliest start, then longest, then smallest tie-break."""
    return lambda row: (rows[row].start, rows[row].start - rows[row].end, rows[row].tiebreak)


def cycle_heads(rows: list[Row]) -> set[int]:
    """The best root of each parent cycle."""
    heads = set()
    for row in range(len(rows)):
        cycle, at = [row], rows[row].parent
        while at >= 0 and at not in cycle:
            cycle.append(at)
            at = rows[at].parent
        if at == row:
            heads.add(min(cycle, key=root_order(rows)))
    return heads


def primary_root(rows: list[Row], heads: set[int]) -> int:
    """The best parentless row, else the best of orphans and cut cycles."""
    parentless = [row for row in range(len(rows)) if rows[row].parent == -1]
    stranded = [row for row in range(len(rows)) if rows[row].parent == -2 or row in heads]
    return min(parentless or stranded, key=root_order(rows))


def adopt_orphans(rows: list[Row], parent: list[int], root: int, counts: dict[str, int]) -> list[int]:
    """Put orphans under one synthetic row an absent parent, below the root."""
    orphans = [row for row in range(len(rows)) if parent[row] == -2]
    counts["orphan_count"] = len(orphans)
    missing_ids = sorted({rows[row].missing_id for row in orphans})
    for missing_id in missing_ids:
        group = [row for row in orphans if rows[row].missing_id == missing_id]
        for row in group:
            parent[row] = len(rows)
        hull = Row(min(rows[row].start for row in group), max(rows[row].end for row in group), root, missing_id)
        rows.append(hull)
        parent.append(root)
    return missing_ids


def paint(
    tree: Tree,
    row: int,
    clipped: tuple[int, int],
    rows: list[Row],
    parent: list[int],
    rule: str,
    tolerance: Fraction,
) -> None:
    """Paint a row over the instants it was handed (all of a root's), then let its children paint over it."""
    tree.clipped[row] = clipped
    if row == tree.root:
        tree.owner = dict.fromkeys(range(*clipped), row)
    children = [child for child in range(len(rows)) if parent[child] == row]
    inside = {child: (max(rows[child].start, clipped[0]), min(rows[child].end, clipped[1])) for child in children}
    able = {child: interval for child, interval in inside.items() if interval[0] < interval[1]}
    handed = [instant for instant, owner in tree.owner.items() if owner == row]
    for instant in handed:
        child = owner_at(instant, able, rows, rule, tolerance)
        if child is not None:
            tree.owner[instant] = child
    for child in children:
        paint(tree, child, able.get(child, (clipped[0], clipped[0])), rows, parent, rule, tolerance)


def owner_at(
    instant: int, able: dict[int, tuple[int, int]], rows: list[Row], rule: str, tolerance: Fraction
) -> int | None:
    """The child that owns an instant of its parent."""

    def finish(child: int) -> tuple[int, int, int, int]:
        return able[child][1], rows[child].end, -able[child][0], rows[child].tiebreak

    if rule == "active_last":
        is_open = [child for child, (start, end) in able.items() if start <= instant < end]
        return max(is_open, key=finish, default=None)
    child = max(able, key=finish, default=None)
    while child is not None and instant < able[child][0]:
        child = before(child, able, rows, tolerance, finish)
    return child if child is not None and instant < able[child][1] else None


def before(
    child: int, able: dict[int, tuple[int, int]], rows: list[Row], tolerance: Fraction, finish: object
) -> int | None:
    """The sibling that a child started after: the one it names, else the last to have finished by then."""

    def tolerated(other: int) -> int:
        start, end = able[other]
        return end - floor(tolerance * (end - start))

    named = rows[child].waits_for
    if named in able and able[named][0] < able[child][0]:
        return named
    done = [other for other in able if tolerated(other) <= able[child][0]]
    return max(done, key=lambda other: (tolerated(other), *finish(other)), default=None)


def count_cuts(tree: Tree, rows: list[Row], given: int, counts: dict[str, int]) -> None:
    """What clipping took from the rows of the primary tree, and what hangs under synthetic rows."""
    in_tree = [row for row in tree.clipped if row < given]
    kept = {row: tree.clipped[row][1] - tree.clipped[row][0] for row in in_tree}
    durations = {row: rows[row].end - rows[row].start for row in in_tree}
    outside = [row for row in in_tree if kept[row] == 0 < durations[row]]
    counts["outside_count"] = len(outside)
    counts["outside_ns"] = sum(durations[row] for row in outside)
    counts["truncated_ns"] = sum(durations[row] - kept[row] for row in in_tree if kept[row] > 0)
    counts["post_root_ns"] = max(rows[row].end for row in in_tree) - rows[tree.root].end
