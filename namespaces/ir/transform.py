"""TVM's `tvm.ir.transform`, which is `tvm.transform`."""

from xdsl_tvm.transform import (
    ApplyPassToFunction as ApplyPassToFunction,
)
from xdsl_tvm.transform import ModulePass as ModulePass
from xdsl_tvm.transform import Pass as Pass
from xdsl_tvm.transform import PassContext as PassContext
from xdsl_tvm.transform import PassInfo as PassInfo
from xdsl_tvm.transform import PrintIR as PrintIR
from xdsl_tvm.transform import Sequential as Sequential
from xdsl_tvm.transform import module_pass as module_pass
