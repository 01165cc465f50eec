"""Stage codes of a training step as small integers for the simulation."""

from __future__ import annotations

NAMES = (
    "step.data_load", "step.host_bound", "step.launch_overhead", "step.copy", "step.compute", "step.exposed_comm",
    "step.pipeline_bubble", "step.straggler_wait", "job.custom", "job.checkpoint_save",
)  # fmt: skip
(
    DATA_LOAD, HOST_BOUND, LAUNCH, COPY, COMPUTE, EXPOSED_COMM, BUBBLE, STRAGGLER_WAIT, CUSTOM, CHECKPOINT_SAVE,
) = range(len(NAMES))  # fmt: skip
COUNT = len(NAMES)
