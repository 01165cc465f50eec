"""The app's pages, run without a browser on a store made of the sample traces."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

import tracekit as tk
from generators.generate import generate
from tests.e2e.app_visits import OVERLOAD, PAGES, ROOT, Visit, said, sample_store, slow_trace, visit
from tracekit.warehouse import LocalEngine, build

__all__ = ["sample_store", "slow_trace", "visit"]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_on_the_samples(visit: Visit, page: str) -> None:
    """No page needs a parameter to be looked at."""
    app = visit(page)
    assert not app.exception
    assert not app.error


@pytest.fixture(scope="module")
def sample_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of both sample captures."""
    folder = tmp_path_factory.mktemp("warehouse")
    build(folder, [ROOT / "sample_traces"], engine=LocalEngine(1))
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_on_a_warehouse(visit: Visit, sample_store: Path, sample_warehouse: Path, page: str) -> None:
    """What the pages show of a store they show of a warehouse."""
    app = visit(page, store=sample_warehouse)
    assert not app.exception
    assert not app.error
    names = f"{sample_store.parent.name}/{sample_store.name}", sample_warehouse.name
    assert said(app) == said(visit(page)).replace(*names)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ({"fault.first_step": 0, "fault.steps": 24}, "Pipeline stage 3 computes"),
        ({"fault.first_step": 9, "fault.steps": 9}, "Pipeline stage 3, backward, forward, steps 9-17"),
    ],
)
def test_the_overview_names_a_pipeline_stage_that_is_slow_as_a_whole(
    visit: Visit, tmp_path: Path, steps: dict[str, int], told: str
) -> None:
    """One that is always so, and one that becomes so, without naming its ranks."""
    folder, path = tmp_path / "run", tmp_path / "store.duckdb"
    generate("pipeline_imbalance", seed=1, overrides={"run.steps": 24, **steps}, out=folder)
    with tk.open(path) as store:
        store.ingest(folder)
    text = said(visit("overview.py", store=path))
    assert told in text
    assert "- Rank " not in text


def test_the_overview_tells_a_slow_link_where_no_rank_is_slow(visit: Visit, tmp_path: Path) -> None:
    """By its group and hosts: no rank's own work stands out, and waiting alone names nobody."""
    folder, path = tmp_path / "run", tmp_path / "store.duckdb"
    steps = {"run.steps": 24, "fault.first_step": 10, "fault.steps": 10}
    generate("slow_link", seed=1, overrides=steps, out=folder)
    with tk.open(path) as store:
        store.ingest(folder)
    text = said(visit("overview.py", store=path))
    assert "Transfer of all" in text
    assert "on node-0 and node-1" in text
    first = visit("tail.py", store=path)
    assert first.get("button_group")[0].value == "step"


def test_the_overview_tells_the_metric_in_which_the_store_changed(visit: Visit, tmp_path: Path) -> None:
    """Clients that read slowly do not touch the first token: it is end to end that leads to them."""
    folder, path = tmp_path / "run", tmp_path / "store.duckdb"
    shorter = {"run.duration_s": 120.0, "fault.start_s": 50.0, "fault.duration_s": 50.0}
    generate("slow_readers", seed=1, overrides=shorter, out=folder)
    with tk.open(path) as store:
        store.ingest(folder)
    app = visit("overview.py", store=path)
    assert "out.stream" in said(app)
    assert "no change found" not in said(app)
    assert "metric=e2e" in [element.proto.query_string for element in app.get("page_link")]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_says_what_to_do_with_an_empty_store(visit: Visit, tmp_path: Path, page: str) -> None:
    """An empty store is a state, not an error."""
    empty = tmp_path / "empty.duckdb"
    tk.open(empty).close()
    app = visit(page, store=empty)
    assert not app.exception
    assert "no spans yet" in app.info[0].value
    assert f"tracekit ingest PATH --db {empty}" in app.info[0].value


