"""Passes over Relax under TVM's names: `relax.LegalizeOps()`.

A pass class is looked up by its name, and its file imported, when it is first used.
"""

from collections.abc import Callable

from xdsl_tvm.passes._compiler_pass import CompilerPass
from xdsl_tvm.passes._sequential import pass_attribute
from xdsl_tvm.passes.infra import (
    DataflowBlockPass,
    FunctionPass,
    dataflowblock_pass,
    function_pass,
)

__all__ = ["DataflowBlockPass", "FunctionPass", "dataflowblock_pass", "function_pass"]


def __getattr__(name: str) -> Callable[..., CompilerPass]:
    return pass_attribute(__name__, "relax", name)
