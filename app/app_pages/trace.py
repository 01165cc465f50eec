"""One trace, two side by side, or all ranks of one training step as timelines; and the search that finds them."""

from investigation.page import page_header, stop_if_empty
from investigation.pick import StepPick, pick, trace_page_address
from investigation.search import search_section
from investigation.side_by_side import compared_with, two_traces
from investigation.store import store_file
from investigation.timelines import step_section, trace_section

file = store_file()
page_header("Traces", purpose="The spans themselves, and the time that each one owns.")
stop_if_empty(file)
address = trace_page_address()
picked = pick(file, address)
if isinstance(picked, StepPick):
    step_section(file, picked)
elif picked is not None:
    other = compared_with(file, picked)
    if other is None:
        trace_section(file, picked)
    else:
        two_traces(file, picked, other)
else:
    search_section(file, address)
