"""GPU kernels, to the llvm and nvvm dialects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import gpu, llvm
from xdsl.dialects.builtin import ModuleOp, UnitAttr, i32, i64
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects import nvvm
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.lowering.to_llvm._conversion import Conversion, fail
from xdsl_tvm.lowering.to_llvm.convert_func_to_llvm import convert_function
from xdsl_tvm.passes.infra import CompilerPass

_READS: dict[type[Operation], dict[str, type[nvvm.SpecialRegisterOp]]] = {
    gpu.ThreadIdOp: {
        "x": nvvm.ThreadIdXOp,
        "y": nvvm.ThreadIdYOp,
        "z": nvvm.ThreadIdZOp,
    },
    gpu.BlockIdOp: {
        "x": nvvm.BlockIdXOp,
        "y": nvvm.BlockIdYOp,
        "z": nvvm.BlockIdZOp,
    },
    gpu.BlockDimOp: {
        "x": nvvm.BlockDimXOp,
        "y": nvvm.BlockDimYOp,
        "z": nvvm.BlockDimZOp,
    },
    gpu.GridDimOp: {
        "x": nvvm.GridDimXOp,
        "y": nvvm.GridDimYOp,
        "z": nvvm.GridDimZOp,
    },
}

_KNOWN_BLOCK_SIZE = "gpu.known_block_size"
_KNOWN_GRID_SIZE = "gpu.known_grid_size"


@dataclass(frozen=True)
class ConvertGPUToNVVM(CompilerPass):
    """Summary: Turns the functions of GPU modules into NVPTX kernels.

    TVM name: none (ours)
    Input form: gpu.module with gpu.func; their bodies may hold any operations
    Output form: no gpu operation inside a gpu.module
    Options: none
    Rewrites:
            gpu.func @k(%a : memref<64xf32, 1>) kernel
                attributes {gpu.known_block_size = array<i32: 64, 1, 1>}
          →
            llvm.func @k(%a : !llvm.ptr<1>)
                attributes {nvvm.kernel, nvvm.maxntid = array<i32: 64, 1, 1>}
            %i = gpu.thread_id x  →  nvvm.read.ptx.sreg.tid.x, zext to i64
            gpu.global_id x       →  block_id * block_dim + thread_id
            gpu.barrier           →  nvvm.barrier0
        Memref arguments are bare pointers in their memory space: 1 is global memory, 3
        shared. Shared tiles are memref.global in memory space 3.
    Leaves alone: everything outside gpu.module, gpu.launch_func among it; operations of
        other dialects, which their own conversions lower
    Errors: gpu operations without a counterpart (gpu.alloc, gpu.all_reduce, …) inside a
        gpu.module; a gpu.func with more than one result
    Attributes: read: gpu.known_block_size; created: nvvm.kernel, nvvm.maxntid; removed:
        gpu.known_block_size, gpu.known_grid_size
    Differs from TVM: TVM writes CUDA C, or LLVM IR with NVPTX intrinsics, directly
    """

    name = "tvm-convert-gpu-to-nvvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        conversion = Conversion()
        for inner in list(op.walk()):
            if isinstance(inner, gpu.ModuleOp):
                for nested in list(inner.walk()):
                    _lower(conversion, nested)
        conversion.finish()


def _lower(conversion: Conversion, op: Operation) -> None:
    if not op.name.startswith("gpu.") or isinstance(op, gpu.ModuleOp):
        return
    if isinstance(op, gpu.FuncOp):
        _lower_function(conversion, op)
        return
    conversion.start(op)
    conversion.replace(op, _lower_body_op(conversion, op))


def _lower_function(conversion: Conversion, op: gpu.FuncOp) -> None:
    attributes = dict(op.attributes)
    block_size = attributes.pop(_KNOWN_BLOCK_SIZE, None)
    attributes.pop(_KNOWN_GRID_SIZE, None)
    # xDSL's gpu.func has no property for them.
    attributes.pop("arg_attrs", None)
    name = attributes.pop("sym_name")
    assert name == op.sym_name
    if op.kernel is not None:
        attributes[nvvm.KERNEL] = UnitAttr()
        if block_size is not None:
            attributes[nvvm.MAXNTID] = block_size
    linkage = "internal" if op.kernel is None else "external"
    new = convert_function(conversion, op, op.sym_name, op.function_type, linkage)
    new.attributes.update(attributes)


def _lower_body_op(conversion: Conversion, op: Operation) -> Sequence[SSAValue]:
    if isinstance(op, gpu.ReturnOp):
        if len(op.operands) > 1:
            raise fail(op, "it returns several values; return at most one scalar")
        operands = conversion.operands(op.operands)
        conversion.insert_op(create(llvm.ReturnOp, operands=operands))
        return ()
    if isinstance(op, gpu.BarrierOp):
        conversion.insert_op(nvvm.Barrier0Op())
        return ()
    if isinstance(op, gpu.LaneIdOp):
        return [_read(conversion, nvvm.LaneIdOp)]
    if isinstance(op, gpu.SubgroupSizeOp):
        return [_read(conversion, nvvm.WarpSizeOp)]
    if isinstance(op, gpu.GlobalIdOp):
        return [_global_id(conversion, op.dimension.data)]
    registers = _READS.get(type(op))
    if registers is None:
        raise fail(op, "NVPTX has no counterpart that this pass knows")
    dimension = op.properties["dimension"]
    assert isinstance(dimension, gpu.DimensionAttr)
    return [_read(conversion, registers[dimension.data])]


def _read(conversion: Conversion, kind: type[nvvm.SpecialRegisterOp]) -> SSAValue:
    register = conversion.emit(kind, [], i32)
    # Thread and block numbers are not negative; zext says so to LLVM.
    return conversion.emit(llvm.ZExtOp, [register], i64)


def _global_id(conversion: Conversion, dimension: str) -> SSAValue:
    block = _read(conversion, _READS[gpu.BlockIdOp][dimension])
    size = _read(conversion, _READS[gpu.BlockDimOp][dimension])
    thread = _read(conversion, _READS[gpu.ThreadIdOp][dimension])
    start = conversion.emit(llvm.MulOp, [block, size], i64)
    return conversion.emit(llvm.AddOp, [start, thread], i64)