@pytest.mark.parametrize("page", PAGES)
def test_every_page_explains_a_missing_store(visit: Visit, tmp_path: Path, page: str) -> None:
    """The remedy instead of a traceback."""
    app = visit(page, store=tmp_path / "none.duckdb")
    assert not app.exception
    assert "tracekit ingest" in app.error[0].value


def test_a_store_of_a_newer_tracekit_is_named_as_such(visit: Visit, tmp_path: Path, sample_store: Path) -> None:
    """The file is left alone and the person is told why."""
    newer = tmp_path / "newer.duckdb"
    shutil.copy(sample_store, newer)
    with duckdb.connect(str(newer)) as connection:
        connection.execute("UPDATE base.store_info SET schema_version = 999")
    app = visit("overview.py", store=newer)
    assert not app.exception
    assert "newer tracekit" in app.error[0].value


def test_a_store_that_another_process_holds_is_named_as_such(visit: Visit, tmp_path: Path) -> None:
    """Who holds it, and that a later look may succeed."""
    held = tmp_path / "held.duckdb"
    hold = f"import duckdb; connection = duckdb.connect({str(held)!r}); print('held', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        app = visit("tail.py", store=held)
        holder.communicate(b"\n")
    assert not app.exception
    assert "Another process holds this store" in app.error[0].value
    assert app.button(key="look_again")


def test_the_overview_counts_what_is_in_the_store(visit: Visit, sample_store: Path) -> None:
    """Figures come from the store, not from a guess."""
    app = visit("overview.py")
    shown = {metric.label: metric.value for metric in app.metric}
    with tk.open(sample_store, read_only=True) as store:
        spans = store.sql("SELECT count(*) AS spans FROM spans")["spans"].item()
    assert shown["Spans"] == f"{spans:,}"
    assert (shown["Requests"], shown["Steps (each rank's part)"]) == ("286", "352")


def test_the_overview_names_the_stragglers(visit: Visit) -> None:
    """What was done to the training run is on the first page."""
    text = said(visit("overview.py"))
    assert "Rank 2, data_load, steps 20-29" in text
    assert "Rank 1, forward, steps 40-49" in text


def test_a_deep_link_asks_the_question_that_it_says(visit: Visit, sample_store: Path) -> None:
    """A link that a colleague sends shows the same answer as the library gives."""
    app = visit("tail.py", metric="ttft", quantile="all", **OVERLOAD)
    with tk.open(sample_store, read_only=True) as store:
        answer = store.tail(
            "ttft",
            quantile=0.0,
            where="attributes['scenario'] = 'overload'",
            baseline="attributes['scenario'] = 'steady'",
        )
    assert not app.exception
    assert answer.summary in said(app)
    assert len(app.get("vega_lite_chart")) >= 3
    assert len(app.get("bidi_component")) == 1


def test_a_bad_condition_is_explained_beside_the_question(visit: Visit) -> None:
    """The widgets stay, so that the condition can be mended."""
    app = visit("tail.py", where="nosuch = 1")
    assert not app.exception
    assert "nosuch" in app.error[0].value
    assert app.text_input(key="where").value == "nosuch = 1"


def test_a_condition_cannot_do_more_than_filter(visit: Visit) -> None:
    """A link from a stranger reads nothing that the page does not show."""
    app = visit("tail.py", where="(SELECT count(*) FROM read_text('/etc/hostname')) > 0")
    assert not app.exception
    assert "subquery" in app.error[0].value


def test_a_stage_in_the_address_has_its_own_proof(visit: Visit) -> None:
    """The stage is chosen by the link as by a click."""
    app = visit("tail.py", metric="ttft", quantile="0.9", stage="eng.prefill")
    assert app.selectbox(key="stage").value == "eng.prefill"
    assert "The slow ones with the most time in eng.prefill" in said(app)


