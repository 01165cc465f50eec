"""The mesh of ranks: coordinates, hosts, and the groups that collectives run in.

Tensor ranks are neighbours, then come data-parallel replicas, then pipeline stages, as Megatron orders them:
rank = (stage x data + replica) x tensor + shard. Experts are spread over neighbouring replicas.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from generators.parameters import Values
from generators.training.parameters import number


@dataclass(frozen=True)
class Mesh:
    """Sizes of the mesh. Groups are arrays of ranks: pipeline stage x group x member."""

    data: int
    tensor: int
    pipeline: int
    expert: int
    ranks_per_host: int

    @property
    def count(self) -> int:
        """Ranks in all."""
        return self.data * self.tensor * self.pipeline

    @property
    def stage_ranks(self) -> int:
        """Ranks of one pipeline stage."""
        return self.data * self.tensor

    @cached_property
    def grid(self) -> np.ndarray:
        """Ranks by pipeline stage, replica and shard."""
        return np.arange(self.count).reshape(self.pipeline, self.data, self.tensor)

    @cached_property
    def stage(self) -> np.ndarray:
        """Pipeline stage of each rank."""
        return np.arange(self.count) // self.stage_ranks

    @cached_property
    def replica(self) -> np.ndarray:
        """Data-parallel replica of each rank."""
        return np.arange(self.count) // self.tensor % self.data

    @cached_property
    def shard(self) -> np.ndarray:
        """Tensor-parallel shard of each rank."""
        return np.arange(self.count) % self.tensor

    @cached_property
    def host(self) -> np.ndarray:
        """Host of each rank."""
        return np.arange(self.count) // self.ranks_per_host

    @cached_property
    def rail(self) -> np.ndarray:
        """Place of each rank in its host: its accelerator, network card and rail."""
        return np.arange(self.count) % self.ranks_per_host

    @cached_property
    def tensor_groups(self) -> np.ndarray:
        """One group a replica."""
        return self.grid

    @cached_property
    def expert_groups(self) -> np.ndarray:
        """One group for every so many neighbouring replicas and every shard."""
        split = self.grid.reshape(self.pipeline, self.data // self.expert, self.expert, self.tensor)
        return np.ascontiguousarray(split.transpose(0, 1, 3, 2).reshape(self.pipeline, -1, self.expert))

    @cached_property
    def data_groups(self) -> np.ndarray:
        """One group a shard."""
        return np.ascontiguousarray(self.grid.transpose(0, 2, 1))

    @cached_property
    def world_groups(self) -> np.ndarray:
        """All ranks."""
        return self.grid.reshape(1, 1, -1)


def mesh_of(values: Values) -> Mesh:
    """The mesh that the parameters ask for."""
    sizes = ("data", "tensor", "pipeline", "expert", "ranks_per_host")
    return Mesh(**{size: number(values, f"mesh.{size}") for size in sizes})


def struck_ranks(mesh: Mesh, values: Values) -> np.ndarray:
    """Which ranks `fault.rank` means, as a mask."""
    rank = number(values, "fault.rank")
    return np.arange(mesh.count) == rank if rank >= 0 else np.ones(mesh.count, bool)
