"""TVM's `tvm.transform`: rows of passes, their context, passes made of functions.

    from xdsl_tvm.transform import PassContext, Sequential, module_pass

The rest of `xdsl_tvm.passes.infra` is found here, too.
"""

from typing import Any

from xdsl_tvm.passes import infra
from xdsl_tvm.passes.infra import (
    ApplyPassToFunction,
    CompilerPass,
    PassContext,
    PassInfo,
    PrintIR,
    PythonModulePass,
    Sequential,
    module_pass,
)
from xdsl_tvm.tvm_words import missing

Pass = CompilerPass
"""What all passes are."""
ModulePass = PythonModulePass
"""What `module_pass` makes."""

__all__ = [
    "ApplyPassToFunction",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "module_pass",
]


def __getattr__(name: str) -> Any:
    if name in infra.__all__:
        return getattr(infra, name)
    raise missing("transform", name)
