"""Passes over TIR and Relax, and TVM's way of running them.

The passes themselves are in `tir` and `relax`, each loaded when it is first used.
"""

from xdsl_tvm.passes import relax, tir
from xdsl_tvm.passes.infra import (
    ApplyPassToFunction,
    CompilerPass,
    PassContext,
    PassInfo,
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    PrintIR,
    Sequential,
    module_pass,
    pass_instrument,
    register_pass,
)

__all__ = [
    "ApplyPassToFunction",
    "CompilerPass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "PrintIR",
    "Sequential",
    "module_pass",
    "pass_instrument",
    "register_pass",
    "relax",
    "tir",
]
