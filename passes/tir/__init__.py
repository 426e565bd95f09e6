"""Passes over TIR under TVM's names: `tir.LowerInitBlock()`.

A pass class is looked up by its name, and its file imported, when it is first used.
"""

from xdsl_tvm.passes._sequential import PassFamily
from xdsl_tvm.passes.infra import Apply, Filter, PrimFuncPass, prim_func_pass

__all__ = ["Apply", "Filter", "PrimFuncPass", "prim_func_pass"]

__getattr__ = PassFamily(__name__, "tir")
