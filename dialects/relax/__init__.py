"""Relax: graphs of tensor operators, TVM's high-level IR.

Tensors are builtin tensors whose encoding names symbolic dimensions, so Relax operations
mix with those of other dialects. `symbolic` holds the dimensions, `types` and `algebra`
the types and their lattice, `operators` the conventions of inference; the operations
are in one module per family.
"""

from xdsl.ir import Dialect

from xdsl_tvm.dialects.relax import (
    calls,
    elementwise,
    functions,
    linear_algebra,
    manipulate,
    memory,
    nn,
    reductions,
    values,
    vm,
)
from xdsl_tvm.dialects.relax.algebra import (
    Check,
    base_check,
    common_base,
    erase_symbols,
    infer_call,
    is_base_of,
)
from xdsl_tvm.dialects.relax.attributes import (
    ATTRIBUTES,
    DimAttr,
    DimsAttr,
    PlacedAttr,
    SymbolsAttr,
    VDeviceAttr,
)
from xdsl_tvm.dialects.relax.calls import CallOp, CallTIROp, MayBeImpure, is_impure
from xdsl_tvm.dialects.relax.elementwise import (
    AddOp,
    BinaryOperatorOp,
    DivideOp,
    MultiplyOp,
    SubtractOp,
    UnaryOperatorOp,
)
from xdsl_tvm.dialects.relax.functions import (
    FORCE_PURE,
    DataflowOp,
    FuncOp,
    IfOp,
    OutputOp,
    ReturnOp,
    YieldOp,
)
from xdsl_tvm.dialects.relax.linear_algebra import MatmulOp
from xdsl_tvm.dialects.relax.manipulate import PermuteDimsOp, ReshapeOp, reshape_dims
from xdsl_tvm.dialects.relax.memory import (
    AllocStorageOp,
    AllocTensorFromStorageOp,
    AllocTensorOp,
    EnsureZeroOffsetOp,
    KillStorageOp,
    KillTensorOp,
    ViewOp,
)
from xdsl_tvm.dialects.relax.nn import GeluOp, LayerNormOp, ReluOp, SoftmaxOp
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.reductions import MaxOp, MeanOp, ReductionOp, SumOp
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import (
    ANY,
    OBJECT,
    TYPES,
    VOID,
    AnyType,
    FuncType,
    ObjectType,
    PrimType,
    ShapeType,
    TensorInfo,
    TupleType,
)
from xdsl_tvm.dialects.relax.values import (
    AliasOp,
    ConstantOp,
    GetItemOp,
    MatchCastOp,
    PrimValueOp,
    ShapeOp,
    TupleOp,
)
from xdsl_tvm.dialects.relax.vm import (
    VMAllocStorageOp,
    VMAllocTensorOp,
    VMCallTIRDynOp,
    VMKillObjectOp,
)

Relax = Dialect(
    "relax",
    [
        *functions.OPS,
        *values.OPS,
        *calls.OPS,
        *memory.OPS,
        *vm.OPS,
        *elementwise.OPS,
        *linear_algebra.OPS,
        *manipulate.OPS,
        *nn.OPS,
        *reductions.OPS,
    ],
    [*ATTRIBUTES, *TYPES],
)

__all__ = [
    "ANY",
    "FORCE_PURE",
    "OBJECT",
    "VOID",
    "AddOp",
    "AliasOp",
    "AllocStorageOp",
    "AllocTensorFromStorageOp",
    "AllocTensorOp",
    "AnyType",
    "BinaryOperatorOp",
    "CallOp",
    "CallTIROp",
    "Check",
    "ConstantOp",
    "DataflowOp",
    "Dim",
    "DimAttr",
    "DimsAttr",
    "DivideOp",
    "EnsureZeroOffsetOp",
    "FuncOp",
    "FuncType",
    "GeluOp",
    "GetItemOp",
    "IfOp",
    "KillStorageOp",
    "KillTensorOp",
    "LayerNormOp",
    "MatchCastOp",
    "MatmulOp",
    "MaxOp",
    "MayBeImpure",
    "MeanOp",
    "MultiplyOp",
    "ObjectType",
    "OperatorOp",
    "OutputOp",
    "PermuteDimsOp",
    "PlacedAttr",
    "PrimType",
    "PrimValueOp",
    "ReductionOp",
    "Relax",
    "ReluOp",
    "ReshapeOp",
    "ReturnOp",
    "ShapeOp",
    "ShapeType",
    "SoftmaxOp",
    "SubtractOp",
    "SumOp",
    "SymbolsAttr",
    "TensorInfo",
    "TupleOp",
    "TupleType",
    "UnaryOperatorOp",
    "VDeviceAttr",
    "VMAllocStorageOp",
    "VMAllocTensorOp",
    "VMCallTIRDynOp",
    "VMKillObjectOp",
    "ViewOp",
    "YieldOp",
    "base_check",
    "common_base",
    "erase_symbols",
    "infer_call",
    "is_base_of",
    "is_impure",
    "reshape_dims",
]
