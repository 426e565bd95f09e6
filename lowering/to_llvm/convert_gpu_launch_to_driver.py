"""Host code of GPU kernels to calls of the CUDA driver."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypedDict, cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, func, gpu, llvm, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.all_ops import all_ops, all_values
from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.lowering.relax.conversion.packed_call import CALL_PACKED
from xdsl_tvm.lowering.runtime_symbols import DRIVER_FAILED, OUT_OF_MEMORY, failed_number
from xdsl_tvm.lowering.tir.conversion.loop_profile import (
    bytes_attribute,
    parsed_functions,
    public_global,
)
from xdsl_tvm.lowering.tir.conversion.types import (
    GLOBAL_SPACE,
    AnyMemRef,
    element_bytes,
    product,
)
from xdsl_tvm.lowering.to_llvm._conversion import fail
from xdsl_tvm.lowering.to_llvm._device_memory import ALLOCATE, FREE, ON_DEVICE
from xdsl_tvm.passes.infra import CompilerPass

STREAM: Final = "tvm_gpu_stream"
"""The global with the handle of the stream that calls use."""
MANIFEST: Final = "tvm_gpu_manifest"
"""The global with a text in JSON that says what the runtime has to fill in: `kernels`,
each with whether launches give it dynamic shared memory, `constants`, each with its
bytes, and `host_access`, the functions whose host code reads or writes elements, itself
or by a function that it calls."""
_COPY: Final = "tvm_gpu_copy"
_READ: Final = "tvm_gpu_read"
_WRITE: Final = "tvm_gpu_write"
_LAUNCH: Final = "tvm_gpu_launch"
_SIZES: Final = ("gx", "gy", "gz", "bx", "by", "bz")
_TENSOR_MAP: Final = "tvm_gpu_tensor_map"
_MAP_SLOTS: Final = 32
"""The slots of a tensor map, of 8 bytes: 16 of it, then what it was made of: an address,
5 extents, 4 strides, and the extents of a box and steps in it, 4 bytes each."""
_MAP_ALIGNMENT: Final = 64
_KEY: Final = 16
_KEY_SLOTS: Final = 10
_BOX: Final = 26
_TENSOR_TYPES: Final[Mapping[Attribute, int]] = {
    i8: 0,
    i16: 1,
    i32: 3,
    i64: 5,
    f16: 6,
    f32: 7,
    f64: 8,
    bf16: 9,
}
"""The numbers of the driver for elements of tensors."""
_INDEX: Final = IndexType()
_POINTER: Final = llvm.LLVMPointerType()
_SLOT: Final = 8


class KernelEntry(TypedDict):
    """A kernel of the manifest."""

    name: str
    dynamic: bool


class ConstantEntry(TypedDict):
    """A constant of the manifest."""

    name: str
    bytes: int


class Manifest(TypedDict):
    """What the runtime has to fill in."""

    kernels: list[KernelEntry]
    constants: list[ConstantEntry]
    host_access: list[str]


def manifest_of(module: ModuleOp) -> bytes:
    """The text of the manifest of lowered host code."""
    for op in module.body.ops:
        if isinstance(op, llvm.GlobalOp) and op.sym_name.data == MANIFEST:
            value = op.value
            assert isinstance(value, DenseIntOrFPElementsAttr), "of bytes"
            return value.data.data.rstrip(b"\0")
    raise ValueError("the module is no lowered host code")


def kernel_handle(name: str) -> str:
    """The global for the handle of a kernel."""
    return f"tvm_gpu_kernel_{name}"


def constant_address(name: str) -> str:
    """The global for the address of a constant on the GPU."""
    return f"tvm_gpu_constant_{name}"


def _each(text: str, separator: str = ", ") -> str:
    return separator.join(text.format(size) for size in _SIZES)


_STREAM_TEXT: Final = f"""
  %stream_address = llvm.mlir.addressof @{STREAM} : !llvm.ptr
  %stream = llvm.load %stream_address : !llvm.ptr -> i64
"""


def _transfer(name: str, copy: str) -> str:
    """A copy from or to the host, which is done when the function returns.

    The driver waits for most copies of other memory than pinned one, and does not say so
    for all: memory of the stack is gone when the caller returns.
    """
    return f"""
