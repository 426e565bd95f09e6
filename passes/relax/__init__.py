"""Passes over Relax under TVM's names: `relax.LegalizeOps()`.

A pass class is looked up by its name, and its file imported, when it is first used.
"""

from collections.abc import Callable

from xdsl_tvm.passes.infra import (
    DataflowBlockPass,
    FunctionPass,
    dataflowblock_pass,
    function_pass,
)
from xdsl_tvm.passes.infra.compiler_pass import CompilerPass
from xdsl_tvm.passes.infra.sequential import pass_attribute

__all__ = ["DataflowBlockPass", "FunctionPass", "dataflowblock_pass", "function_pass"]


_FORMER = {"VMBuiltinLower": "LowerRuntimeBuiltin"}
"""Names that TVM has for passes besides those of their classes."""


def __getattr__(name: str) -> Callable[..., CompilerPass]:
    return pass_attribute(__name__, "relax", _FORMER.get(name, name))
