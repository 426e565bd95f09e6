"""What every pass of this package is, and how passes are run TVM's way.

`CompilerPass` is the base class of all passes; the rest is the counterpart of TVM's
`tvm.transform` and of the passes that `tvm.tir.transform` and `tvm.relax.transform` make
of Python callables.
"""

from xdsl_tvm.passes._apply_pass_to_function import ApplyPassToFunction
from xdsl_tvm.passes._compiler_pass import CompilerPass
from xdsl_tvm.passes._composite import CompositePass, pipeline_text
from xdsl_tvm.passes._instruments import (
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)
from xdsl_tvm.passes._pass_config import (
    ConfigStruct,
    HoistExpressionConfig,
    HoistIfThenElseConfig,
    InjectDoubleBufferConfig,
    LoopPartitionConfig,
    ReduceBranchingThroughOvercomputeConfig,
    RemoveNoOpConfig,
    SimplifyConfig,
    UnrollLoopConfig,
)
from xdsl_tvm.passes._pass_context import PassContext
from xdsl_tvm.passes._pass_info import PassInfo
from xdsl_tvm.passes._python_passes import (
    Apply,
    Filter,
    PrimFuncPass,
    PrintIR,
    PythonModulePass,
    module_pass,
    prim_func_pass,
)
from xdsl_tvm.passes._relax_python_passes import (
    DataflowBlockPass,
    FunctionPass,
    dataflowblock_pass,
    function_pass,
)
from xdsl_tvm.passes._sequential import Sequential, construct_pass, register_pass
from xdsl_tvm.passes._verification import BrokenIRError, Trail

__all__ = [
    "Apply",
    "ApplyPassToFunction",
    "BrokenIRError",
    "CompilerPass",
    "CompositePass",
    "ConfigStruct",
    "DataflowBlockPass",
    "Filter",
    "FunctionPass",
    "HoistExpressionConfig",
    "HoistIfThenElseConfig",
    "InjectDoubleBufferConfig",
    "LoopPartitionConfig",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrimFuncPass",
    "PrintAfterAll",
    "PrintBeforeAll",
    "PrintIR",
    "PythonModulePass",
    "ReduceBranchingThroughOvercomputeConfig",
    "RemoveNoOpConfig",
    "Sequential",
    "SimplifyConfig",
    "Trail",
    "UnrollLoopConfig",
    "construct_pass",
    "dataflowblock_pass",
    "function_pass",
    "module_pass",
    "pass_instrument",
    "pipeline_text",
    "prim_func_pass",
    "register_pass",
]