func.func private @{name}(%to: !llvm.ptr, %from: !llvm.ptr, %size: i64) -> i64 {{
  {_STREAM_TEXT}
  %zero = arith.constant 0 : i32
  %copied = func.call @{copy}(%to, %from, %size, %stream)
    : (!llvm.ptr, !llvm.ptr, i64, i64) -> i32
  %is_under_way = arith.cmpi eq, %copied, %zero : i32
  %status = scf.if %is_under_way -> (i32) {{
    %waited = func.call @cuStreamSynchronize(%stream) : (i64) -> i32
    scf.yield %waited : i32
  }} else {{
    scf.yield %copied : i32
  }}
  %result = arith.extui %status : i32 to i64
  func.return %result : i64
}}"""


_SUPPORT: Final = (
    f"""
func.func private @cuLaunchKernel(i64, {_each("i32")}, i32, i64, !llvm.ptr, i64) -> i32
func.func private @cuMemAllocAsync(!llvm.ptr, i64, i64) -> i32
func.func private @cuMemFreeAsync(!llvm.ptr, i64) -> i32
func.func private @cuMemcpyDtoDAsync_v2(!llvm.ptr, !llvm.ptr, i64, i64) -> i32
func.func private @cuMemcpyDtoHAsync_v2(!llvm.ptr, !llvm.ptr, i64, i64) -> i32
func.func private @cuMemcpyHtoDAsync_v2(!llvm.ptr, !llvm.ptr, i64, i64) -> i32
func.func private @cuStreamSynchronize(i64) -> i32
func.func private @cuTensorMapEncodeTiled(!llvm.ptr, i32, i32, i64, !llvm.ptr, !llvm.ptr,
  !llvm.ptr, !llvm.ptr, i32, i32, i32, i32) -> i32
