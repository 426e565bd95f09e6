"""Passes over Relax by TVM's names: `relax.transform.LegalizeOps()`.

These are the passes of `xdsl_tvm.passes.relax`, and `Sequential` and `PassContext`.
"""

from collections.abc import Callable

from xdsl_tvm.passes import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra import PassContext as PassContext
from xdsl_tvm.passes.infra import Sequential as Sequential


def __getattr__(name: str) -> Callable[..., CompilerPass]:
    return getattr(relax, name)
