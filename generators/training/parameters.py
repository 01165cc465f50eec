"""Every parameter of the training model with its default and where the default comes from.

Sources: the OSDI 2025 straggler traces (step, micro-batch and optimizer times, sizes of gradients), fits of
collective times on H100 (links), profiler traces (copies, kernel gaps), published checkpoint figures.
`assumption` marks the rest. `fault.*` is neutral by default: a counterfactual is the same run with these at
their defaults. `change.*` moves the workload without any fault.
"""

from __future__ import annotations

from generators.parameters import Parameter, Values, resolve
from tracekit.errors import UsageError

ASSUMPTION = "assumption"
OSDI = "OSDI 2025 straggler trace ST"
FIT = "fit of collective times, H100"
PROFILES = "profiler traces"

SCHEDULES = ("1f1b", "interleaved")
CHECKPOINTS = ("async", "blocking")

RUN = (
    Parameter("run.steps", 48, "training steps", ASSUMPTION, 2, 1e7),
    Parameter("run.start_unix_s", 1767225600, "when the run starts, seconds since the epoch", ASSUMPTION, 1, 4e9),
    Parameter("run.job", "pretrain-1", "name of the job", ASSUMPTION),
)
MESH = (
    Parameter("mesh.data", 4, "data-parallel replicas", ASSUMPTION, 1, 65536),
    Parameter("mesh.tensor", 2, "ranks that share each layer", ASSUMPTION, 1, 64),
    Parameter("mesh.pipeline", 2, "pipeline stages", OSDI, 1, 256),
    Parameter("mesh.expert", 1, "ranks over which experts are spread; divides mesh.data", ASSUMPTION, 1, 1024),
    Parameter("mesh.ranks", 0, "ranks of the job; 0: as many as the mesh has", ASSUMPTION),
    Parameter("mesh.ranks_per_host", 8, "accelerators of one host", ASSUMPTION, 1, 1024),
)
SCHEDULE = (
    Parameter("schedule.name", "1f1b", "order of micro-batches", ASSUMPTION, choices=SCHEDULES),
    Parameter("schedule.micro_batches", 8, "micro-batches a step: gradient accumulation", ASSUMPTION, 1, 4096),
    Parameter("schedule.chunks", 2, "interleaved: model chunks of a stage", ASSUMPTION, 2, 64),
)
MODEL_SIZE = (
    Parameter("model.rank_parameters_m", 850.0, "parameters of one rank's shard, millions", OSDI, 1e-6),
    Parameter("model.trainable_share", 1.0, "share of them that is trained; small for adapters", ASSUMPTION, 0, 1),
    Parameter("model.gradient_bytes", 4, "bytes of a gradient when it is reduced", OSDI, 1, 8),
    Parameter("model.parameter_bytes", 2, "bytes of a parameter when it is gathered", OSDI, 1, 8),
    Parameter("model.state_bytes", 16, "bytes of a trained parameter in a checkpoint", "ByteCheckpoint", 1, 64),
    Parameter("model.activation_mb", 67.0, "activations of a micro-batch between two stages", "arithmetic"),
    Parameter("model.tensor_mb", 1340.0, "reduced over tensor ranks in a forward of a stage", "arithmetic"),
    Parameter("model.expert_mb", 134.0, "sent to experts by a rank in a forward of a stage", "arithmetic"),
)
COMPUTE = (
    Parameter("compute.forward_ms", 68.0, "forward of one micro-batch through one stage", OSDI, 1e-3),
    Parameter("compute.backward_ratio", 2.15, "backward as a multiple of forward (1.6 to 2.1)", OSDI, 0),
    Parameter("compute.optimizer_ms", 42.0, "optimizer", OSDI),
    Parameter("compute.expert_share", 0.5, "part of forward and backward inside experts", ASSUMPTION, 0, 1),
    Parameter("compute.last_stage_factor", 1.0, "the last stage takes so many times as long", ASSUMPTION, 1e-3, 1000),
    Parameter("compute.noise_sigma", 0.01, "sigma of each compute time", "OSDI 2025: cv .5 to 2.3 %", 0, 1),
    Parameter("compute.rank_sigma", 0.003, "sigma of constant differences between accelerators", ASSUMPTION, 0, 1),
    Parameter("precision.overflow_share", 0.0, "share of steps whose gradients overflow: skipped", ASSUMPTION, 0, 1),
)
DATA = (
    Parameter("data.workers", 4, "worker processes of each loader", ASSUMPTION, 1, 256),
    Parameter("data.prefetch", 2, "batches that each worker prepares ahead", "PyTorch default", 1, 64),
    Parameter("data.batch_mb", 64.0, "read from storage for one rank and step", ASSUMPTION),
    Parameter("data.decode_ms", 400.0, "median decoding and collation of a batch in a worker", ASSUMPTION),
    Parameter("data.sigma", 0.2, "sigma of reading and decoding", ASSUMPTION, 0, 3),
    Parameter("data.fetch_ms", 0.6, "hand-over of a batch that is ready", ASSUMPTION),
    Parameter("data.copy_mb", 8.0, "copied to the accelerator for one micro-batch", ASSUMPTION),
    Parameter("data.sequence_sigma", 0.0, "sigma of tokens in a micro-batch; 0: packed", ASSUMPTION, 0, 2),
)
LINKS = (
    Parameter("scale_up.gb_per_s", 380.0, "bus bandwidth of collectives inside a host", FIT, 1e-6),
    Parameter("scale_up.hop_us", 2.2, "latency of one hop of a ring inside a host: 31 us in 14 hops", FIT),
    Parameter("scale_up.p2p_gb_per_s", 361.0, "point to point inside a host", FIT, 1e-6),
    Parameter("scale_up.p2p_us", 8.0, "its latency", FIT),
    Parameter("scale_out.gb_per_s", 34.0, "bandwidth of one rank's network card (its rail)", FIT, 1e-6),
    Parameter(
        "scale_out.hop_us",
        2.6,
        "latency of one hop of a ring across hosts: 78 us in 30 hops",
        "fit of collective times, A100",
    ),
    Parameter("scale_out.p2p_us", 18.0, "latency of point to point across hosts", FIT),
    Parameter("links.sigma", 0.01, "sigma of transfer times (.4 to 2 %)", FIT, 0, 1),
    Parameter("gradients.buckets", 4, "buckets that are reduced while the last backward runs", ASSUMPTION, 1, 256),
    Parameter("gradients.sharded", True, "reduce-scatter and gather of parameters, not all-reduce", OSDI),
)
HOST = (
    Parameter("host.copy_gb_per_s", 10.0, "copies to the accelerator (5 to 12)", PROFILES, 1e-6),
    Parameter("host.launch_us", 15.0, "gap before the kernels of a micro-batch (1 to 30)", PROFILES),
    Parameter("host.pause_every_steps", 0, "planned garbage collection on all ranks; 0: none", ASSUMPTION),
    Parameter("host.pause_ms", 150.0, "its length", ASSUMPTION),
)
SIDE_WORK = (
    Parameter("evaluation.every_steps", 0, "steps between evaluations; 0: none", ASSUMPTION),
    Parameter("evaluation.duration_ms", 800.0, "an evaluation", ASSUMPTION),
    Parameter("checkpoint.every_steps", 0, "steps between checkpoints; 0: none", ASSUMPTION),
    Parameter("checkpoint.mode", "async", "whether training waits for the write", ASSUMPTION, choices=CHECKPOINTS),
    Parameter(
        "checkpoint.snapshot_ms", 500.0, "async: copy to host memory, which training waits for", "ByteCheckpoint"
    ),
    Parameter("storage.read_gb_per_s", 1.0, "storage bandwidth of one rank, reading", ASSUMPTION, 1e-6),
    Parameter("storage.write_gb_per_s", 2.0, "storage bandwidth of one rank, writing", ASSUMPTION, 1e-6),
    Parameter("storage.sigma", 0.05, "sigma of writes and snapshots", ASSUMPTION, 0, 3),
)
CHANGE = (
    Parameter("change.first_step", 16, "first step of a change of the workload", ASSUMPTION),
    Parameter("change.steps", 16, "its length in steps", ASSUMPTION),
    Parameter(
        "change.sequence_factor", 1.0, "tokens of a micro-batch in that time, as a multiple", ASSUMPTION, 0.01, 100
    ),
)
FAULT = (
    Parameter("fault.first_step", 16, "first step of the fault", ASSUMPTION),
    Parameter("fault.steps", 16, "its length in steps", ASSUMPTION, 1),
    Parameter("fault.step_share", 1.0, "share of these steps that it strikes", ASSUMPTION, 0, 1),
    Parameter("fault.rank", 5, "the rank concerned; -1: all", ASSUMPTION, -1, 1e6),
    Parameter("fault.compute_factor", 1.0, "compute of the rank takes so many times as long", ASSUMPTION, 1, 1000),
    Parameter(
        "fault.loader_factor", 1.0, "workers of the rank's loader take so many times as long", ASSUMPTION, 1, 1e4
    ),
    Parameter(
        "fault.copy_factor", 1.0, "copies to the rank's accelerator take so many times as long", ASSUMPTION, 1, 1e5
    ),
    Parameter("fault.pause_ms", 0.0, "the rank's process stands still in each step struck", ASSUMPTION),
    Parameter("fault.launch_us", 0.0, "more time before each launch, on all ranks of the rank's host", ASSUMPTION),
    Parameter(
        "fault.nic_factor", 1.0, "transfers over the rank's network card take so many times as long", ASSUMPTION, 1, 1e4
    ),
    Parameter(
        "fault.rail", 0, "the rail concerned by fault.rail_factor: place of a rank in its host", ASSUMPTION, 0, 1023
    ),
    Parameter("fault.rail_factor", 1.0, "transfers over the rail take so many times as long", ASSUMPTION, 1, 1e4),
    Parameter(
        "fault.scale_up_factor", 1.0, "transfers inside the rank's host take so many times as long", ASSUMPTION, 1, 1e4
    ),
    Parameter("fault.save_delay_ms", 0.0, "more time in each checkpoint that the rank saves", ASSUMPTION),
    Parameter("fault.storage_factor", 1.0, "storage takes so many times as long for all", ASSUMPTION, 1, 1e4),
    Parameter(
        "fault.stage", -1, "the pipeline stage concerned by fault.stage_factor; -1: the last", ASSUMPTION, -1, 255
    ),
    Parameter("fault.stage_factor", 1.0, "compute of the stage takes so many times as long", ASSUMPTION, 1, 1000),
    Parameter(
        "fault.expert_factor", 1.0, "experts of the rank get so many times their share of tokens", ASSUMPTION, 1, 1000
    ),
    Parameter("fault.overflow_share", 0.0, "share of the steps struck whose gradients overflow", ASSUMPTION, 0, 1),
)
EMIT = (
    Parameter("emit.metrics_interval_s", 10.0, "time between two readings of the counters", "OpenTelemetry SDK", 0.001),
    Parameter("emit.pause_spans", True, "whether garbage collection has a span", ASSUMPTION),
)

