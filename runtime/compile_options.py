"""What `xdsl_tvm.compile` is asked for, beside the module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl_tvm.lowering.progress import Progress
    from xdsl_tvm.runtime.packed_calls import Externs
    from xdsl_tvm.runtime.pipelines import Pipeline, TargetLike


@dataclass(frozen=True, kw_only=True)
class CompileOptions:
    """The options of `compile`, which says what they mean.

    The start from the cache imports this, so the types are imported for checks alone.
    """

    target: TargetLike | None = None
    relax_pipeline: Pipeline = "default"
    tir_pipeline: Pipeline = "default"
    params: Mapping[str | int, Any] | None = None
    opt_level: int = 2
    optimize: bool = True
    arch: str | None = None
    profile: bool = False
    bound_checks: bool = False
    progress: Progress | None = None
    externs: Externs | None = None
    graphs: bool = False
    fuse_multiply_add: bool = True
    allow_tf32: bool = False
    winograd_tile: int = 2

    @property
    def has_levels_alone(self) -> bool:
        """Whether all but `opt_level` and `optimize` is left at its default."""
        levels = CompileOptions(opt_level=self.opt_level, optimize=self.optimize)
        return self == levels
