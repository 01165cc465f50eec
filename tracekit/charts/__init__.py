"""Charts of answers: a frame goes in, an Altair chart comes out.

No function here reads a store or draws by itself: a notebook shows the chart that it is given, the app
passes it on. Colours belong to stages (`stage_colour`), so a stage looks the same in every chart and on
every page. Text and axes keep to the theme around them and read on light and on dark ground. Axes are in
the largest fitting unit, tooltips say the exact nanoseconds.
"""

from tracekit.charts.answers import METRIC_MEASURES, metric_course
from tracekit.charts.colours import ACCENT, BUCKET_COLOURS, stage_colour
from tracekit.charts.culprit import culprit
from tracekit.charts.distribution import distribution
from tracekit.charts.durations import axis_unit
from tracekit.charts.excess import excess_by_cause, excess_by_stage
from tracekit.charts.latency_heat import latency_heat
from tracekit.charts.metric_heat import metric_heat
from tracekit.charts.metric_lines import metric_lines
from tracekit.charts.over_time import stages_over_time
from tracekit.charts.parts import lost_by_culprit, parts_of_whole
from tracekit.charts.timeline import WAITING_STAGES, timeline

__all__ = [
    "ACCENT",
    "BUCKET_COLOURS",
    "METRIC_MEASURES",
    "WAITING_STAGES",
    "axis_unit",
    "culprit",
    "distribution",
    "excess_by_cause",
    "excess_by_stage",
    "latency_heat",
    "lost_by_culprit",
    "metric_course",
    "metric_heat",
    "metric_lines",
    "parts_of_whole",
    "stage_colour",
    "stages_over_time",
    "timeline",
]