MODEL = (
    *RUN, *MESH, *SCHEDULE, *MODEL_SIZE, *COMPUTE, *DATA, *LINKS, *HOST, *SIDE_WORK, *CHANGE, *FAULT, *EMIT,
)  # fmt: skip

SHAPES = {
    "fault.first_step", "fault.steps", "fault.step_share", "fault.rank", "fault.rail", "fault.stage",
}  # fmt: skip
"""Parameters that shape a fault but do not make one."""


def check(values: Values, *, where: str) -> None:
    """Refuse configurations that cannot run. Raises `UsageError` that names the parameters at odds."""
    for is_impossible, message in _conflicts(values):
        if is_impossible:
            raise UsageError(f"{where}: {message}")


def without_fault(values: Values) -> Values:
    """The same values with every `fault.*` at its default: the counterfactual."""
    return values | resolve(FAULT, {}, where="counterfactual")


def is_wrong(parameter: Parameter, values: Values) -> bool:
    """Whether this parameter makes a fault in a run with these values."""
    return parameter.name not in SHAPES and values[parameter.name] != parameter.default


def has_fault(values: Values) -> bool:
    """Whether anything goes wrong in a run with these values."""
    return any(is_wrong(parameter, values) for parameter in FAULT)


def number(values: Values, name: str) -> int:
    """A whole-number parameter."""
    return int(values[name])


