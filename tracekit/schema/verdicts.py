"""What answers conclude, as stable codes that scripts rely on."""

from __future__ import annotations

from typing import Literal

TailVerdict = Literal[
    "excess_explained",
    "excess_unattributed",
    "excess_spread",
    "stage_slower",
    "mix_not_slowness",
    "size_or_slowness",
    "load_or_slowness",
    "improved",
    "no_excess",
    "too_few_blocks",
    "too_few_units",
    "no_units",
    "refused",
]
"""What a tail answer concludes.

excess_explained: the excess is more than chance and its largest stage is named.
excess_unattributed: so, but most of it is time that no span or attribute explains.
excess_spread: the excess is more than chance, but no single stage is.
stage_slower: the excess as a whole could be chance, but a stage is slower beyond it.
mix_not_slowness: the tail holds other units (larger ones), not slower ones.
size_or_slowness: most of the excess is in larger units than the baseline has any of, so that their size and
slowness cannot be told apart.
load_or_slowness: more work arrived at once than in the baseline, and most of the excess is where requests
    wait for each other, so that load and slowness cannot be told apart.
improved: the selection is faster than the baseline.
no_excess: there is nothing to explain beyond chance.
too_few_blocks, too_few_units: the split is exact for these units, but nothing follows for others.
no_units: nothing to compare. refused: the data are too damaged to bear an answer.
"""

StragglersVerdict = Literal[
    "stragglers", "slow_links", "spread", "uneven_pipeline", "no_stragglers", "too_few_steps", "no_steps", "refused"
]
"""What a stragglers answer concludes: ranks or whole pipeline stages are named, or why none is.

slow_links: nobody's work is slow, but the transfer of collectives in some groups of ranks.
spread: many ranks lose time in the same stage now and then, and none stands out.
"""

WhatIfVerdict = Literal["faster", "slower", "no_difference", "no_steps", "refused"]
"""What a replay under a change concludes: by the bound of the answer, or that there is nothing to replay."""

RequestWhatIfVerdict = Literal[
    "faster",
    "slower",
    "no_difference",
    "not_reproduced",
    "too_few_requests",
    "no_such_stage",
    "no_engine_spans",
    "no_tokens",
    "queue_not_told_apart",
    "split_engines",
    "refused",
]
"""What a replay of requests under a change concludes, or why it does not.

not_reproduced: the replay without any change misses what was observed, so it is no ground for a conclusion.
too_few_requests, no_such_stage: no quantiles, or no request has time in the stage. no_engine_spans, no_tokens,
queue_not_told_apart, split_engines: more than a tenth of the requests lack the engine's spans or token counts, have
queue and prefill in one, or have prefill and decode on engines of their own, which the replay does not know.
"""

HangVerdict = Literal["desync", "device_stuck", "host_stuck", "wait_for", "transport", "no_hang", "no_dumps"]
"""Which rule tells who hung a job; see `tracekit.analysis.jobs.hangs`."""

GoodputVerdict = Literal["ledger", "no_jobs"]
"""What a goodput answer holds of training: ledgers of jobs, or there is no job."""

FailuresVerdict = Literal["failures", "no_failures"]
"""Whether anything failed."""

MetricsVerdict = Literal["values", "no_values", "listed", "no_metrics"]
"""Whether a metric has values, or which metrics there are."""

QualityVerdict = Literal["good", "usable", "poor"]
"""What a store can bear: no warning, warnings, an error."""

EvidenceVerdict = Literal["good", "usable", "poor", "refused"]
"""What the units of one answer can bear; refused: no conclusion is drawn."""

Severity = Literal["ok", "note", "warning", "error"]
"""How bad a finding is, the least first."""
