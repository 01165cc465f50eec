"""The graph of who waits for whom, and where its waiting ends."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def ends_of_waiting(edges: Mapping[Node, Iterable[Node]]) -> list[set[Node]]:
    """The strongly connected components that lead to no other: single nodes that wait for none, and circles.

    Every node is a key of `edges`, with the nodes that it waits for. Tarjan's algorithm, without recursion.
    """
    number: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    component: dict[Node, int] = {}
    open_nodes: list[Node] = []
    components: list[set[Node]] = []
    for root in edges:
        if root in number:
            continue
        path = [(root, iter(edges[root]))]
        number[root] = lowest[root] = len(number)
        open_nodes.append(root)
        while path:
            node, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    components.append(_closed(open_nodes, node))
                    component |= dict.fromkeys(components[-1], len(components) - 1)
            elif following not in number:
                number[following] = lowest[following] = len(number)
                open_nodes.append(following)
                path.append((following, iter(edges[following])))
            elif following not in component:
                lowest[node] = min(lowest[node], number[following])
    leading_out = {component[node] for node in edges for each in edges[node] if component[each] != component[node]}
    return [nodes for at, nodes in enumerate(components) if at not in leading_out]


def _closed(open_nodes: list[Node], root: Node) -> set[Node]:
    """The component of `root`, taken from the open nodes."""
    at = open_nodes.index(root)
    closed = set(open_nodes[at:])
    del open_nodes[at:]
    return closed


def distances(edges: Mapping[Node, Iterable[Node]], ends: Iterable[Node]) -> dict[Node, int]:
    """How many waits lie between each node and the nearest of `ends`; nodes that do not wait for them are left out."""
    waiting: dict[Node, list[Node]] = {}
    for node, following in edges.items():
        for each in following:
            waiting.setdefault(each, []).append(node)
    found = dict.fromkeys(ends, 0)
    queue = list(found)
    for node in queue:
        for each in waiting.get(node, ()):
            if each not in found:
                found[each] = found[node] + 1
                queue.append(each)
    return found