def real(values: Values, name: str) -> float:
    """A parameter that is a real number."""
    return float(values[name])


def chunks(values: Values) -> int:
    """Model chunks of each pipeline stage."""
    return number(values, "schedule.chunks") if values["schedule.name"] == "interleaved" else 1


def rank_count(values: Values) -> int:
    """Ranks of the mesh."""
    return number(values, "mesh.data") * number(values, "mesh.tensor") * number(values, "mesh.pipeline")


def _conflicts(values: Values) -> list[tuple[bool, str]]:
    return [*_mesh_conflicts(values), *_schedule_conflicts(values), *_fault_conflicts(values)]


def _mesh_conflicts(values: Values) -> list[tuple[bool, str]]:
    ranks, wanted = rank_count(values), number(values, "mesh.ranks")
    data, expert = number(values, "mesh.data"), number(values, "mesh.expert")
    tensor, per_host = number(values, "mesh.tensor"), number(values, "mesh.ranks_per_host")
    return [
        (wanted not in (0, ranks),
         f"mesh.data x mesh.tensor x mesh.pipeline is {ranks}, mesh.ranks says {wanted}; they must be equal"),
        (data % expert != 0, f"mesh.expert {expert} does not divide mesh.data {data}"),
        ((tensor > per_host and tensor % per_host != 0) or (tensor <= per_host and per_host % tensor != 0),
         f"mesh.tensor {tensor} and mesh.ranks_per_host {per_host}: one must divide the other"),
    ]  # fmt: skip


