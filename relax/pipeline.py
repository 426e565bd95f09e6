"""TVM's pipelines of Relax passes by their names: `relax.get_pipeline("zero")(mod)`."""

from __future__ import annotations

from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.default_pipeline import ROWS, DefaultPipeline


def get_pipeline(name: str = "zero") -> CompilerPass:
    """The passes `zero`, up to fused kernels, or `default_build`, without fusion.

    TVM's `relax.get_pipeline`. Both are `relax-default-pipeline`, whose page says what
    they lack. Raises ValueError for another name.
    """
    if name not in ROWS:
        raise ValueError(f"there is no pipeline '{name}'; use one of {', '.join(ROWS)}")
    return DefaultPipeline(pipeline=name)


def get_default_pipeline(target: str = "llvm") -> CompilerPass:
    """The passes for a target, a CPU in a form that `Target.parse` reads.

    TVM's `relax.get_default_pipeline`, which `xdsl_tvm.compile` runs. The pass raises
    PassFailedException for other targets.
    """
    return DefaultPipeline(target=target)
