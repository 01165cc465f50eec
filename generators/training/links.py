"""How long transfers take: latency and bandwidth of rings, trees and single hops over scale-up and scale-out links.

A ring all-reduce over n ranks takes 2 (n - 1) hops and moves 2 (n - 1) / n of the bytes over each link,
reduce-scatter, all-gather and all-to-all half of that (NCCL's cost model). A ring across hosts has one channel
for each rail that its members have, and the slowest channel decides. Groups do not compete for links.
"""

from __future__ import annotations

import numpy as np

from generators.parameters import Values
from generators.training.mesh import Mesh, struck_ranks
from generators.training.parameters import number, real

MEGABYTE = 10**6
ROUNDS = {"all_reduce": 2, "reduce_scatter": 1, "all_gather": 1, "all_to_all": 1}


COST = np.dtype([("latency_ns", "f8"), ("bytes_ns", "f8"), ("struck_ns", "f8")])
"""Transfer time of a group: `latency_ns + bytes_ns`, and `struck_ns` in place of `bytes_ns` under a fault."""


def _cost(latency_ns: np.ndarray, bytes_ns: np.ndarray, struck_ns: np.ndarray) -> np.ndarray:
    cost = np.zeros(latency_ns.shape, COST)
    cost["latency_ns"], cost["bytes_ns"], cost["struck_ns"] = latency_ns, bytes_ns, struck_ns
    return cost


def ring_cost(mesh: Mesh, groups: np.ndarray, values: Values, *, collective: str, size_bytes: float) -> np.ndarray:
    """Cost of a collective in each group (COST, pipeline stage x group); nothing in groups of one."""
    members, rounds = groups.shape[-1], ROUNDS[collective]
    across = _is_across(mesh, groups)
    hop_us = np.where(across, real(values, "scale_out.hop_us"), real(values, "scale_up.hop_us"))
    volume = rounds * (members - 1) / members * size_bytes
    plain, struck = _bandwidth(mesh, groups, values)
    return _cost(rounds * (members - 1) * hop_us * 1e3, volume / plain, volume / struck)


def tree_cost(mesh: Mesh, groups: np.ndarray, values: Values) -> np.ndarray:
    """Cost of an all-reduce of a few bytes: up and down a tree of point-to-point messages."""
    depth = int(np.ceil(np.log2(groups.shape[-1])))
    us = np.where(_is_across(mesh, groups), real(values, "scale_out.p2p_us"), real(values, "scale_up.p2p_us"))
    return _cost(2.0 * depth * us * 1e3, np.zeros(us.shape), np.zeros(us.shape))


def pair_cost(mesh: Mesh, sender: np.ndarray, receiver: np.ndarray, values: Values, *, size_bytes: float) -> np.ndarray:
    """Cost of one message between the ranks of each pair."""
    pairs = np.stack([sender, receiver], axis=-1)
    across = _is_across(mesh, pairs)
    us = np.where(across, real(values, "scale_out.p2p_us"), real(values, "scale_up.p2p_us"))
    inside = real(values, "scale_up.p2p_gb_per_s")
    plain = np.where(across, real(values, "scale_out.gb_per_s"), inside)
    struck = np.where(across, plain / _card_factor(mesh, pairs, values), plain / _host_factor(mesh, pairs, values))
    return _cost(us * 1e3, size_bytes / plain, size_bytes / struck)


def _is_across(mesh: Mesh, groups: np.ndarray) -> np.ndarray:
    hosts = mesh.host[groups]
    return (hosts != hosts[..., :1]).any(axis=-1)


def _bandwidth(mesh: Mesh, groups: np.ndarray, values: Values) -> tuple[np.ndarray, np.ndarray]:
    """Bus bandwidth of each group in bytes a nanosecond (GB/s), without and with the fault."""
    across = _is_across(mesh, groups)
    rails = (np.diff(np.sort(mesh.rail[groups], axis=-1), axis=-1) != 0).sum(axis=-1) + 1
    inside = np.full(across.shape, real(values, "scale_up.gb_per_s"))
    outside = np.where(across, real(values, "scale_out.gb_per_s") * rails, np.inf)
    struck_inside = inside / _host_factor(mesh, groups, values)
    return np.minimum(inside, outside), np.minimum(struck_inside, outside / _card_factor(mesh, groups, values))


def _card_factor(mesh: Mesh, groups: np.ndarray, values: Values) -> np.ndarray:
    """How much slower the slowest network card of each group is under the fault."""
    factor = np.ones(mesh.count)
    factor[struck_ranks(mesh, values)] *= real(values, "fault.nic_factor")
    factor[mesh.rail == number(values, "fault.rail")] *= real(values, "fault.rail_factor")
    return factor[groups].max(axis=-1)


def _host_factor(mesh: Mesh, groups: np.ndarray, values: Values) -> np.ndarray:
    """How much slower the links inside the hosts of each group are under the fault, where it uses them."""
    on_host = np.isin(mesh.host, mesh.host[struck_ranks(mesh, values)])
    uses = on_host[groups].sum(axis=-1) > 1
    return np.where(uses, real(values, "fault.scale_up_factor"), 1.0)