def _schedule_conflicts(values: Values) -> list[tuple[bool, str]]:
    is_interleaved = values["schedule.name"] == "interleaved"
    stages, batches = number(values, "mesh.pipeline"), number(values, "schedule.micro_batches")
    return [
        (is_interleaved and stages < 2, "the interleaved schedule needs mesh.pipeline of 2 or more"),
        (is_interleaved and batches % stages != 0,
         f"the interleaved schedule needs schedule.micro_batches ({batches}) that mesh.pipeline ({stages}) divides"),
    ]  # fmt: skip


def _fault_conflicts(values: Values) -> list[tuple[bool, str]]:
    rank, ranks, experts = number(values, "fault.rank"), rank_count(values), number(values, "mesh.expert")
    stage, stages = number(values, "fault.stage"), number(values, "mesh.pipeline")
    hot, rail = real(values, "fault.expert_factor"), number(values, "fault.rail")
    local = min(number(values, "mesh.ranks_per_host"), ranks)
    return [
        (has_fault(values) and number(values, "fault.first_step") >= number(values, "run.steps"),
         f"the fault starts at step {values['fault.first_step']}, after the last of {values['run.steps']} steps; "
         "lower fault.first_step"),
        (has_fault(values) and rank >= ranks, f"fault.rank {rank} does not exist; there are ranks 0 to {ranks - 1}"),
        (stage >= stages, f"fault.stage {stage} does not exist; there are stages 0 to {stages - 1}"),
        (rail >= local, f"fault.rail {rail} does not exist; there are rails 0 to {local - 1}"),
        (hot > 1 and not 1 < hot <= experts,
         f"fault.expert_factor {hot:g} needs mesh.expert of at least as much; it is {experts}"),
        (hot > 1 and rank < 0, "fault.expert_factor needs one rank: set fault.rank"),
    ]  # fmt: skip
