"""What every pass of this package is, and how passes are run TVM's way.

`CompilerPass` is the base class of all passes; the rest is the counterpart of TVM's
`tvm.transform` and of the passes that `tvm.tir.transform` and `tvm.relax.transform` make
of Python callables.
"""

from xdsl_tvm.passes.infra.apply_pass_to_function import ApplyPassToFunction
from xdsl_tvm.passes.infra.compiler_pass import CompilerPass
from xdsl_tvm.passes.infra.composite import CompositePass, pipeline_text, written_out
from xdsl_tvm.passes.infra.instruments import (
    DumpIR,
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)
from xdsl_tvm.passes.infra.pass_config import (
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
from xdsl_tvm.passes.infra.pass_context import PassContext
from xdsl_tvm.passes.infra.pass_info import PassInfo
from xdsl_tvm.passes.infra.python_passes import (
    Apply,
    Filter,
    PrimFuncPass,
    PrintIR,
    PythonModulePass,
    module_pass,
    prim_func_pass,
)
from xdsl_tvm.passes.infra.relax_python_passes import (
    DataflowBlockPass,
    FunctionPass,
    dataflowblock_pass,
    function_pass,
)
from xdsl_tvm.passes.infra.sequential import Sequential, construct_pass, register_pass
from xdsl_tvm.passes.infra.verification import BrokenIRError, Trail

__all__ = [
    "Apply",
    "ApplyPassToFunction",
    "BrokenIRError",
    "CompilerPass",
    "CompositePass",
    "ConfigStruct",
    "DataflowBlockPass",
    "DumpIR",
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
    "written_out",
]