func.func private @{_TENSOR_MAP}(%map: !llvm.ptr, %key: !llvm.ptr, %dtype: i32,
    %rank: i32, %swizzle: i32) -> i64 {{
  %zero = arith.constant 0 : i64
  %none = arith.constant 0 : i32
  %promotion = arith.constant 2 : i32
  %from = arith.constant 0 : index
  %to = arith.constant {_KEY_SLOTS} : index
  %step = arith.constant 1 : index
  %held = llvm.getelementptr %map[{_KEY}] : (!llvm.ptr) -> !llvm.ptr, i64
  %true = arith.constant true
  %known = scf.for %slot = %from to %to step %step iter_args(%same = %true) -> (i1) {{
    %place = arith.index_cast %slot : index to i64
    %new_at = llvm.getelementptr %key[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %old_at = llvm.getelementptr %held[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %new = llvm.load %new_at : !llvm.ptr -> i64
    %old = llvm.load %old_at : !llvm.ptr -> i64
    llvm.store %new, %old_at : i64, !llvm.ptr
    %equal = arith.cmpi eq, %new, %old : i64
    %both = arith.andi %same, %equal : i1
    scf.yield %both : i1
  }}
  %result = scf.if %known -> (i64) {{
    scf.yield %zero : i64
  }} else {{
    %address = llvm.load %held : !llvm.ptr -> i64
    %extents = llvm.getelementptr %held[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %strides = llvm.getelementptr %held[6] : (!llvm.ptr) -> !llvm.ptr, i64
    %box = llvm.getelementptr %map[{_BOX}] : (!llvm.ptr) -> !llvm.ptr, i64
    %steps = llvm.getelementptr %map[{_BOX + 3}] : (!llvm.ptr) -> !llvm.ptr, i64
    %status = func.call @cuTensorMapEncodeTiled(%map, %dtype, %rank, %address, %extents,
      %strides, %box, %steps, %none, %swizzle, %promotion, %none) : (!llvm.ptr, i32, i32,
      i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i32, i32, i32) -> i32
    %wide = arith.extui %status : i32 to i64
    %failed = arith.cmpi ne, %wide, %zero : i64
    scf.if %failed {{
      llvm.store %zero, %held : i64, !llvm.ptr
    }}
    scf.yield %wide : i64
  }}
  func.return %result : i64
}}
func.func private @{ALLOCATE}(%size: i64) -> !llvm.ptr {{
  {_STREAM_TEXT}
  %one = llvm.mlir.constant(1 : i64) : i64
  %place = llvm.alloca %one x i64 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr
  %zero = arith.constant 0 : i64
  llvm.store %zero, %place : i64, !llvm.ptr
  %is_empty = arith.cmpi eq, %size, %zero : i64
  %bytes = arith.select %is_empty, %one, %size : i64
  %status = func.call @cuMemAllocAsync(%place, %bytes, %stream)
    : (!llvm.ptr, i64, i64) -> i32
  %address = llvm.load %place : !llvm.ptr -> i64
  %memory = llvm.inttoptr %address : i64 to !llvm.ptr
  func.return %memory : !llvm.ptr
}}
func.func private @{FREE}(%memory: !llvm.ptr) {{
  {_STREAM_TEXT}
  %address = llvm.ptrtoint %memory : !llvm.ptr to i64
  %zero = arith.constant 0 : i64
  %exists = arith.cmpi ne, %address, %zero : i64
  scf.if %exists {{
    %status = func.call @cuMemFreeAsync(%memory, %stream) : (!llvm.ptr, i64) -> i32
  }}
  func.return
}}
func.func private @{_COPY}(%to: !llvm.ptr, %from: !llvm.ptr, %size: i64) -> i64 {{
  {_STREAM_TEXT}
  %zero = arith.constant 0 : i64
  %is_empty = arith.cmpi eq, %size, %zero : i64
  %result = scf.if %is_empty -> (i64) {{
    scf.yield %zero : i64
  }} else {{
    %status = func.call @cuMemcpyDtoDAsync_v2(%to, %from, %size, %stream)
      : (!llvm.ptr, !llvm.ptr, i64, i64) -> i32
    %wide = arith.extui %status : i32 to i64
    scf.yield %wide : i64
  }}
  func.return %result : i64
}}
{_transfer(_READ, "cuMemcpyDtoHAsync_v2")}
{_transfer(_WRITE, "cuMemcpyHtoDAsync_v2")}
func.func private @{_LAUNCH}(%kernel: i64, {_each("%{}: i64")}, %shared: i32,
    %arguments: !llvm.ptr) -> i64 {{
  {_STREAM_TEXT}
  %zero = arith.constant 0 : i64
  %most = arith.constant 2147483647 : i64
  %invalid = arith.constant 1 : i64
  %false = arith.constant false
  %large0 = arith.ori %false, %false : i1
  %none0 = arith.ori %false, %false : i1
"""
    + "".join(
        f"""
  %is_large{at} = arith.cmpi ugt, %{size}, %most : i64
  %large{at + 1} = arith.ori %large{at}, %is_large{at} : i1
  %is_none{at} = arith.cmpi eq, %{size}, %zero : i64
  %none{at + 1} = arith.ori %none{at}, %is_none{at} : i1
  %{size}32 = arith.trunci %{size} : i64 to i32
"""
        for at, size in enumerate(_SIZES)
    )
    + f"""
  %no_launch = arith.ori %none{len(_SIZES)}, %large{len(_SIZES)} : i1
  %result = scf.if %no_launch -> (i64) {{
    %status = arith.select %none{len(_SIZES)}, %zero, %invalid : i64
    scf.yield %status : i64
  }} else {{
    %status = func.call @cuLaunchKernel(%kernel, {_each("%{}32")}, %shared, %stream,
      %arguments, %zero) : (i64, {_each("i32")}, i32, i64, !llvm.ptr, i64) -> i32
    %wide = arith.extui %status : i32 to i64
    scf.yield %wide : i64
  }}
  func.return %result : i64
}}
"""
)


@dataclass(frozen=True)
class ConvertGPULaunchToDriver(CompilerPass):
    """Summary: Turns host functions that launch kernels into functions that call the
        CUDA driver.

    TVM name: none (ours)
    Input form: func.func with gpu.launch_func, gpu.alloc, gpu.dealloc, gpu.memcpy and
        tvm_llvm.tensor_map, and memref.copy from and to memory of the host; memory of
        the GPU is memref<…, 1>, also a memref.global with contents
    Output form: no operations of the gpu dialect in func.func, and memrefs without a
        memory space; what tvm-convert-scf-to-cf and the passes after it take
    Options: none
    Rewrites: a launch → its arguments are stored on the stack, and cuLaunchKernel gets
        the handle in a global, sizes, bytes of shared memory, the stream in a global,
        and the addresses of the arguments
            gpu.launch_func @kernels::@k (…) (%a)
          →
            llvm.mlir.global weak @tvm_gpu_kernel_k(0 : i64) : i64
            %status = func.call @tvm_gpu_launch(%k, …, %arguments)
            cf.assert %launched, "the GPU driver: kernel @k is not launched: {…}"
        gpu.alloc → memref.alloc with `tvm.on_device`, which becomes a call of
        tvm_gpu_alloc, and an assertion that there is memory; gpu.dealloc → memref.dealloc
        with `tvm.on_device`; gpu.memcpy → tvm_gpu_copy; memref.copy from the GPU to
        memory of the host → tvm_gpu_read, and the other way → tvm_gpu_write; both wait
        until the work of the stream is done. These functions are added; they call
        cuMemAllocAsync, cuMemFreeAsync, cuMemcpyDtoDAsync, cuMemcpyDtoHAsync,
        cuMemcpyHtoDAsync and cuStreamSynchronize. memref.get_global of memory of the GPU
        → the address in the global tvm_gpu_constant_NAME; its contents
        become those of a public global of the host. tvm_llvm.tensor_map → a global of
        128 bytes, aligned to 64, that tvm_gpu_tensor_map has cuTensorMapEncodeTiled fill
        where the address, extents or strides are other ones than in the call before; a
        launch gets the address of it as that of the argument. Assertions before that say
        what a tensor map cannot tell of. The global tvm_gpu_manifest names
        kernels, constants, and functions that read or write elements by such copies, or
        call one that does. Nothing is launched for an extent of 0. Time is linear in
        the size of the module.
    Leaves alone: GPU modules; functions without memory of the GPU and launches
    Errors: reads and writes of memory of the GPU by the host, other than by memref.copy
        to and from memory of its own; copies of what is not compact; asynchronous
        launches, clusters, and other operations of the gpu dialect; a tensor map of
        elements that the driver has no type for; a memref.global of
        the GPU without contents; a symbol that the pass adds and the module has
    Attributes: read: none; created: `tvm.on_device`; removed: gpu.container_module
    Differs from TVM: TVM launches kernels through packed functions of its runtime
    """

    name = "tvm-convert-gpu-launch-to-driver"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.body.ops if isinstance(each, func.FuncOp)]
        code = _HostCode(op)
        for each in functions:
            code.convert(each)
        code.finish()


_OF_DEVICE: Final = (
    memref.CastOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.ViewOp,
    memref.DimOp,
    memref.ExpandShapeOp,
    memref.CollapseShapeOp,
    UnrealizedConversionCastOp,
    arith.SelectOp,
    func.CallOp,
    func.ReturnOp,
    scf.IfOp,
    scf.YieldOp,
    scf.ForOp,
    scf.WhileOp,
    scf.ConditionOp,
    cf.BranchOp,
    cf.ConditionalBranchOp,
)
"""Operations that name memory of the GPU, and leave its elements alone."""


def is_on_device(dtype: Attribute) -> bool:
    """Whether a type is that of memory of the GPU."""
    if not isinstance(dtype, MemRefType):
        return False
    space = cast(AnyMemRef, dtype).memory_space
    return isinstance(space, IntegerAttr) and space.value.data == GLOBAL_SPACE


def _on_host(dtype: Attribute) -> Attribute:
    """The type without the memory space of the GPU."""
    if not is_on_device(dtype):
        return dtype
    found = cast(AnyMemRef, dtype)
    return MemRefType(found.element_type, found.shape, found.layout, NoneAttr())


_Rule: TypeAlias = "Callable[[_HostCode, Operation], None]"


class _HostCode:
    """The host functions of a module."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._kernels: dict[str, bool] = {}
        self._constants: dict[str, int] = {}
        self._host_access: set[str] = set()
        self._callers: dict[str, set[str]] = {}
        """By the name of a function, those that call it."""
        self._at = LocatedBuilder()
        self._function = ""
        self._is_needed = False
        self._maps: set[SSAValue] = set()
        """The addresses of tensor maps."""
        self._storage: list[Operation] = []
        """Their memory."""

    def convert(self, function: func.FuncOp) -> None:
        """Convert a function, which may be a declaration."""
        self._function = function.sym_name.data
        launches: list[gpu.LaunchFuncOp] = []
        ops = all_ops(function)
        self._is_needed |= any(op.name.startswith("gpu.") for op in ops)
        for op in ops:
            if isinstance(op, func.CallOp):
                callee = op.callee.string_value()
                self._callers.setdefault(callee, set()).add(self._function)
                if callee == CALL_PACKED:
                    # What Python does cannot be part of a graph.
                    self._host_access.add(self._function)
            if isinstance(op, gpu.LaunchFuncOp):
                launches.append(op)
            elif (rule := _RULES.get(type(op))) is not None:
                self._at.start(op)
                rule(self, op)
            elif op.name.startswith("gpu."):
                raise fail(op, "host code cannot do it; use a kernel")
            elif not isinstance(op, _OF_DEVICE) and _touches_device(op):
                raise fail(
                    op,
                    "the host cannot read or write memory of the GPU; do it in a kernel, "
                    "or copy it to memory of the host by memref.copy",
                )
        if launches:
            self._launches(function, launches)
        self._is_needed |= _move_to_host(function)

    def finish(self) -> None:
        """Add the globals and the functions that host code needs."""
        globals_ = [
            op
            for op in self._module.body.ops
            if isinstance(op, memref.GlobalOp) and is_on_device(op.type)
        ]
        if not globals_ and not self._is_needed:
            return
        for op in globals_:
            self._constant(op)
        names = [
            STREAM,
            *map(kernel_handle, self._kernels),
            *map(constant_address, self._constants),
        ]
        text: Manifest = {
            "kernels": [
                {"name": name, "dynamic": dynamic}
                for name, dynamic in self._kernels.items()
            ],
            "constants": [
                {"name": name, "bytes": size} for name, size in self._constants.items()
            ],
            "host_access": sorted(self._with_callers(self._host_access)),
        }
        data = bytes_attribute(json.dumps(text).encode() + b"\0")
        added: list[Operation] = [public_global(MANIFEST, data, i8)]
        added += [
            llvm.GlobalOp(i64, name, "weak", value=IntegerAttr(0, i64)) for name in names
        ]
        added.append(
            llvm.GlobalOp(i64, failed_number(0), "weak", value=IntegerAttr(0, i64))
        )
        added += self._storage
        added += parsed_functions(_SUPPORT)
        known = {
            symbol.data: op
            for op in self._module.body.ops
            if isinstance(symbol := op.properties.get("sym_name"), StringAttr)
        }
        for op in added:
            name = cast(StringAttr, op.properties["sym_name"]).data
            if name not in known:
                self._module.body.block.add_op(op)
            elif not isinstance(known[name], llvm.GlobalOp):
                raise fail(known[name], f"the symbol '{name}' is taken; rename it")
        self._module.attributes.pop("gpu.container_module", None)

    def _with_callers(self, names: set[str]) -> set[str]:
        """Functions, and those that call one of them, directly or not."""
        found, pending = set(names), list(names)
        while pending:
            new = self._callers.get(pending.pop(), set()) - found
            found |= new
            pending += new
        return found

    # ---- launches ----

    def _launches(self, function: func.FuncOp, launches: list[gpu.LaunchFuncOp]) -> None:
        """Give the function room for arguments, and let it launch."""
        entry = function.body.blocks[0]
        first = entry.first_op
        assert first is not None, "a function ends with a terminator"
        count = max(len(op.kernelOperands) for op in launches)
        at = LocatedBuilder(first, function)
        size = at.insert(llvm.ConstantOp(IntegerAttr(max(count, 1), i64), i64))
        values = at.insert(llvm.AllocaOp(size, i64, _SLOT))
        pointers = at.insert(llvm.AllocaOp(size, i64, _SLOT))
        places = [_element(at, values, position) for position in range(count)]
        for position, place in enumerate(places):
            at.insert_op(llvm.StoreOp(place, _element(at, pointers, position)))
        mapped = {
            position
            for op in launches
            for position, value in enumerate(op.kernelOperands)
            if value in self._maps
        }
        for op in launches:
            self._at.start(op)
            for position in mapped:
                self._point(op, position, places, pointers)
            self._launch(op, places, pointers)

    def _point(
        self,
        op: gpu.LaunchFuncOp,
        position: int,
        places: list[SSAValue],
        pointers: SSAValue,
    ) -> None:
        """Let an argument that is a tensor map in some launch be where it is in this."""
        if position >= len(op.kernelOperands):
            return
        value = op.kernelOperands[position]
        place = value if value in self._maps else places[position]
        address = _element(self._at, pointers, position)
        self._at.insert_op(llvm.StoreOp(place, address))

    def _launch(
        self, op: gpu.LaunchFuncOp, places: list[SSAValue], pointers: SSAValue
    ) -> None:
        if op.asyncDependencies or op.asyncToken is not None:
            raise fail(op, "it is asynchronous; all launches are on one stream")
        if op.clusterSizeX is not None:
            raise fail(op, "clusters of blocks cannot be launched yet")
        for value, place in zip(op.kernelOperands, places, strict=False):
            if value in self._maps:
                continue
            self._at.insert_op(llvm.StoreOp(self._passed(op, value), place))
        name = op.kernel.nested_references.data[-1].data
        dynamic = op.dynamicSharedMemorySize
        self._kernels[name] = self._kernels.get(name, False) or dynamic is not None
        sizes = (
            op.gridSizeX,
            op.gridSizeY,
            op.gridSizeZ,
            op.blockSizeX,
            op.blockSizeY,
            op.blockSizeZ,
        )
        arguments = [
            self._global(kernel_handle(name)),
            *(self._at.emit(arith.IndexCastOp, [size], i64) for size in sizes),
            self._constant_value(0, i32) if dynamic is None else dynamic,
            pointers,
        ]
        call = func.CallOp(_LAUNCH, arguments, [i64])
        self._require_success(self._at.insert(call), f"kernel @{name} was not launched")
        Rewriter.erase_op(op)

    def _passed(self, op: Operation, value: SSAValue) -> SSAValue:
        """What is stored for an argument: an address, or a number of whole bytes."""
        if isinstance(value.type, MemRefType):
            return self._address(value)
        if value.type == _INDEX:
            return self._at.emit(arith.IndexCastOp, [value], i64)
        if value.type == i1:
            return self._at.emit(arith.ExtUIOp, [value], i8)
        return value

    def _require_success(self, status: SSAValue, what: str) -> None:
        place = self._at.insert(llvm.AddressOfOp(failed_number(0), _POINTER))
        self._at.insert_op(llvm.StoreOp(status, place))
        zero = self._constant_value(0, i64)
        done = self._at.insert(arith.CmpiOp(status, zero, "eq"))
        message = f"{DRIVER_FAILED}{what}: {{{failed_number(0)}}}"
        self._at.insert_op(cf.AssertOp(done, message))

    # ---- memory ----

    def allocate(self, op: Operation) -> None:
        """gpu.alloc"""
        assert isinstance(op, gpu.AllocOp)
        if op.hostShared is not None or op.asyncDependencies or op.asyncToken is not None:
            raise fail(op, "only memory of the GPU is allocated, not asynchronously")
        type_ = cast(AnyMemRef, op.result.type)
        size = self._bytes(type_, list(op.dynamicSizes))
        place = self._at.insert(llvm.AddressOfOp(failed_number(0), _POINTER))
        self._at.insert_op(llvm.StoreOp(size, place))
        new = memref.AllocOp(list(op.dynamicSizes), [], type_)
        new.attributes[ON_DEVICE] = UnitAttr()
        memory = self._at.insert(new)
        address = self._at.emit(llvm.PtrToIntOp, [self._address(memory)], i64)
        zero = self._constant_value(0, i64)
        exists = self._at.insert(arith.CmpiOp(address, zero, "ne"))
        message = f"{OUT_OF_MEMORY}@{self._function} needs {{{failed_number(0)}}} bytes"
        self._at.insert_op(cf.AssertOp(exists, f"{message} on the GPU"))
        Rewriter.replace_op(op, [], [memory])

    def release(self, op: Operation) -> None:
        """gpu.dealloc"""
        assert isinstance(op, gpu.DeallocOp)
        if op.asyncDependencies or op.asyncToken is not None:
            raise fail(op, "it is asynchronous; all of a call is on one stream")
        new = create(memref.DeallocOp, operands=[op.buffer])
        new.attributes[ON_DEVICE] = UnitAttr()
        self._at.insert_op(new)
        Rewriter.erase_op(op)

    def copy(self, op: Operation) -> None:
        """gpu.memcpy"""
        assert isinstance(op, gpu.MemcpyOp)
        if op.asyncDependencies or op.asyncToken is not None:
            raise fail(op, "it is asynchronous; all of a call is on one stream")
        for memory in (op.src, op.dst):
            if not is_on_device(memory.type) or not _is_compact(memory.type):
                raise fail(op, f"{memory.type} is no compact memory of the GPU")
        self._copied(op, op.src, op.dst, _COPY, "a copy")

    def transfer(self, op: Operation) -> None:
        """memref.copy from or to the host"""
        assert isinstance(op, memref.CopyOp)
        reads = is_on_device(op.source.type)
        if not reads and not is_on_device(op.destination.type):
            return
        for memory in (op.source, op.destination):
            if not _is_compact(memory.type):
                raise fail(op, f"{memory.type} is not compact; copy it by a kernel")
        if reads and is_on_device(op.destination.type):
            raise fail(op, "both are memory of the GPU; use gpu.memcpy")
        self._host_access.add(self._function)
        name, what = (_READ, "a read") if reads else (_WRITE, "a write")
        self._copied(op, op.source, op.destination, name, what)

    def _copied(
        self, op: Operation, source: SSAValue, target: SSAValue, name: str, what: str
    ) -> None:
        type_ = cast(AnyMemRef, source.type)
        extents = [
            self._at.insert(memref.DimOp(source, self._index(axis)))
            for axis, extent in enumerate(type_.get_shape())
            if extent == DYNAMIC_INDEX
        ]
        arguments = [
            self._address(target),
            self._address(source),
            self._bytes(type_, extents),
        ]
        call = func.CallOp(name, arguments, [i64])
        self._require_success(
            self._at.insert(call), f"{what} in @{self._function} failed"
        )
        Rewriter.erase_op(op)

    def get_constant(self, op: Operation) -> None:
        """memref.get_global"""
        assert isinstance(op, memref.GetGlobalOp)
        if not is_on_device(op.memref.type):
            return
        address = self._global(constant_address(op.name_.string_value()))
        pointer = self._at.emit(llvm.IntToPtrOp, [address], _POINTER)
        cast_ = self._at.emit(UnrealizedConversionCastOp, [pointer], op.memref.type)
        Rewriter.replace_op(op, [], [cast_])

    def _constant(self, op: memref.GlobalOp) -> None:
        type_ = cast(AnyMemRef, op.type)
        if DYNAMIC_INDEX in type_.get_shape() or isinstance(op.initial_value, UnitAttr):
            raise fail(op, "memory of the GPU outside of a GPU module needs contents")
        size = product(type_.get_shape()) * element_bytes(type_.element_type)
        self._constants[op.sym_name.data] = size
        op.properties["type"] = _on_host(op.type)
        op.properties["sym_visibility"] = StringAttr("public")

    def tensor_map(self, op: Operation) -> None:
        """tvm_llvm.tensor_map"""
        assert isinstance(op, tvm_llvm.TensorMapOp)
        kind = _TENSOR_TYPES.get(op.element)
        if kind is None:
            raise fail(op, f"no tensor map has elements of {op.element}")
        size = element_bytes(op.element)
        rank = len(op.extents)
        name = f"{_TENSOR_MAP}_{len(self._storage)}"
        contents = [0] * _MAP_SLOTS
        for first, numbers in ((_BOX, op.box_extents[::-1]), (_BOX + 3, (1,) * rank)):
            for place, each in enumerate(numbers):
                contents[first + place // 2] |= each << 32 * (place % 2)
        kept = llvm.GlobalOp(
            llvm.LLVMArrayType(_MAP_SLOTS, i64),
            name,
            "internal",
            value=DenseIntOrFPElementsAttr.from_list(
                TensorType(i64, [_MAP_SLOTS]), contents
            ),
            alignment=_MAP_ALIGNMENT,
        )
        self._storage.append(kept)
        self._is_needed = True
        map_ = self._at.insert(llvm.AddressOfOp(name, _POINTER))
        address = self._at.emit(llvm.PtrToIntOp, [self._address(op.memory)], i64)
        what = f"the tensor map of a parameter of @{self._function}"
        self._require_multiple(address, f"{what}: its address is no multiple of 16")
        width = self._constant_value(size, i64)
        strides = [
            self._at.insert(arith.MuliOp(each, width)) for each in reversed(op.strides)
        ]
        for stride in strides:
            self._require_multiple(
                stride, f"{what}: rows are not at multiples of 16 bytes; pad them"
            )
        one = self._constant_value(1, i64)
        for extent in op.extents:
            least = self._at.insert(arith.SubiOp(extent, one))
            most = self._constant_value(1 << 32, i64)
            fits = self._at.insert(arith.CmpiOp(least, most, "ult"))
            text = f"{what}: a dimension has not 1 to 2^32 elements"
            self._at.insert_op(cf.AssertOp(fits, text))
        count = self._constant_value(_KEY_SLOTS, i64)
        key = self._at.insert(llvm.AllocaOp(count, i64, _SLOT))
        zero = self._constant_value(0, i64)
        extents = list(reversed(op.extents)) + [zero] * (5 - rank)
        strides += [zero] * (4 - len(strides))
        for place, number in enumerate((address, *extents, *strides)):
            self._at.insert_op(llvm.StoreOp(number, _element(self._at, key, place)))
        swizzle = 3 if op.swizzle.value.data else 0
        numbers = [self._constant_value(each, i32) for each in (kind, rank, swizzle)]
        call = func.CallOp(_TENSOR_MAP, [map_, key, *numbers], [i64])
        self._require_success(
            self._at.insert(call), f"{what} was refused: cuTensorMapEncodeTiled"
        )
        self._maps.add(map_)
        Rewriter.replace_op(op, [], [map_])

    def _require_multiple(self, value: SSAValue, message: str) -> None:
        low = self._at.insert(arith.AndIOp(value, self._constant_value(15, i64)))
        zero = self._constant_value(0, i64)
        fits = self._at.insert(arith.CmpiOp(low, zero, "eq"))
        self._at.insert_op(cf.AssertOp(fits, message))

    # ---- values ----

    def _address(self, memory: SSAValue) -> SSAValue:
        return self._at.emit(UnrealizedConversionCastOp, [memory], _POINTER)

    def _global(self, name: str) -> SSAValue:
        place = self._at.insert(llvm.AddressOfOp(name, _POINTER))
        return self._at.insert(llvm.LoadOp(place, i64))

    def _constant_value(self, number: int, dtype: Attribute) -> SSAValue:
        return self._at.insert(
            create(
                arith.ConstantOp,
                result_types=[dtype],
                properties={"value": IntegerAttr(number, cast(IndexType, dtype))},
            )
        )

    def _index(self, number: int) -> SSAValue:
        return self._constant_value(number, _INDEX)

    def _bytes(self, type_: AnyMemRef, dynamic: list[SSAValue]) -> SSAValue:
        """The bytes of compact memory, as an `i64`."""
        static = [extent for extent in type_.get_shape() if extent != DYNAMIC_INDEX]
        total = self._constant_value(
            product(static) * element_bytes(type_.element_type), i64
        )
        for extent in dynamic:
            size = self._at.emit(arith.IndexCastOp, [extent], i64)
            total = self._at.insert(arith.MuliOp(total, size))
        return total


_RULES: Final[Mapping[type[Operation], _Rule]] = {
    gpu.AllocOp: _HostCode.allocate,
    gpu.DeallocOp: _HostCode.release,
    gpu.MemcpyOp: _HostCode.copy,
    memref.CopyOp: _HostCode.transfer,
    memref.GetGlobalOp: _HostCode.get_constant,
    tvm_llvm.TensorMapOp: _HostCode.tensor_map,
}


def _element(at: LocatedBuilder, array: SSAValue, position: int) -> SSAValue:
    return at.insert(llvm.GEPOp(array, [position], i64))


def _touches_device(op: Operation) -> bool:
    return any(is_on_device(operand.type) for operand in op.operands)


def _is_compact(dtype: Attribute) -> bool:
    return isinstance(dtype, MemRefType) and isinstance(dtype.layout, NoneAttr)


def _move_to_host(function: func.FuncOp) -> bool:
    """Let memory of the GPU have the type of other memory: it is known by its alloc.

    Gives whether there is some.
    """
    found = [value for value in all_values(function) if is_on_device(value.type)]
    for value in found:
        Rewriter.replace_value_with_new_type(value, _on_host(value.type))
    type_ = function.function_type
    function.properties["function_type"] = FunctionType.from_lists(
        [_on_host(each) for each in type_.inputs],
        [_on_host(each) for each in type_.outputs],
    )
    return bool(found)
