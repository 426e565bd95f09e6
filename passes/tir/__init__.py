"""Passes over TIR under TVM's names: `tir.LowerInitBlock()`.

A pass class is looked up by its name, and its file imported, when it is first used.
"""

from collections.abc import Callable

from xdsl_tvm.passes.infra import Apply, Filter, PrimFuncPass, prim_func_pass
from xdsl_tvm.passes.infra.compiler_pass import CompilerPass
from xdsl_tvm.passes.infra.sequential import pass_attribute
from xdsl_tvm.passes.tir._hoist.flags import HoistedConditionals, HoistedLetBindings

__all__ = [
    "Apply",
    "Filter",
    "HoistedConditionals",
    "HoistedLetBindings",
    "PrimFuncPass",
    "prim_func_pass",
]


def __getattr__(name: str) -> Callable[..., CompilerPass]:
    return pass_attribute(__name__, "tir", name)
