"""A client that wraps one remote operation is an edge between two services."""

from __future__ import annotations

import pytest

from tracekit.errors import UsageError
from tracekit.partition import NO_EDGE, Forest, edge_rows

GATEWAY, ENGINE = 0, 1


def forest(*parents: int, clients: tuple[int, ...], detached: tuple[int, ...] = ()) -> Forest:
    rows = range(len(parents))
    return Forest.from_columns(
        key=[0] * len(parents),
        parent=parents,
        start_ns=[0] * len(parents),
        end_ns=[1] * len(parents),
        tiebreak=list(rows),
        is_client=[row in clients for row in rows],
        blocking=[row not in detached for row in rows],
    )


def test_a_client_with_one_remote_child_is_an_edge() -> None:
    """Local children of the client, such as connecting, do not matter."""
    trace = forest(-1, 0, 1, 1, clients=(1,))
    assert edge_rows(trace, [GATEWAY, GATEWAY, GATEWAY, ENGINE]).tolist() == [NO_EDGE, 3, NO_EDGE, NO_EDGE]


def test_a_client_with_several_remote_children_is_none() -> None:
    """Its self time cannot be said to belong to one of the calls."""
    trace = forest(-1, 0, 1, 1, 1, clients=(1,))
    assert edge_rows(trace, [GATEWAY, GATEWAY, ENGINE, ENGINE, ENGINE]).tolist() == [NO_EDGE] * 5


@pytest.mark.parametrize(
    ("clients", "detached", "services"),
    [
        ((), (), [GATEWAY, GATEWAY, ENGINE]),
        ((1,), (), [GATEWAY, GATEWAY, GATEWAY]),
        ((1,), (2,), [GATEWAY, GATEWAY, ENGINE]),
    ],
    ids=["not a client", "same service", "not waited for"],
)
def test_what_is_no_remote_call_is_no_edge(
    clients: tuple[int, ...], detached: tuple[int, ...], services: list[int]
) -> None:
    """An edge needs a client, another service, and waiting."""
    trace = forest(-1, 0, 1, clients=clients, detached=detached)
    assert edge_rows(trace, services).tolist() == [NO_EDGE] * 3


def test_every_row_needs_a_service() -> None:
    """A missing one would be compared with its neighbour's."""
    with pytest.raises(UsageError, match="one value a row"):
        edge_rows(forest(-1, 0, clients=()), [GATEWAY])