def test_a_trace_is_drawn_from_its_address(visit: Visit, slow_trace: str) -> None:
    """A trace has one timeline, and is told in words."""
    app = visit("trace.py", trace=slow_trace)
    assert not app.exception
    assert len(app.get("bidi_component")) == 1
    assert "POST /v1/completions" in said(app)


def test_a_step_is_drawn_with_all_its_ranks(visit: Visit) -> None:
    """All ranks on one time axis, and whom they waited for."""
    app = visit("trace.py", job="job-a", attempt="0", step="25")
    assert not app.exception
    assert "4 ranks" in said(app)
    waits = next(frame.value for frame in app.dataframe if "culprit_rank" in frame.value.columns)
    assert waits.iloc[0]["culprit_rank"] == 2
    assert waits.iloc[0]["culprit_operation"] == "data_load"


def test_the_segments_of_a_step_cover_every_rank_exactly(visit: Visit, sample_store: Path) -> None:
    """What is drawn sums to each rank's part of the step, to the nanosecond."""
    from investigation.waterfall import step_rows

    with tk.open(sample_store, read_only=True) as store:
        ranks = store.query("explore/step_ranks", job_id="job-a", attempt=0, step=39)
        bars, segments = step_rows(ranks, store.operations(trace_id=ranks["trace_id"][0]))
    length_ns = pl.col("end_ns") - pl.col("start_ns")
    lanes = bars.filter(depth=0)
    drawn = segments.join_asof(lanes.select("row", lane="row"), on="row").group_by("lane").agg(length_ns.sum())
    assert drawn.sort("lane")["end_ns"].to_list() == lanes.select(length_ns)["end_ns"].to_list()


