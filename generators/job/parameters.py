"""Every parameter of the job-life model with its default and where the default comes from.

Failure rates and causes are those of published training runs, recovery and start times those of the papers
named; there is no source for queue, image-pull and container-start times: they are assumptions. `fault.*` is
neutral by default.
"""

from __future__ import annotations

from generators.job.causes import NAMES
from generators.parameters import Parameter, Values, resolve
from tracekit.errors import UsageError

ASSUMPTION = "assumption"
LLAMA = "Llama 3 405B"
FT_HSDP = "FT-HSDP (abstract)"
BYTE_CHECKPOINT = "ByteCheckpoint (abstract)"

RUN = (
    Parameter("run.job", "pretrain-1", "name of the job", ASSUMPTION),
    Parameter("run.start_unix_s", 1767225600, "when the job is submitted, seconds since the epoch", ASSUMPTION, 1, 4e9),
    Parameter("run.steps", 6000, "steps that the job has to make", ASSUMPTION, 1, 1e8),
    Parameter("run.max_attempts", 1000, "attempts before the job is given up", ASSUMPTION, 1, 1e5),
)
JOB = (
    Parameter("job.accelerators", 1024, "accelerators requested", ASSUMPTION, 1, 1e6),
    Parameter("job.per_host", 8, "accelerators of one host", ASSUMPTION, 1, 1024),
    Parameter("job.step_s", 6.0, "one step with all accelerators", "Llama 3 405B: 5.9 to 6.2 s", 1e-3),
    Parameter("job.step_sigma", 0.01, "sigma of a step's time", "OSDI 2025: cv .5 to 2.3 %", 0, 1),
)
SCHEDULER = (
    Parameter("queue.median_s", 600.0, "until the first accelerators are granted", ASSUMPTION),
    Parameter("queue.sigma", 0.5, "sigma of that wait", ASSUMPTION, 0, 5),
    Parameter("queue.waves", 4, "grants until all accelerators are there", ASSUMPTION, 1, 1000),
    Parameter("queue.wave_s", 60.0, "mean time between two grants", ASSUMPTION),
    Parameter("queue.placement_s", 5.0, "choice of hosts for the ranks once all are granted", ASSUMPTION),
    Parameter("queue.replace_s", 240.0, "until a lost host is replaced", ASSUMPTION),
)
PROVISION = (
    Parameter("provision.image_s", 90.0, "image pull on a host that does not have it, median", ASSUMPTION),
    Parameter("provision.container_s", 12.0, "container start, median", ASSUMPTION),
    Parameter("provision.health_s", 20.0, "health check of a host, median", ASSUMPTION),
    Parameter("provision.sigma", 0.25, "sigma of these, host by host", ASSUMPTION, 0, 3),
    Parameter("provision.bad_host_share", 0.001, "share of new hosts that fail the check and are replaced", ASSUMPTION,
              0, 0.5),
)  # fmt: skip
START = (
    Parameter("start.nccl_factor", 1.0, "NCCL init as a multiple of 17 s at 16K, 30 at 22K, 100 at 64K, 200 at 98K",
              FT_HSDP),
    Parameter("start.compile_s", 60.0, "compilation and warm-up before the first step", ASSUMPTION),
    Parameter("checkpoint.load_s", 150.0, "restore of a checkpoint, median", BYTE_CHECKPOINT),
    Parameter("checkpoint.every_steps", 150, "steps between two checkpoints", ASSUMPTION, 1),
    Parameter("checkpoint.stall_s", 0.5, "blocking part of a save", BYTE_CHECKPOINT),
    Parameter("checkpoint.write_s", 40.0, "until a save is durable, beside training", BYTE_CHECKPOINT),
    Parameter("run.post_s", 30.0, "after the last step until release", ASSUMPTION),
)  # fmt: skip
FAILURES = (
    Parameter("failures.per_1000_node_days", 3.79, "unexpected interruptions; 2.34 to 6.50 elsewhere; three times as "
              "many at 100K accelerators, in proportion from 32K on", LLAMA),
    Parameter("failures.implicit_share", 0.135, "share that hangs instead of ending a process", "ByteRobust (abstract)",
              0, 1),
    Parameter("failures.watchdog_s", 600.0, "until the NCCL watchdog declares a hang", "NCCL default"),
    Parameter("failures.teardown_s", 20.0, "until all processes are gone", ASSUMPTION),
)  # fmt: skip
ELASTIC = (
    Parameter("elastic.enabled", False, "go on with fewer hosts instead of waiting for a replacement", ASSUMPTION),
    Parameter("elastic.unit_hosts", 4, "hosts that leave together: one data-parallel replica", ASSUMPTION, 1, 65536),
    Parameter("elastic.min_share", 0.5, "share of the hosts below which the job waits", ASSUMPTION, 0, 1),
)
FAULT = (
    Parameter("fault.cause", "none", "a failure on top of those of nature", ASSUMPTION, choices=("none", *NAMES)),
    Parameter("fault.at_s", 7200.0, "when it comes, since the submission; only while steps run", ASSUMPTION),
    Parameter("fault.host", 7, "place of the host concerned", ASSUMPTION, 0, 1e6),
    Parameter("fault.hangs", False, "whether it hangs instead of ending a process", ASSUMPTION),
    Parameter("fault.image_factor", 1.0, "image pulls take so many times as long", ASSUMPTION, 1, 1000),
    Parameter("fault.queue_factor", 1.0, "waits for grants take so many times as long", ASSUMPTION, 1, 1000),
    Parameter("fault.load_factor", 1.0, "restores take so many times as long", ASSUMPTION, 1, 1000),
    Parameter("fault.stall_factor", 1.0, "blocking parts of saves take so many times as long", ASSUMPTION, 1, 10000),
)
EMIT = (Parameter("emit.metrics_interval_s", 60.0, "time between two readings of the counters", ASSUMPTION, 1),)

MODEL = (*RUN, *JOB, *SCHEDULER, *PROVISION, *START, *FAILURES, *ELASTIC, *FAULT, *EMIT)
SHAPES = {"fault.at_s", "fault.host", "fault.hangs"}
"""Parameters that shape a fault but do not make one."""


def check(values: Values, *, where: str) -> None:
    """Refuse configurations that cannot run. Raises `UsageError` that names the parameters at odds."""
    accelerators, per_host = int(values["job.accelerators"]), int(values["job.per_host"])
    hosts, unit = accelerators // per_host, int(values["elastic.unit_hosts"])
    conflicts = [
        (accelerators % per_host != 0, f"job.accelerators {accelerators} is no multiple of job.per_host {per_host}"),
        (bool(values["elastic.enabled"]) and hosts % unit != 0,
         f"elastic.unit_hosts {unit} does not divide the {hosts} hosts of the job"),
        (values["fault.cause"] != "none" and int(values["fault.host"]) >= hosts,
         f"fault.host {values['fault.host']} does not exist; there are hosts 0 to {hosts - 1}"),
    ]  # fmt: skip
    for wrong, message in conflicts:
        if wrong:
            raise UsageError(f"{where}: {message}")


def faults(values: Values) -> list[Parameter]:
    """The parameters that make a fault in a run with these values."""
    return [one for one in FAULT if one.name not in SHAPES and values[one.name] != one.default]


def without_fault(values: Values) -> Values:
    """The counterfactual: the same values with every `fault.*` back at its neutral default."""
    return values | resolve(FAULT, {}, where="fault")
