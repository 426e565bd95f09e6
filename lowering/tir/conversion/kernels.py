"""Launches of kernels, and kernels of a GPU module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import arith, gpu, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i8,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMArrayType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.dialects import nvvm, tir
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.dialects.tir.annotations import (
    KERNEL_LAUNCH_PARAMS,
    MIN_BLOCKS,
    USE_DYNAMIC_SHARED,
    integer_of,
)
from xdsl_tvm.lowering.runtime_symbols import KERNEL_ALIGNMENT, NOALIAS
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.calling_convention import argument_types
from xdsl_tvm.lowering.tir.conversion.device_calls.converter import DeviceConverter
from xdsl_tvm.lowering.tir.conversion.device_calls.fragments import (
    bytes_of_fragments,
    is_fragment,
)
from xdsl_tvm.lowering.tir.conversion.device_calls.table import DEVICE_CALLS
from xdsl_tvm.lowering.tir.conversion.device_calls.warpgroups import (
    ENCODE,
    TENSOR_ALIGNMENT,
    allocations_of_sums,
    box_bytes,
    check_boxes,
    tensor_map,
    uses_tensor_maps,
)
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX
from xdsl_tvm.lowering.tir.conversion.functions import bind_parameters, is_noalias
from xdsl_tvm.lowering.tir.conversion.types import (
    GENERIC_SPACE,
    GLOBAL_SPACE,
    SHARED_SPACE,
    memref_of,
    product,
    signless,
)
from xdsl_tvm.lowering.tir.conversion.views import (
    Extent,
    Memory,
    View,
    flat,
    memref_type,
)
from xdsl_tvm.lowering.tir.conversion.warp_calls import warp_call

AXES = (*tir.BLOCK_TAGS, *tir.THREAD_TAGS)
"""The thread axes of a launch, in the order of its operands."""

ARGUMENT_ATTRIBUTES = "arg_attrs"
ALIGN = "llvm.align"
"""Attribute of a `gpu.func`: what `func.func` has as a property of this name."""

MODULE_NAME = "kernels"
CONTAINER = "gpu.container_module"
MAX_SHARED_BYTES = 48 * 1024
MAX_THREADS = 1024

_BY_VALUE: dict[str, Attribute] = {
    "llvm.byval": LLVMArrayType(128, i8),
    ALIGN: IntegerAttr(64, i64),
    "nvvm.grid_constant": UnitAttr(),
}
"""The attributes of a parameter that is a tensor map."""
_SHARED_ALIGNMENT = 64
_SHARED = ("shared", "shared.dyn")
_DYNAMIC = "shared.dyn"
_VOLATILE = "volatile_scope"


@dataclass
class Kernels:
    """The GPU module that the kernels of one module go to, made when it is needed."""

    module: ModuleOp
    sources: Mapping[str, tir.FuncOp]
    """The kernels as functions of TIR, by the symbols that launches name."""
    aligned: dict[tir.FuncOp, list[bool]] = field(
        default_factory=dict[tir.FuncOp, list[bool]]
    )
    """Which arguments all launches pass at multiples of `KERNEL_ALIGNMENT`."""
    _gpu_module: gpu.ModuleOp | None = None
    _names: set[str] = field(default_factory=set[str])

    def add(self, op: Operation) -> None:
        """Appends a function or a global."""
        self.block.add_op(op)

    @property
    def block(self) -> Block:
        """The body of the GPU module."""
        return self.gpu_module.body.block

    @property
    def gpu_module(self) -> gpu.ModuleOp:
        """The GPU module, at the end of the module it is in."""
        if self._gpu_module is None:
            name = _free_name(MODULE_NAME, _symbols(self.module))
            self._gpu_module = create(
                gpu.ModuleOp,
                properties={"sym_name": StringAttr(name)},
                regions=[Region(Block())],
            )
            self.module.body.block.add_op(self._gpu_module)
            self.module.attributes[CONTAINER] = UnitAttr()
        return self._gpu_module

    def unique(self, stem: str) -> str:
        """A name that no symbol of the GPU module has yet."""
        name = _free_name(stem, self._names)
        self._names.add(name)
        return name

    def symbol(self, name: str) -> SymbolRefAttr:
        """The reference to a kernel from outside of the GPU module."""
        return SymbolRefAttr(self.gpu_module.sym_name.data, [name])

    def launched(self, op: tir.CallOp) -> tir.FuncOp | None:
        """The kernel that a call launches, which has its attributes then."""
        name = op.args[0].owner if op.args else None
        if op.callee.data != "tvm_call_packed" or not isinstance(name, tir.StringOp):
            return None
        return self.sources.get(name.value.data)

    def note_launch(self, kernel: tir.FuncOp, arguments: Sequence[SSAValue]) -> None:
        """Note how what a launch passes is aligned."""
        found = [_is_aligned(argument) for argument in arguments]
        before = self.aligned.get(kernel, found)
        self.aligned[kernel] = [a and b for a, b in zip(before, found, strict=True)]


def _is_aligned(pointer: SSAValue) -> bool:
    """Whether a pointer is to the start of a buffer that is aligned as kernels expect."""
    owner = pointer.owner
    if isinstance(owner, tir.AllocateOp):
        return True
    if not isinstance(owner, tir.DataOp):
        return False
    buffer = tir.buffer_definition(owner.buffer)
    if isinstance(buffer, tir.DeclBufferOp):
        return _is_aligned(buffer.data)
    is_start = isinstance(buffer, tir.MatchBufferOp | tir.AllocBufferOp)
    return is_start and buffer.alignment % KERNEL_ALIGNMENT == 0


def launch_parameters(kernel: tir.FuncOp) -> list[str]:
    """What a launch of a kernel passes after the arguments: the extents of these axes.

    Empty for a function that is no kernel.
    """
    names = kernel.attributes.get(KERNEL_LAUNCH_PARAMS)
    if names is None:
        return []
    return [name.data for name in cast("ArrayAttr[StringAttr]", names)]


def is_kernel(func: tir.FuncOp) -> bool:
    """Whether calls of a function are launches."""
    return KERNEL_LAUNCH_PARAMS in func.attributes


def convert_kernel(source: tir.FuncOp, module: ModuleOp, kernels: Kernels) -> None:
    """Adds the kernel that a function is to the GPU module.

    Raises PassFailedException for what cannot be lowered.
    """
    name = kernels.unique(source.sym_name.data)
    block = Block(arg_types=argument_types(source, GLOBAL_SPACE))
    kernel = KernelConverter(block, module, name, kernels)
    kernel.source = kernel.kernel = source
    kernel.prepare(source)
    bind_parameters(kernel, source, block)
    kernel.convert_ops(source.body.block)
    kernel.emit(create(gpu.ReturnOp))
    inputs = [arg.type for arg in block.args]
    attributes: dict[str, Attribute] = {"sym_name": StringAttr(name)}
    block_size = kernel.block_size
    if DYNAMIC_INDEX not in block_size:
        attributes["gpu.known_block_size"] = DenseArrayBase.from_list(i32, block_size)
    least = source.attributes.get(MIN_BLOCKS)
    if least is not None:
        attributes["nvvm.minctasm"] = least
    known = _argument_attributes(source, inputs, kernels)
    if known != [DictionaryAttr({})] * len(known):
        attributes[ARGUMENT_ATTRIBUTES] = ArrayAttr(known)
    function = create(
        gpu.FuncOp,
        properties={
            "function_type": FunctionType.from_lists(inputs, []),
            "kernel": UnitAttr(),
        },
        attributes=attributes,
        regions=[Region(block)],
    )
    function.location = source.location
    kernels.add(function)


def _argument_attributes(
    source: tir.FuncOp, inputs: Sequence[Attribute], kernels: Kernels
) -> list[DictionaryAttr]:
    """What is known of the arguments of a kernel: that they are apart, and aligned."""
    aligned = kernels.aligned.get(source, [False] * len(inputs))
    alignment = IntegerAttr(KERNEL_ALIGNMENT, i64)
    found: list[DictionaryAttr] = []
    maps = [size is not None for size in box_bytes(source)]
    for dtype, is_aligned, is_map in zip(inputs, aligned, maps, strict=True):
        known: dict[str, Attribute] = dict(_BY_VALUE) if is_map else {}
        if isinstance(dtype, MemRefType):
            known |= {NOALIAS: UnitAttr()} if is_noalias(source) else {}
            known |= {ALIGN: alignment} if is_aligned else {}
        found.append(DictionaryAttr(known))
    return found


def _symbols(module: ModuleOp) -> set[str]:
    return {
        name.data
        for op in module.body.block.ops
        if isinstance(name := op.properties.get("sym_name"), StringAttr)
    }


def _free_name(stem: str, taken: set[str]) -> str:
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name


class HostConverter(BodyConverter):
    """Converts a function that launches kernels; its buffers are device memory."""

    space = GLOBAL_SPACE
    on_cpu = False

    def __init__(
        self, entry: Block, module: ModuleOp, function: str, kernels: Kernels
    ) -> None:
        super().__init__(entry, module, function)
        self.kernels = kernels

    def call(self, op: tir.CallOp) -> None:
        """A call of a builtin, or the launch of a kernel."""
        if op.callee.data == ENCODE:
            self.values[op.results[0]] = tensor_map(self, op)
            return
        kernel = self.kernels.launched(op)
        if kernel is None:
            super().call(op)
            return
        count = len(kernel.function_type.inputs)
        check_boxes(kernel, op.args[1 : 1 + count])
        self.kernels.note_launch(kernel, op.args[1 : 1 + count])
        arguments = [self._argument(arg) for arg in op.args[1 : 1 + count]]
        sizes = dict(zip(launch_parameters(kernel), op.args[1 + count :], strict=True))
        dynamic = sizes.pop(USE_DYNAMIC_SHARED, None)
        operands = [
            self.index(sizes[axis]) if axis in sizes else self.number(1, INDEX)
            for axis in AXES
        ]
        if dynamic is not None:
            operands.append(self.value(dynamic))
        segments = [0, *(1 for _ in AXES), 0, 0, 0, dynamic is not None]
        self.emit(
            create(
                gpu.LaunchFuncOp,
                operands=[*operands, *arguments],
                properties={
                    "kernel": self.kernels.symbol(kernel.sym_name.data),
                    "operandSegmentSizes": DenseArrayBase.from_list(
                        i32, [*segments, len(arguments), 0]
                    ),
                },
            )
        )
        if op.result is not None:
            self.values[op.result] = self.number(0, op.result.type)

    def _argument(self, arg: SSAValue) -> SSAValue:
        """Also a tensor map."""
        source = origin(arg).owner
        if isinstance(source, tir.CallOp) and source.callee.data == ENCODE:
            return self.value(source.results[0])
        return super()._argument(arg)

    def launch(self, op: tir.LaunchThreadOp) -> None:
        """Threads that no kernel has: those that are not of the hardware."""
        raise self.fail(
            f"{op.tag} is no axis of the hardware; run the pass that lowers virtual "
            "threads"
        )

    # -- memory

    def allocate(self, shape: Sequence[Extent], dtype: Attribute, scope: str) -> SSAValue:
        """Device memory, freed at the end of the block."""
        element = self.require_element(dtype)
        static = tuple(e if isinstance(e, int) else DYNAMIC_INDEX for e in shape)
        dynamic = [e for e in shape if isinstance(e, SSAValue)]
        op = create(
            gpu.AllocOp,
            operands=dynamic,
            result_types=[memref_of(static, element, GLOBAL_SPACE)],
            properties={
                "operandSegmentSizes": DenseArrayBase.from_list(i32, [0, len(dynamic), 0])
            },
        )
        self.free_later(op.result)
        return self.emit(op).result

    def free(self, value: SSAValue) -> Operation:
        """The op that frees device memory."""
        return gpu.DeallocOp(value)


class KernelConverter(DeviceConverter):
    """Converts the body of a kernel, which its threads run."""

    space = GLOBAL_SPACE
    constant_space = GLOBAL_SPACE
    on_cpu = False

    def __init__(
        self, entry: Block, module: ModuleOp, function: str, kernels: Kernels
    ) -> None:
        super().__init__(entry, module, function)
        self.kernels = kernels
        self.extents: dict[str, SSAValue] = {}
        """The extent of each axis of the launch."""
        self._thread_ids: dict[str, SSAValue] = {}
        self._fragments: dict[SSAValue, Memory] = {}
        """The memory of buffers of fragments, by the buffer."""
        self._summed: set[SSAValue] = set()
        """What is allocated for sums of products of warpgroups."""
        self._shared_alignment = _SHARED_ALIGNMENT
        self._shared_bytes = 0
        self._has_dynamic = False
        self.kernel: tir.FuncOp | None = None
        """The function that is converted."""

    def prepare(self, source: tir.FuncOp) -> None:
        """Note what tensor copies and products of warpgroups need of memory."""
        if uses_tensor_maps(source):
            self._shared_alignment = TENSOR_ALIGNMENT
            self._summed = allocations_of_sums(source)

    @property
    def sums(self) -> list[SSAValue]:
        """The memrefs, so far, with the sums of products of warpgroups."""
        known = self.memories
        return [known[each].memref for each in self._summed if each in known]

    @property
    def block_size(self) -> list[int]:
        """The threads of a block on x, y, z; DYNAMIC_INDEX where it is not constant."""
        return _static(self.extents, tir.THREAD_TAGS)

    def insert_global(self, op: Operation) -> None:
        """Adds memory with contents to the GPU module."""
        self.kernels.add(op)

    def unique_symbol(self, stem: str) -> str:
        """A symbol name that the GPU module does not have yet."""
        return self.kernels.unique(stem)

    def call_function(self, op: tir.CallFuncOp) -> None:
        """A call of a function, which would have to be in the GPU module."""
        raise self.fail(
            f"a kernel calls {op.callee}; inline it, as tir-inline-private-functions does"
        )

    # -- threads

    def launch(self, op: tir.LaunchThreadOp) -> None:
        """Binds the index on an axis."""
        axis = op.tag.data
        if op.virtual is not None or axis not in AXES:
            raise self.fail(
                f"{op.tag} is no axis of the hardware; run the pass that lowers virtual "
                "threads"
            )
        self.extents.setdefault(axis, op.extent)
        threads = self.block_size
        if product([extent for extent in threads if extent > 0]) > MAX_THREADS:
            raise self.fail(
                f"a block of {' * '.join(map(str, threads))} threads is larger than "
                f"{MAX_THREADS}"
            )
        self.values[op.thread_var] = self._thread_index(axis, op.thread_var.type)
        self.bind_index(op.thread_var, self._thread_ids[axis])
        self.convert_ops(op.body.block)

    def _thread_index(self, axis: str, dtype: Attribute) -> SSAValue:
        identity = self._thread_ids.get(axis)
        if identity is None:
            kind = gpu.BlockIdOp if axis.startswith("blockIdx") else gpu.ThreadIdOp
            dimension = gpu.DimensionAttr(gpu.DimensionEnum(axis[-1]))
            op = create(kind, result_types=[INDEX], properties={"dimension": dimension})
            identity = self._thread_ids[axis] = self.hoist(op).results[0]
        cast = create(
            arith.IndexCastOp, operands=[identity], result_types=[signless(dtype)]
        )
        return self.hoist(cast).results[0]

    def synchronize(self, op: tir.CallOp) -> None:
        """A barrier of the block or of the warp."""
        scope = op.args[0].owner if op.args else None
        name = scope.value.data if isinstance(scope, tir.StringOp) else ""
        if name in _SHARED:
            self.emit(create(gpu.BarrierOp))
        elif name == "warp":
            everyone = self.constant(IntegerAttr(-1, i32))
            self.emit(create(nvvm.SyncWarpOp, operands=[everyone]))
        else:
            raise self.fail(f'there is no barrier for the scope "{name}"')
        if op.result is not None:
            self.values[op.result] = self.number(0, op.result.type)

    def warp(self, op: tir.CallOp) -> SSAValue:
        """A shuffle, or the mask of the lanes that are active."""
        return warp_call(self, op)

    def call(self, op: tir.CallOp) -> None:
        """A call of a builtin, those of PTX among them."""
        lower = DEVICE_CALLS.get(op.callee.data)
        if lower is None:
            super().call(op)
            return
        value = lower(self, op)
        if op.result is not None and not tir.is_handle(op.result.type):
            self.values[op.result] = value or self.number(0, op.result.type)

    def attribute(self, op: tir.AttrOp) -> None:
        """Also volatile shared memory, which barriers order, and asynchronous copies."""
        match op.key.data:
            case key if key == _VOLATILE and _is_shared(op.node):
                self.convert_ops(op.body.block)
            case "async_scope" | "async_wait_queue_scope":
                # Copies that are no instructions of their own are done at once.
                self.convert_ops(op.body.block)
            case "async_commit_queue_scope":
                self.convert_ops(op.body.block)
                self.emit(nvvm.CpAsyncCommitGroupOp())
            case "async_wait_inflight_count":
                self._wait_for_copies(op)
                self.convert_ops(op.body.block)
            case _:
                super().attribute(op)

    def _wait_for_copies(self, op: tir.AttrOp) -> None:
        count = integer_of(op.value_attr)
        if op.value is not None:
            count = tir.constant_value(op.value)
        if not isinstance(count, int) or count < 0:
            raise self.fail(
                f"{op.key} must be a constant; unroll the loop around it, or simplify"
            )
        self.emit(nvvm.CpAsyncWaitGroupOp(count))

    def assertion(self, op: tir.AssertOp) -> None:
        """An assumption, of which no use is made."""

    def ret(self, op: tir.RetOp) -> None:
        """Kernels end where their body ends."""
        raise self.fail("a return cannot be inside a thread launch")

    # -- memory

    def access_pointer(self, op: tir.AccessPtrOp) -> None:
        """The start of a region; its offset counts elements of the result."""
        memory = self.memory(op.data)
        type_ = memref_type(memory.memref)
        width = self.bytes_of(signless(tir.element_of(op.result.type.element_type)))
        width *= tir.lanes_of(op.result.type.element_type)
        held = self.bytes_of(type_.element_type)
        if width % held:
            raise self.fail(
                f"elements of {width} bytes in memory of elements of {held} are not "
                "supported; allocate bytes"
            )
        moved = self.mul_index(self.index(op.offset), self.number(width // held, INDEX))
        self.memories[op.result] = Memory(
            flat(self, memory.memref, product(type_.get_shape())),
            self.add_index(memory.offset, moved),
        )

    def allocate_pointer(self, op: tir.AllocateOp) -> None:
        """Memory for the rest of the block; that of fragments holds their registers."""
        if not is_fragment(op.result.type):
            super().allocate_pointer(op)
            return
        memory = self.allocate([bytes_of_fragments(self, op)], i8, "local")
        memory.name_hint = op.result.name_hint
        self.memories[op.result] = Memory(memory)

    def declared_buffer(self, op: tir.DeclBufferOp) -> None:
        """A buffer on memory; one of fragments has no elements."""
        if is_fragment(op.data.type):
            self._fragments[op.buffer] = self.memory(op.data)
        else:
            super().declared_buffer(op)

    def data(self, op: tir.DataOp) -> None:
        """The data pointer of a buffer."""
        fragments = self._fragments.get(op.buffer)
        if fragments is None:
            super().data(op)
        else:
            self.memories[op.result] = fragments

    def missing_view(self, buffer: SSAValue) -> View:
        """Raises for a buffer without elements."""
        if buffer in self._fragments:
            raise self.fail(
                "the elements of a fragment are not accessed one by one; store it in "
                "memory"
            )
        return super().missing_view(buffer)

    def allocate(self, shape: Sequence[Extent], dtype: Attribute, scope: str) -> SSAValue:
        """Shared memory as a global, or a thread's own memory."""
        element = self.require_element(dtype)
        sizes = tuple(extent for extent in shape if isinstance(extent, int))
        if len(sizes) != len(shape):
            raise self.fail(
                f'memory in the scope "{scope}" must have a size that is known when the '
                "kernel is compiled"
            )
        if scope in _SHARED:
            is_dynamic = scope == _DYNAMIC and self._takes_dynamic
            if is_dynamic:
                return self._dynamic(element)
            return self.shared_memory(sizes, element)
        if scope != "local":
            raise self.fail(
                f'a kernel cannot allocate memory in the scope "{scope}"; allocate it '
                "outside of the launch, or pass it in"
            )
        op = create(
            memref.AllocaOp,
            result_types=[memref_of(sizes, element, GENERIC_SPACE)],
            properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [0, 0])},
        )
        if element == i8:
            # Bytes may be viewed as wider elements.
            op.properties["alignment"] = IntegerAttr(16, i64)
        return self.hoist(op).results[0]

    @property
    def _takes_dynamic(self) -> bool:
        """Whether launches say how much dynamic shared memory there is."""
        source = self.kernel
        return source is not None and USE_DYNAMIC_SHARED in launch_parameters(source)

    def _dynamic(self, element: Attribute) -> SSAValue:
        """The dynamic shared memory, which is one."""
        if self._has_dynamic:
            raise self.fail(
                "the kernel has two allocations of dynamic shared memory; run "
                "tir-merge-shared-memory-allocations"
            )
        self._has_dynamic = True
        name = self.kernels.unique(f"{self.function}_shared")
        return self._shared_global(name, (0,), element, "public")

    def shared_memory(self, shape: Sequence[int], element: Attribute) -> SSAValue:
        """Static shared memory, a global. Raises PassFailedException for too much."""
        self._shared_bytes += product(shape) * self.bytes_of(element)
        if self._shared_bytes > MAX_SHARED_BYTES:
            raise self.fail(
                f"the kernel's shared memory of {self._shared_bytes} bytes or more "
                f"exceeds {MAX_SHARED_BYTES}; use smaller tiles"
            )
        name = self.kernels.unique(f"{self.function}_shared")
        return self._shared_global(name, shape, element, "private")

    def _shared_global(
        self, name: str, shape: Sequence[int], element: Attribute, visibility: str
    ) -> SSAValue:
        type_ = memref_of(shape, element, SHARED_SPACE)
        tile = memref.GlobalOp.get(
            StringAttr(name),
            type_,
            UnitAttr(),
            sym_visibility=StringAttr(visibility),
            alignment=IntegerAttr(self._shared_alignment, i64),
        )
        self.kernels.add(tile)
        get = create(
            memref.GetGlobalOp,
            result_types=[type_],
            properties={"name": SymbolRefAttr(name)},
        )
        return self.hoist(get).results[0]


def _is_shared(value: SSAValue | None) -> bool:
    """Whether a value is a pointer to memory that the threads of a block share."""
    if value is None or not isinstance(value.type, tir.PtrType):
        return False
    return value.type.scope.data in _SHARED


def _static(extents: dict[str, SSAValue], axes: Sequence[str]) -> list[int]:
    """The extents on the given axes, DYNAMIC_INDEX where they are not constant."""
    result: list[int] = []
    for axis in axes:
        number = tir.constant_value(extents[axis]) if axis in extents else 1
        result.append(DYNAMIC_INDEX if number is None else int(number))
    return result
