"""Passes over Relax by TVM's names: `relax.transform.LegalizeOps()`.

These are the passes of `xdsl_tvm.passes.relax`, `Sequential` and `PassContext`, and the
patterns that `FuseOpsByPattern` takes.
"""

from collections.abc import Callable

from xdsl_tvm.analysis.relax.dataflow_patterns.fusion import (
    FusionPattern as FusionPattern,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.fusion import (
    PatternCheckContext as PatternCheckContext,
)
from xdsl_tvm.passes import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra import PassContext as PassContext
from xdsl_tvm.passes.infra import Sequential as Sequential
from xdsl_tvm.tvm_words import missing


def __getattr__(name: str) -> Callable[..., CompilerPass]:
    try:
        return getattr(relax, name)
    except AttributeError:
        raise missing("relax.transform", name) from None
