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
    """A root and what is below it: clipped intervals, the painted owner of each instant, and where rows hang:
    who holds each, which ancestor it came by, before when it owns nothing, what it waits for, what is left out.
    """

    root: int
    rule: str = "critical"
    holder: dict[int, int] = field(default_factory=dict)
    came_by: dict[int, int] = field(default_factory=dict)
    held_until: dict[int, int] = field(default_factory=dict)
    waits_for: dict[int, int] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)
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
        trees[top] = Tree(top, rule)
        hang(trees[top], top, rows, parent, tolerance, len(given))
        settle_overlaps(trees[top], rows, tolerance)
        trees[top].owner = dict.fromkeys(range(*trees[top].clipped[top]), top)
        paint(trees[top], top, rows, tolerance)
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


def tolerated(interval: tuple[int, int], tolerance: Fraction) -> int:
    """When a row counts as finished."""
    return interval[1] - floor(tolerance * (interval[1] - interval[0]))


def hang(tree: Tree, row: int, rows: list[Row], parent: list[int], tolerance: Fraction, given: int) -> None:
    """Find who holds a row, and cut it to that; then all below it."""
    start, end = rows[row].start, rows[row].end
    tree.clipped[row] = (start, end)
    if row != tree.root:
        tree.holder[row] = holder_of(tree, row, rows, parent, tolerance)
        low, high = tree.clipped[tree.holder[row]]
        begin = min(max(start, low), high)
        tree.clipped[row] = (begin, max(min(end, high), begin))
        is_inside = start < min(end, rows[tree.root].end)
        if is_inside and tolerated((start, end), tolerance) > rows[tree.root].end and row < given:
            tree.left_out.add(row)
    for child in range(len(rows)):
        if parent[child] == row:
            hang(tree, child, rows, parent, tolerance, given)


def holder_of(tree: Tree, row: int, rows: list[Row], parent: list[int], tolerance: Fraction) -> int:
    """The parent, what holds that, and so on: the first that lasts until the row's part inside the root is done."""
    start, end = rows[row].start, min(rows[row].end, rows[tree.root].end)
    if start >= end:
        return parent[row]
    at = parent[row]
    while at != tree.root and not (
        tree.clipped[at][1] >= tolerated((start, end), tolerance) and tree.clipped[at][0] < rows[row].end
    ):
        tree.came_by[row] = at
        at = tree.holder[at]
    return at


def settle_overlaps(tree: Tree, rows: list[Row], tolerance: Fraction) -> None:
    """Two rules differ on time that a row shares with the row it came by."""
    holding = set(tree.holder.values())
    for row in tree.clipped:
        named = rows[row].waits_for
        tree.waits_for[row] = named
        passed = tree.came_by.get(row)
        if passed is None:
            continue
        if not tree.clipped[row][0] < tree.clipped[passed][1] < tolerated(tree.clipped[row], tolerance):
            continue
        is_known = passed not in holding and row in holding
        if is_known != (tree.rule == "critical"):
            tree.held_until[row] = tree.clipped[passed][1]
        elif named < 0 and tree.clipped[passed][0] < tree.clipped[row][0]:
            tree.waits_for[row] = passed


def paint(tree: Tree, row: int, rows: list[Row], tolerance: Fraction) -> None:
    """Let the rows that a row holds paint over the instants it was handed (all of a root's)."""
    held = [other for other in tree.holder if tree.holder[other] == row]
    is_able = {other: tree.rule == "critical" or other not in tree.left_out for other in held}
    able = {
        other: tree.clipped[other]
        for other in held
        if is_able[other] and tree.clipped[other][0] < tree.clipped[other][1]
    }
    for instant in [instant for instant, owner in tree.owner.items() if owner == row]:
        owner = owner_at(instant, able, tree, rows, tolerance)
        if owner is not None:
            tree.owner[instant] = owner
    for other in held:
        paint(tree, other, rows, tolerance)


def owner_at(
    instant: int, able: dict[int, tuple[int, int]], tree: Tree, rows: list[Row], tolerance: Fraction
) -> int | None:
    """The row that owns an instant of what holds it."""

    def finish(row: int) -> tuple[int, int, int, int]:
        return able[row][1], rows[row].end, -able[row][0], rows[row].tiebreak

    def begin(row: int) -> int:
        return max(able[row][0], tree.held_until.get(row, able[row][0]))

    if tree.rule == "active_last":
        is_open = [row for row in able if begin_late(row, able, tree, finish, begin) <= instant < able[row][1]]
        return max(is_open, key=finish, default=None)
    row = max(able, key=finish, default=None)
    while row is not None and instant < begin(row):
        row = before(row, able, tree, tolerance, finish, begin(row))
    return row if row is not None and instant < able[row][1] else None


def begin_late(row: int, able: dict[int, tuple[int, int]], tree: Tree, finish: object, begin: object) -> int:
    """A childless row that spans the last of those with known work owns only what comes after it."""
    known = max((other for other in able if other in tree.holder.values()), key=finish, default=row)
    spans = finish(row) > finish(known) and able[row][0] <= able[known][0]
    return max(begin(row), able[known][1]) if spans else begin(row)


def before(
    row: int, able: dict[int, tuple[int, int]], tree: Tree, tolerance: Fraction, finish: object, begin: int
) -> int | None:
    """The sibling that a row started after: the one it names, else the last to have finished by then.

    One that owns nothing until the row began does not come before it.
    """
    named = tree.waits_for[row]
    if named in able and able[named][0] < able[row][0] and tree.held_until.get(named, able[named][0]) < begin:
        return named
    done = [other for other in able if tolerated(able[other], tolerance) <= begin]
    return max(done, key=lambda other: (tolerated(able[other], tolerance), *finish(other)), default=None)


def count_cuts(tree: Tree, rows: list[Row], given: int, counts: dict[str, int]) -> None:
    """What clipping took from the rows of the primary tree, and what hangs under synthetic rows."""
    in_tree = [row for row in tree.clipped if row < given]
    last = rows[tree.root].end
    inside = {row: (rows[row].start, min(rows[row].end, last)) for row in in_tree}
    kept = {row for row in in_tree if tree.clipped[row][0] < tree.clipped[row][1]}
    outside = [row for row in in_tree if row not in kept and inside[row][0] < inside[row][1]]
    counts["outside_count"] = len(outside)
    counts["outside_ns"] = sum(inside[row][1] - inside[row][0] for row in outside)
    counts["truncated_ns"] = sum(
        sum(not rows[tree.holder[row]].start <= at < rows[tree.holder[row]].end for at in range(*inside[row]))
        for row in kept - {tree.root}
    )
    counts["post_root_ns"] = max(rows[row].end for row in in_tree) - last
