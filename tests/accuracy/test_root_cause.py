"""A service is ranked by the excess of its own time and of the edges around it."""

from __future__ import annotations

import polars as pl
import pytest

from tests.accuracy.root_cause import RootCause, rank_services
from tracekit.errors import InsufficientDataError, UsageError

SCHEMA = {
    "unit": pl.Int64,
    "service": pl.String,
    "callee": pl.String,
    "operation": pl.String,
    "self_ns": pl.Int64,
}


def requests(count: int, **times_ns: int) -> pl.DataFrame:
    """Requests with one operation each: `a` is own time of service a, `a_b` the edge from a to b.

    Times vary by a nanosecond from unit to unit, so that a spread is known.
    """
    rows = []
    for stage, time_ns in times_ns.items():
        service, _, callee = stage.partition("_")
        rows += [(unit, service, callee or None, "work", time_ns + unit % 2) for unit in range(count)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def ranked(answer: RootCause) -> list[str]:
    return answer.services["service"].to_list()


def service(answer: RootCause, name: str) -> dict[str, float]:
    return answer.services.row(by_predicate=pl.col("service") == name, named=True)


HEALTHY = {
    "gateway": 100,
    "gateway_search": 20,
    "search": 50,
    "gateway_cart": 20,
    "cart": 50,
    "search_cart": 20,
}


def test_time_of_its_own_is_the_service_s() -> None:
    """Slow code: the node grows and no edge does."""
    answer = rank_services(requests(20, **HEALTHY), requests(10, **(HEALTHY | {"search": 250})))
    assert ranked(answer)[0] == "search"
    assert service(answer, "search")["node_excess_ns"] == pytest.approx(200)
    assert answer.excess_ns == pytest.approx(200)
    assert not answer.edges["has_grown"].any()


def test_the_service_at_the_centre_of_grown_edges_is_the_cause() -> None:
    """A slow network at cart: both edges to it grow, its callers have edges that did not."""
    faulty = HEALTHY | {"gateway_cart": 120, "search_cart": 120}
    answer = rank_services(requests(20, **HEALTHY), requests(10, **faulty))
    assert ranked(answer) == ["cart", "gateway", "search"]
    assert service(answer, "cart")["score_ns"] == pytest.approx(200)
    assert service(answer, "gateway")["score_ns"] == pytest.approx(100 * 1 / 2)
    assert answer.edges.filter("has_grown")["callee"].to_list() == ["cart", "cart"]


def test_more_calls_are_no_excess() -> None:
    """Another mix of requests has more calls of the same length each."""
    double = pl.concat([requests(10, **HEALTHY), requests(10, search=50)])
    answer = rank_services(requests(20, **HEALTHY), double)
    assert answer.excess_ns == pytest.approx(0, abs=1e-9)


def test_growth_within_chance_is_no_growth() -> None:
    """An edge that varies by a hundred from request to request has not grown by fifty in two requests."""
    noisy = pl.concat(
        [
            requests(2, gateway=10, gateway_cart=20 + 100 * step).with_columns(unit=pl.col("unit") + 2 * step)
            for step in range(5)
        ]
    )
    faulty = requests(2, gateway=10, gateway_cart=270)
    assert rank_services(noisy, faulty).edges["has_grown"].to_list() == [False]
    assert rank_services(noisy, faulty, standard_errors=0.1).edges["has_grown"].to_list() == [True]


def test_growth_below_the_floor_is_no_growth() -> None:
    """Certain but small: 3 of 103 ns cannot make a neighbour the cause."""
    faulty = HEALTHY | {"search": 150, "gateway_cart": 23}
    answer = rank_services(requests(20, **HEALTHY), requests(10, **faulty))
    assert not answer.edges["has_grown"].any()
    assert rank_services(requests(20, **HEALTHY), requests(10, **faulty), floor_share=0.01).edges["has_grown"].any()


def test_a_stage_that_the_baseline_never_saw_is_counted_apart() -> None:
    """It has nothing to be slower than."""
    answer = rank_services(requests(20, **HEALTHY), requests(10, **HEALTHY, mail=500))
    assert answer.unseen_ns == pytest.approx(500.5)
    assert service(answer, "mail")["score_ns"] == 0


def test_a_service_that_the_faulty_units_do_not_show_says_so() -> None:
    """Its rank is no finding; `unit_count` 0 tells the reader."""
    answer = rank_services(requests(20, **HEALTHY), requests(10, gateway=100))
    assert service(answer, "cart")["unit_count"] == 0
    assert service(answer, "gateway")["unit_count"] == 10


def test_equal_scores_are_ranked_by_name() -> None:
    """The same data give the same answer, whatever the order of the rows."""
    baseline = requests(20, **HEALTHY)
    answers = [rank_services(baseline.sample(fraction=1, shuffle=True, seed=seed), baseline) for seed in (1, 2)]
    assert ranked(answers[0]) == ranked(answers[1])


def test_too_little_to_compare_is_refused() -> None:
    """One baseline unit has no spread; no faulty unit has no excess."""
    with pytest.raises(InsufficientDataError, match="1 baseline and 5 faulty"):
        rank_services(requests(1, **HEALTHY), requests(5, **HEALTHY))
    with pytest.raises(InsufficientDataError, match="0 faulty"):
        rank_services(requests(2, **HEALTHY), requests(0))


def test_a_frame_without_its_columns_is_refused() -> None:
    """The message names what is absent."""
    with pytest.raises(UsageError, match="faulty frame lacks callee"):
        rank_services(requests(2, **HEALTHY), requests(2, **HEALTHY).drop("callee"))
    with pytest.raises(UsageError, match="must not be negative"):
        rank_services(requests(2, **HEALTHY), requests(2, **HEALTHY), floor_share=-1)
