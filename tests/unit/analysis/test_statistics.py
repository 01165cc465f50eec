"""The arithmetic under the answers: rounding, mix, influence, blocks, intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis import quantile_ns
from tracekit.analysis.statistics import blocks
from tracekit.analysis.statistics.influence import BandSums, influence_sums
from tracekit.analysis.statistics.rounding import apportioned, rounded_parts, rounded_quotient
from tracekit.analysis.statistics.significance import (
    SlicedSide,
    adjusted_p_values,
    from_slices,
    from_windows,
    student_quantile,
    student_two_sided,
)
from tracekit.analysis.tail.mix import CohortSums, mix_split

amounts = st.lists(st.integers(-(10**18), 10**18), min_size=1, max_size=30)


@given(amounts, st.integers(1, 10**7))
def test_rounded_parts_sum_to_the_rounded_whole(numerators: list[int], denominator: int) -> None:
    """Cumulative rounding loses nothing, and moves no part by a nanosecond or more."""
    parts = rounded_parts(numerators, denominator)
    assert sum(parts) == rounded_quotient(sum(numerators), denominator)
    assert all(abs(part * denominator - exact) <= denominator for part, exact in zip(parts, numerators, strict=True))


@given(st.integers(-(10**18), 10**18), st.lists(st.integers(0, 10**15), min_size=1, max_size=30))
def test_apportioned_parts_sum_to_the_total(total: int, weights: list[int]) -> None:
    """A total is split whole; where all weights are zero only zero can be split."""
    if sum(weights) == 0 and total != 0:
        with pytest.raises(ValueError, match="cannot be split"):
            apportioned(total, weights)
    else:
        assert sum(apportioned(total, weights)) == total


def test_halves_are_rounded_up() -> None:
    """One rule for halves, also below zero."""
    assert [rounded_quotient(value, 2) for value in (-3, -1, 1, 3)] == [-1, 0, 1, 2]


@given(st.data())
def test_mix_calls_and_time_per_call_sum_to_the_excess(data: st.DataObject) -> None:
    """The split leaves no residual, whatever classes and stages there are."""
    shape = (data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4)))
    tail, baseline, excess = _cohort(data, shape), _cohort(data, shape), np.zeros(shape[1], dtype=np.int64)
    for number, cohort in ((1, tail), (-1, baseline)):
        excess += number * np.rint(cohort.self_ns.sum(axis=0) / cohort.unit_counts.sum()).astype(np.int64)
    split = mix_split(tail, baseline, excess)
    assert (split.mix_ns + split.calls_ns + split.per_call_ns == excess).all()
    assert split.class_mix_ns.sum() == split.mix_ns.sum()
    assert split.class_rate_ns.sum() == split.rate_ns.sum()
    assert np.abs(split.rate_ns - _rate(tail, baseline)).max() <= 2


def _rate(tail: CohortSums, baseline: CohortSums) -> np.ndarray:
    """The rate by its definition, without using that the parts have to sum."""
    both = (tail.unit_counts > 0) & (baseline.unit_counts > 0)
    weight = tail.unit_counts / tail.unit_counts.sum() + baseline.unit_counts / baseline.unit_counts.sum()
    slower = [
        self_ns[both] / counts[both][:, None]
        for self_ns, counts in ((tail.self_ns, tail.unit_counts), (baseline.self_ns, baseline.unit_counts))
    ]
    return ((weight[both] / 2)[:, None] * (slower[0] - slower[1])).sum(axis=0)


def _cohort(data: st.DataObject, shape: tuple[int, int]) -> CohortSums:
    classes, stages = shape
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=classes, max_size=classes)))
    counts[0] += counts.sum() == 0
    cells = st.lists(st.integers(0, 10**9), min_size=stages, max_size=stages)
    self_ns = np.array([data.draw(cells) for _ in range(classes)]) * (counts > 0)[:, None]
    return CohortSums(counts, self_ns, np.minimum(self_ns, 7))


def test_a_shift_between_classes_is_mix_and_a_slower_class_is_rate() -> None:
    """Twice as many large units is mix; the same units twice as slow is rate."""
    baseline = CohortSums(np.array([3, 1]), np.array([[300], [1000]]), np.array([[3], [1]]))
    more_large = CohortSums(np.array([1, 3]), np.array([[100], [3000]]), np.array([[1], [3]]))
    slower = CohortSums(np.array([3, 1]), np.array([[600], [2000]]), np.array([[3], [1]]))
    shifted = mix_split(more_large, baseline, np.array([775 - 325]))
    slowed = mix_split(slower, baseline, np.array([650 - 325]))
    assert (shifted.mix_ns.tolist(), shifted.rate_ns.tolist()) == ([450], [0])
    assert (slowed.mix_ns.tolist(), slowed.per_call_ns.tolist()) == ([0], [325])


def test_more_calls_are_told_from_slower_calls() -> None:
    """Two calls of 100 ns instead of one are calls; one call of 200 ns instead of 100 is time per call."""
    once = CohortSums(np.array([1]), np.array([[100]]), np.array([[1]]))
    twice = CohortSums(np.array([1]), np.array([[200]]), np.array([[2]]))
    longer = CohortSums(np.array([1]), np.array([[200]]), np.array([[1]]))
    assert mix_split(twice, once, np.array([100])).calls_ns.tolist() == [100]
    assert mix_split(longer, once, np.array([100])).per_call_ns.tolist() == [100]


def test_a_class_on_one_side_only_is_all_mix() -> None:
    """What has no counterpart cannot be slower."""
    baseline = CohortSums(np.array([2, 0]), np.array([[200], [0]]), np.array([[2], [0]]))
    tail = CohortSums(np.array([0, 2]), np.array([[0], [2000]]), np.array([[0], [2]]))
    split = mix_split(tail, baseline, np.array([900]))
    assert (split.mix_ns.tolist(), split.rate_ns.tolist()) == ([900], [0])
    assert split.class_mix_ns.tolist() == [-100, 1000]


def test_influence_is_that_of_expected_shortfall() -> None:
    """Summed over slices, the contributions are those of the textbook formula, and they sum to zero."""
    random = np.random.default_rng(4)
    value = np.sort(random.lognormal(size=400))
    stage = value * random.uniform(0.2, 0.8, 400)
    first = 360
    bins = random.integers(0, 8, 400)
    edge_mean = stage[355:365].mean()
    in_tail = np.arange(400) >= first
    sums = BandSums(
        stage_sums=np.bincount(bins[in_tail], stage[in_tail], minlength=8)[:, None],
        unit_counts=np.bincount(bins, minlength=8),
        below_counts=np.bincount(bins[:first], minlength=8),
        upto_counts=np.bincount(bins, minlength=8),
        lower_means=np.array([edge_mean]),
        upper_means=np.zeros(1),
    )
    share = in_tail.mean()
    each = in_tail * (stage - edge_mean) / share - (stage[in_tail].mean() - edge_mean)
    assert influence_sums(sums)[:, 0] == pytest.approx(np.bincount(bins, each, minlength=8) / 400)
    assert influence_sums(sums).sum() == pytest.approx(0, abs=1e-12)


def test_independent_slices_make_many_blocks_and_a_slow_swing_makes_few() -> None:
    """White noise keeps dozens of blocks; a single swing over the whole time keeps one or two."""
    random = np.random.default_rng(2)
    noise = random.standard_normal(blocks.SLICE_COUNT)
    swing = np.sin(np.linspace(0, 2 * np.pi, blocks.SLICE_COUNT))
    assert blocks.independent_block_count([noise - noise.mean()]) > 25
    assert blocks.independent_block_count([swing]) < 3
    assert blocks.independent_block_count([noise - noise.mean(), swing]) < 3


def test_a_series_without_variation_has_the_most_blocks() -> None:
    """Constant values are not correlated."""
    assert blocks.independent_block_count([np.zeros(blocks.SLICE_COUNT)]) == blocks.BLOCK_LIMIT


@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=50))
def test_slices_cover_the_time_in_order(starts: list[int]) -> None:
    """The first start is in slice 0, later starts never in an earlier slice, all within the limit."""
    slices = blocks.slices(np.array(sorted(starts)))
    assert slices[0] == 0
    assert (np.diff(slices) >= 0).all()
    assert slices[-1] < blocks.SLICE_COUNT


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.7062), (9, 2.26216), (30, 2.04227), (1000, 1.96234)])
def test_student_quantiles_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    """The numerical integral gives the published values."""
    assert student_quantile(0.95, freedom) == pytest.approx(quantile, abs=1e-4)
    assert student_two_sided(quantile, freedom) == pytest.approx(0.05, abs=1e-5)


def test_benjamini_hochberg_follows_its_definition() -> None:
    """p(k) n / k, made monotone from the largest."""
    adjusted = adjusted_p_values(np.array([0.01, 0.5, 0.03, 0.04]))
    assert adjusted == pytest.approx([0.04, 0.5, 0.16 / 3, 0.16 / 3])


def sliced(contributions: np.ndarray, block_count: float | None = None) -> SlicedSide:
    """A side whose slices are its blocks, or make fewer of them."""
    rows, columns = contributions.shape
    return SlicedSide(contributions, np.ones(rows, dtype=np.int64), np.full(columns, block_count or rows, dtype=float))


def test_block_intervals_are_those_of_a_mean() -> None:
    """Contributions of equal blocks give the standard error of their mean."""
    random = np.random.default_rng(1)
    values = random.standard_normal((40, 1))
    uncertainty = from_slices([sliced((values - values.mean()) / 40)])
    assert uncertainty.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(40))
    low, high = uncertainty.intervals(np.array([1.0]))
    assert low[0] <= 1 - uncertainty.reach[0] * uncertainty.standard_error[0]
    assert high[0] >= 1 + uncertainty.reach[0] * uncertainty.standard_error[0]


def test_more_stages_need_a_larger_statistic() -> None:
    """The largest of ten independent statistics needs a wider bound; ten copies of one do not."""
    random = np.random.default_rng(1)
    many = random.standard_normal((60, 10))
    one = many[:, :1]
    single = from_slices([sliced(one - one.mean(axis=0))]).critical[0]
    assert from_slices([sliced(many - many.mean(axis=0))]).critical.min() > single + 0.5
    copies = np.repeat(one - one.mean(), 10, axis=1)
    assert from_slices([sliced(copies)]).critical == pytest.approx(single, rel=0.02)


def test_each_estimate_is_judged_by_blocks_of_its_own() -> None:
    """A column that swings slowly has few blocks and a wide interval; its neighbour keeps its own."""
    random = np.random.default_rng(3)
    noise = random.standard_normal((64, 2))
    noise -= noise.mean(axis=0)
    apart = from_slices([SlicedSide(noise, np.ones(64, dtype=np.int64), np.array([64.0, 2.0]))])
    alone = from_slices([sliced(noise[:, :1])])
    assert apart.standard_error[0] == alone.standard_error[0]
    assert apart.reach[0] < apart.reach[1]
    # Two independent blocks of four: the variance of the four is doubled.
    four = noise[:, 1].reshape(4, 16).sum(axis=1)
    assert apart.standard_error[1] ** 2 == pytest.approx(2 * 4 / 3 * (four**2).sum())


def test_a_long_baseline_takes_no_freedom_from_a_short_window() -> None:
    """Satterthwaite: freedom is that of the side with nearly all of the variance, and of both where they are equal."""
    random = np.random.default_rng(5)
    many, few = random.standard_normal((60, 1)), random.standard_normal((5, 1))
    many, few = many - many.mean(), few - few.mean()
    assert from_slices([sliced(many), sliced(1e-6 * few)]).reach == pytest.approx(student_quantile(0.95, 59))
    assert from_slices([sliced(1e-6 * many), sliced(few)]).reach == pytest.approx(student_quantile(0.95, 4))
    assert from_slices([sliced(few), sliced(few)]).reach == pytest.approx(student_quantile(0.95, 8))


def test_windows_judge_a_new_window_and_not_their_mean() -> None:
    """The error is sd * sqrt(1 + 1/K)."""
    means = np.arange(20.0)[:, None]
    assert from_windows(means).standard_error == pytest.approx(means.std(ddof=1) * np.sqrt(1 + 1 / 20))


def test_estimates_that_never_vary_differ_beyond_doubt() -> None:
    """The same excess in every block is certain, and zero is not an excess."""
    uncertainty = from_slices([sliced(np.zeros((12, 2)))])
    assert uncertainty.exceeds(np.array([5.0, 0.0])).tolist() == [True, False]


@pytest.mark.parametrize(("quantile", "value"), [(0.0, 1), (0.5, 150), (0.99, 297), (0.991, 298), (1.0, 300)])
def test_quantiles_are_observed_values(quantile: float, value: int) -> None:
    """The smallest value at or below which that share lies; 0.99 of 300 is the 297th."""
    assert quantile_ns(np.arange(1, 301), quantile) == value