@pytest.fixture(scope="module")
def failing_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute of requests that time out and are sent again."""
    folder = tmp_path_factory.mktemp("failing")
    shorter = {"run.duration_s": 60.0, "fault.start_s": 20.0, "fault.duration_s": 30.0}
    generate("retry_storm", seed=1, overrides=shorter, out=folder / "run")
    path = folder / "store.duckdb"
    with tk.open(path) as store:
        store.ingest(folder / "run")
    return path


def test_failures_lead_from_the_overview_to_their_first_cause(visit: Visit, failing_store: Path) -> None:
    """The overview says what failed first, and the page lists the incidents that sum to all failures."""
    assert "is the messenger" in said(visit("overview.py", store=failing_store))
    app = visit("failures.py", store=failing_store)
    incidents = next(frame.value for frame in app.dataframe if "cancelled with them" in frame.value.columns)
    failed = next(metric.value for metric in app.metric if metric.label == "Failed")
    assert int(incidents["requests"].sum()) == int(failed.replace(",", "")) > 0


def test_goodput_counts_every_request_once(visit: Visit, failing_store: Path) -> None:
    """The limits are part of the address; limits that are none are said to be so."""
    text = said(visit("goodput.py", store=failing_store, slo="ttft=500ms"))
    with tk.open(failing_store, read_only=True) as store:
        assert store.request_goodput("ttft=500ms").summary in text
    assert "no term" in said(visit("goodput.py", store=failing_store, slo="speed=1s"))


def test_the_ledger_of_a_job_is_on_its_page(visit: Visit, sample_store: Path) -> None:
    """The sentence of the job, and its leaves with the cost that a price gives them."""
    app = visit("ledger.py", job="job-a", price="2.5")
    assert "accelerator-seconds trained" in said(app)
    assert any("cost" in frame.value.columns for frame in app.dataframe)


def test_two_sides_are_compared_from_the_address(visit: Visit, failing_store: Path) -> None:
    """Without sides the page says what it needs, with a side that is none what is wrong."""
    assert "Say what to compare" in said(visit("compare.py", store=failing_store))
    start, middle = "2026-01-01T00:00:00Z/2026-01-01T00:00:20Z", "2026-01-01T00:00:20Z/2026-01-01T00:00:50Z"
    app = visit("compare.py", store=failing_store, before=start, after=middle)
    assert {"eng.queue", "retry"} <= {stage for frame in app.dataframe for stage in frame.value.get("stage", [])}
    assert visit("compare.py", store=failing_store, before="nonsense (", after=middle).error


def test_a_metric_is_drawn_from_the_address(visit: Visit, failing_store: Path) -> None:
    """By its name here; the list below says what there is and which stage it stands beside."""
    app = visit("metrics.py", store=failing_store, metric="server.ttft")
    assert "server.ttft was highest on gateway-0" in said(app)
    assert "kv_cache.usage" in app.dataframe[-1].value["metric"].to_list()


def test_requests_are_found_by_what_they_carry(visit: Visit, sample_store: Path) -> None:
    """Text of a name, an attribute or an id; the count is of all that are found."""
    app = visit("trace.py", text="overload", outcome="ok", order="latest")
    found = next(frame.value for frame in app.dataframe if "trace" in frame.value.columns)
    with tk.open(sample_store, read_only=True) as store:
        count = store.sql(
            "SELECT count(*) FROM units WHERE outcome = 'ok' AND attributes['scenario'] = 'overload'"
        ).item()
    assert f"{count} requests" in said(app)
    assert found["started (UTC)"].is_monotonic_decreasing
    assert "No request is found" in said(visit("trace.py", text="nobody has this"))


def test_traces_without_requests_or_steps_are_found_too(visit: Visit, tmp_path: Path) -> None:
    """A job that hangs made neither, and its spans are there."""
    folder, path = tmp_path / "hang", tmp_path / "hang.duckdb"
    generate("job_hang", seed=1, overrides={}, out=folder)
    with tk.open(path) as store:
        store.ingest(folder)
    app = visit("trace.py", store=path)
    assert not app.exception
    assert "1 trace. Choose one to open it" in said(app)
    assert "nothing can be slow" in said(visit("tail.py", store=path))


def test_requests_are_found_by_the_share_of_a_stage(visit: Visit) -> None:
    """All from the address, and told in the table."""
    asked = {"in": "eng.queue", "share": "30", "has": "scenario", "is": "overload", "below_ms": "2000"}
    app = visit("trace.py", kind="request", **asked)
    assert not app.exception
    assert not app.error
    found = next(frame.value for frame in app.dataframe if "trace" in frame.value.columns)
    assert (found["in eng.queue"].str.rstrip("%").astype(float) >= 30).all()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT 42 AS answer", "1 row, 1 column"),
        ("FROM range(20000)", "The first 10,000 of 20,000 rows"),
        ("DROP VIEW units", "cannot be asked"),
        ("SELECT * FROM read_text('/etc/hostname')", "cannot be asked"),
        ("COPY (SELECT 1) TO '/tmp/x.csv'", "cannot be asked"),
        ("SELECT nothing_like_it FROM units", "cannot be asked"),
    ],
)
def test_a_statement_can_only_look(visit: Visit, statement: str, told: str) -> None:
    """It is part of the address, so that a link may carry anything: neither files nor writing."""
    app = visit("sql.py", sql=statement)
    assert told in said(app)
    assert not app.exception


def test_the_same_question_has_one_answer_everywhere(visit: Visit, sample_store: Path) -> None:
    """Library, report, overview and tail page, each without any option: the same units, the same sentence."""
    with tk.open(sample_store, read_only=True) as store:
        answers = {metric: store.tail(metric) for metric in ("ttft", "step")}
        told = store.report()
    overview = said(visit("overview.py"))
    for metric, answer in answers.items():
        page = visit("tail.py", metric=metric)
        assert answer.summary in said(page)
        assert answer.summary in overview
        assert answer.summary in str(told.text)
        slow = next(figure.value for figure in page.metric if figure.label == "Slow ones")
        assert slow == f"{answer.tail_count:,} of {answer.count:,}"
    links = [element.proto.query_string for element in visit("overview.py").get("page_link")]
    assert "metric=ttft" in links
