"""The one vocabulary: stages, kinds of units, outcomes, metrics, cohorts and verdicts.

Every code that means something to users is written here and nowhere else in Python; the rest names it
(`StepStage.STRAGGLER_WAIT`). One file an area: a new area (leaves of a job, buckets of goodput) is a new file
of enumerations whose members are their codes, exported here. `tests/unit/schema` greps that nothing is
spelled a second time and that every code in SQL exists.
"""

from tracekit.schema.cohorts import BODY, DEFAULT_QUANTILES, MINIMUM_UNITS
from tracekit.schema.exchange import exchanged, exchanged_name, exchanged_type
from tracekit.schema.goodput import BUCKETS
from tracekit.schema.metrics import METRIC_GROUPS, METRICS, Metric, MetricDefinition
from tracekit.schema.outcomes import ANY_OUTCOME, OUTCOMES, Outcome
from tracekit.schema.plausible import FUTURE_TOLERANCE_NS, LONGEST_REQUEST_NS, PAST_TOLERANCE_NS
from tracekit.schema.stages import (
    BETWEEN_STEPS,
    STAGES,
    UNATTRIBUTED,
    JobStage,
    ServingStage,
    StepStage,
    is_edge,
    is_unsplit,
    parts_of,
    unsplit,
)
from tracekit.schema.tenants import PRIORITY_KEYS, TENANT_KEYS
from tracekit.schema.units import UnitKind, Window
from tracekit.schema.verdicts import (
    EvidenceVerdict,
    FailuresVerdict,
    GoodputVerdict,
    HangVerdict,
    MetricsVerdict,
    QualityVerdict,
    RequestWhatIfVerdict,
    Severity,
    StragglersVerdict,
    TailVerdict,
    WhatIfVerdict,
)

__all__ = [
    "ANY_OUTCOME",
    "BETWEEN_STEPS",
    "BODY",
    "BUCKETS",
    "DEFAULT_QUANTILES",
    "FUTURE_TOLERANCE_NS",
    "LONGEST_REQUEST_NS",
    "METRICS",
    "METRIC_GROUPS",
    "MINIMUM_UNITS",
    "OUTCOMES",
    "PAST_TOLERANCE_NS",
    "PRIORITY_KEYS",
    "STAGES",
    "TENANT_KEYS",
    "UNATTRIBUTED",
    "EvidenceVerdict",
    "FailuresVerdict",
    "GoodputVerdict",
    "HangVerdict",
    "JobStage",
    "Metric",
    "MetricDefinition",
    "MetricsVerdict",
    "Outcome",
    "QualityVerdict",
    "RequestWhatIfVerdict",
    "ServingStage",
    "Severity",
    "StepStage",
    "StragglersVerdict",
    "TailVerdict",
    "UnitKind",
    "WhatIfVerdict",
    "Window",
    "exchanged",
    "exchanged_name",
    "exchanged_type",
    "is_edge",
    "is_unsplit",
    "parts_of",
    "unsplit",
]
