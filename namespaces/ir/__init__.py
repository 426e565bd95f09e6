"""TVM's `tvm.ir`: modules, references to functions, structural equality.

from xdsl_tvm.ir import IRModule, assert_structural_equal
"""

from typing import NoReturn

from xdsl_tvm.analysis.structural_equal import (
    assert_structural_equal,
    structural_equal,
    structural_hash,
)
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.dialects.relax import VDeviceAttr as VDevice
from xdsl_tvm.dialects.tir.base_func import BaseFunc
from xdsl_tvm.dialects.tir.module import DummyGlobalInfoAttr as DummyGlobalInfo
from xdsl_tvm.ir import instrument, transform
from xdsl_tvm.passes.tir.intrinsics import register_intrin_lowering
from xdsl_tvm.tvm_words import missing
from xdsl_tvm.tvmscript.tir import Range

Array = tuple
"""What functions return several values in: tuples of Python."""
Map = dict
"""What maps names to functions or values: dictionaries of Python."""

__all__ = [
    "Array",
    "BaseFunc",
    "DummyGlobalInfo",
    "GlobalVar",
    "IRModule",
    "Map",
    "Range",
    "VDevice",
    "assert_structural_equal",
    "instrument",
    "register_intrin_lowering",
    "structural_equal",
    "structural_hash",
    "transform",
]


def __getattr__(name: str) -> NoReturn:
    raise missing("ir", name)
