"""TVM's `relax.build` and `tir.build`: other doors to `compile`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl_tvm.runtime.compile import compile
from xdsl_tvm.runtime.executable_base import Executable
from xdsl_tvm.runtime.load import Source
from xdsl_tvm.runtime.pipelines import Pipeline, TargetLike


def build_relax(
    mod: Source,
    target: TargetLike | None = None,
    params: Mapping[str | int, Any] | None = None,
    relax_pipeline: Pipeline = "default",
    tir_pipeline: Pipeline = "default",
    exec_mode: str = "bytecode",
    *,
    system_lib: bool | None = None,
) -> Executable:
    """Compile a module of Relax functions, for `VirtualMachine`.

    Whatever `exec_mode` is, there is machine code and no bytecode. Raises ValueError for
    another one than `bytecode` and `compiled`, and for a system library, and what
    `compile` raises.
    """
    if exec_mode not in ("bytecode", "compiled"):
        raise ValueError(
            f"relax.build: exec_mode is bytecode or compiled, not '{exec_mode}'"
        )
    if system_lib:
        raise ValueError(
            "relax.build: there are no system libraries; leave out system_lib, and write "
            "an object file by object_file"
        )
    return compile(
        mod,
        target,
        params=params,
        relax_pipeline=relax_pipeline,
        tir_pipeline=tir_pipeline,
    )


def build_tir(
    mod: Source, target: TargetLike | None = None, pipeline: Pipeline = "default"
) -> Executable:
    """Compile a function or a module of TIR functions. Raises what `compile` raises."""
    return compile(mod, target, tir_pipeline=pipeline)
