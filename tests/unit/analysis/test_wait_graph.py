"""Where waiting ends, against the definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.jobs.wait_graph import distances, ends_of_waiting

graphs = st.integers(1, 8).flatmap(
    lambda count: st.fixed_dictionaries({node: st.sets(st.integers(0, count - 1)) for node in range(count)})
)


def reached(edges: dict[int, set[int]], start: int) -> set[int]:
    found, queue = {start}, [start]
    for node in queue:
        queue += sorted(edges[node] - found)
        found |= edges[node]
    return found


@given(graphs)
def test_ends_are_the_sets_that_reach_exactly_themselves(edges: dict[int, set[int]]) -> None:
    reach = {node: reached(edges, node) for node in edges}
    expected = {frozenset(reach[node]) for node in edges if all(reach[each] == reach[node] for each in reach[node])}
    assert {frozenset(nodes) for nodes in ends_of_waiting(edges)} == expected


@given(graphs, st.data())
def test_distances_count_the_fewest_waits(edges: dict[int, set[int]], data: st.DataObject) -> None:
    ends = data.draw(st.sets(st.sampled_from(sorted(edges))))
    found = distances(edges, ends)
    for node in edges:
        assert (node in found) == bool(reached(edges, node) & ends)
        if node in found and node not in ends:
            assert found[node] == 1 + min(found[each] for each in edges[node] if each in found)
