"""Launches of threads: the host side, and kernels outlined into a GPU module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, gpu, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
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
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.dialects import nvvm, tir
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX
from xdsl_tvm.lowering.tir.conversion.functions import noalias_arguments
from xdsl_tvm.lowering.tir.conversion.types import (
    GENERIC_SPACE,
    GLOBAL_SPACE,
    SHARED_SPACE,
    memref_of,
    product,
    signless,
)
from xdsl_tvm.lowering.tir.conversion.views import Extent, Memory, View
from xdsl_tvm.lowering.tir.conversion.warp_calls import warp_call

AXES = (*tir.BLOCK_TAGS, *tir.THREAD_TAGS)
"""The thread axes of a launch, in the order of its operands."""

ARGUMENT_ATTRIBUTES = "arg_attrs"
"""Attribute of a `gpu.func`: what `func.func` has as a property of this name."""

MODULE_NAME = "kernels"
CONTAINER = "gpu.container_module"
MAX_SHARED_BYTES = 48 * 1024
MAX_THREADS = 1024

_SHARED = ("shared", "shared.dyn")
_VOLATILE = "volatile_scope"
_DEVICE_SCOPES = (*_SHARED, "local", "warp")


@dataclass
class Kernels:
    """The GPU module that the kernels of one module go to, made when it is needed."""

    module: ModuleOp
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
            self._gpu_module = gpu.ModuleOp.create(
                properties={"sym_name": StringAttr(name)}, regions=[Region(Block())]
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
    """Converts the host part of a function, and outlines its thread launches.

    Buffers are device memory; what is allocated in a scope of the device belongs to the
    kernels that use it.
    """

    space = GLOBAL_SPACE
    on_cpu = False

    def __init__(
        self, entry: Block, module: ModuleOp, function: str, kernels: Kernels
    ) -> None:
        super().__init__(entry, module, function)
        self.kernels = kernels
        self.noalias = False
        self.users: dict[SSAValue, tir.LaunchThreadOp] = {}
        """The kernel that uses memory of a device scope."""

    def launch(self, op: tir.LaunchThreadOp) -> None:
        """The outermost of nested launches becomes one kernel launch."""
        extents = self._extents(op)
        kernel = KernelConverter(self, op, extents)
        kernel.source = op
        kernel.launch(op)
        kernel.emit(gpu.ReturnOp.create())
        name = self._add_kernel(kernel, extents)
        sizes = [
            self.number(1, INDEX) if extent is None else self.index(extent)
            for extent in (extents.get(axis) for axis in AXES)
        ]
        captured = list(kernel.captured)
        segments = [0, *(1 for _ in AXES), 0, 0, 0, 0, len(captured), 0]
        self.emit(
            gpu.LaunchFuncOp.create(
                operands=[*sizes, *captured],
                properties={
                    "kernel": self.kernels.symbol(name),
                    "operandSegmentSizes": DenseArrayBase.from_list(i32, segments),
                },
            )
        )

    def _extents(self, op: tir.LaunchThreadOp) -> dict[str, SSAValue]:
        """The extent of each axis of a nest; all launches of one axis must agree."""
        found: dict[str, SSAValue] = {}
        for inner in op.walk():
            if not isinstance(inner, tir.LaunchThreadOp):
                continue
            axis = inner.tag.data
            if inner.virtual is not None or axis not in AXES:
                raise self.fail(
                    f'"{axis}" is no axis of the hardware; run the pass that lowers '
                    "virtual threads",
                    inner,
                )
            extent = self._host_value(inner)
            if not _same(found.setdefault(axis, extent), extent):
                raise self.fail(
                    f"the launches of {axis} in one kernel have different extents; "
                    "give them one extent and guard what fewer threads do",
                    inner,
                )
        self._check_block(found)
        return found

    def _host_value(self, op: tir.LaunchThreadOp) -> SSAValue:
        extent = op.extent
        if extent not in self.values and tir.constant_value(extent) is None:
            raise self.fail(
                f"the extent of {op.tag} must be known before the launch; compute it "
                "outside of the nest of launches",
                op,
            )
        return extent

    def _check_block(self, extents: dict[str, SSAValue]) -> None:
        threads = _static(extents, AXES[3:])
        if product([extent for extent in threads if extent > 0]) > MAX_THREADS:
            raise self.fail(
                f"a block of {' * '.join(map(str, threads))} threads is larger than "
                f"{MAX_THREADS}"
            )

    def _add_kernel(self, kernel: KernelConverter, extents: dict[str, SSAValue]) -> str:
        name = self.kernels.unique(f"{self.function}_kernel")
        inputs = [arg.type for arg in kernel.entry.args]
        attributes: dict[str, Attribute] = {"sym_name": StringAttr(name)}
        block_size = _static(extents, AXES[3:])
        if DYNAMIC_INDEX not in block_size:
            attributes["gpu.known_block_size"] = DenseArrayBase.from_list(i32, block_size)
        if self.noalias and all(map(_is_whole, kernel.captured)):
            attributes[ARGUMENT_ATTRIBUTES] = noalias_arguments(inputs)
        self.kernels.add(
            gpu.FuncOp.create(
                properties={
                    "function_type": FunctionType.from_lists(inputs, []),
                    "kernel": UnitAttr(),
                },
                attributes=attributes,
                regions=[Region(kernel.entry)],
            )
        )
        return name

    # -- memory

    def allocate(self, shape: Sequence[Extent], dtype: Attribute, scope: str) -> SSAValue:
        """Device memory, freed at the end of the block."""
        element = self.require_element(dtype)
        static = tuple(e if isinstance(e, int) else DYNAMIC_INDEX for e in shape)
        dynamic = [e for e in shape if isinstance(e, SSAValue)]
        op = gpu.AllocOp.create(
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

    def allocate_pointer(self, op: tir.AllocateOp) -> None:
        """Memory of a device scope is left to the kernels."""
        if op.result.type.scope.data not in _DEVICE_SCOPES:
            super().allocate_pointer(op)

    def alloc_buffer(self, op: tir.AllocBufferOp) -> None:
        """A buffer of a device scope is left to the kernels."""
        if op.type.scope.data not in _DEVICE_SCOPES:
            super().alloc_buffer(op)

    def declared_buffer(self, op: tir.DeclBufferOp) -> None:
        """A view of memory of a device scope is left to the kernels."""
        if op.type.scope.data not in _DEVICE_SCOPES:
            super().declared_buffer(op)


class KernelConverter(BodyConverter):
    """Converts the body of a launch; what it takes from the host becomes arguments."""

    space = GLOBAL_SPACE
    constant_space = GLOBAL_SPACE
    on_cpu = False

    def __init__(
        self,
        host: HostConverter,
        kernel: tir.LaunchThreadOp,
        extents: dict[str, SSAValue],
    ) -> None:
        super().__init__(Block(), host.module, host.function)
        self.host = host
        self.extents = extents
        self.kernel = kernel
        self.captured: dict[SSAValue, SSAValue] = {}
        self._thread_ids: dict[str, SSAValue] = {}
        self._shared_bytes = 0

    # -- what the host has

    def missing(self, source: SSAValue) -> SSAValue:
        """A value of the host as an argument; a constant as one of the kernel."""
        number = tir.constant_value(source)
        if number is not None:
            return self.number(number, source.type)
        return self._capture(self.host.value(source))

    def missing_view(self, buffer: SSAValue) -> View:
        """A buffer of the host, or one whose memory the host has left to kernels."""
        host = self.host.views.get(buffer)
        if host is None or _is_constant(buffer):
            self._define(buffer)
            return self.views[buffer]
        strides = host.strides
        if strides is not None:
            strides = tuple(
                stride if isinstance(stride, int) else self._capture(stride)
                for stride in strides
            )
        offset = None if host.offset is None else self._capture(host.offset)
        return View(self._capture(host.memref), strides, offset, host.lanes)

    def missing_memory(self, pointer: SSAValue) -> Memory:
        """A pointer of the host, or one whose memory the host has left to kernels.

        A constant is one of the kernels, which cannot read those of the host.
        """
        host = self.host.memories.get(pointer)
        if host is None or _is_constant(pointer):
            self._define(pointer)
            return self.memories[pointer]
        offset = None if host.offset is None else self._capture(host.offset)
        return Memory(self._capture(host.memref), offset)

    def _define(self, value: SSAValue) -> None:
        """Converts the definition of a buffer or pointer that the host has left.

        Each kernel has memory of its own, so what one of them leaves there is not what
        the next one finds.
        """
        owner = value.owner
        if not isinstance(owner, Operation):
            raise self.fail("opaque handles cannot be used in a kernel")
        is_memory = isinstance(owner, tir.AllocBufferOp | tir.AllocateOp)
        user = self.host.users.setdefault(value, self.kernel)
        if is_memory and user is not self.kernel:
            raise self.fail(
                f"its result, memory of {value.type}, is used by two kernels, and none "
                'keeps such memory for the next; use the scope "global", or one launch '
                "around both",
                owner,
            )
        with self.at(self.entry):
            self.convert_op(owner)

    def insert_global(self, op: Operation) -> None:
        """Adds memory with contents to the GPU module."""
        self.host.kernels.add(op)

    def unique_symbol(self, stem: str) -> str:
        """A symbol name that the GPU module does not have yet."""
        return self.host.kernels.unique(stem)

    def _capture(self, value: SSAValue) -> SSAValue:
        found = self.captured.get(value)
        if found is not None:
            return found
        owner = value.owner
        if isinstance(owner, arith.ConstantOp):
            return self.constant(owner.value)
        argument = self.entry.insert_arg(value.type, len(self.entry.args))
        argument.name_hint = value.name_hint
        self.captured[value] = argument
        return argument

    # -- threads

    def launch(self, op: tir.LaunchThreadOp) -> None:
        """Binds the index on an axis."""
        axis = op.tag.data
        self.values[op.thread_var] = self._thread_index(axis, op.thread_var.type)
        self.bind_index(op.thread_var, self._thread_ids[axis])
        self.convert_ops(op.body.block)

    def _thread_index(self, axis: str, dtype: Attribute) -> SSAValue:
        identity = self._thread_ids.get(axis)
        if identity is None:
            kind = gpu.BlockIdOp if axis.startswith("blockIdx") else gpu.ThreadIdOp
            dimension = gpu.DimensionAttr(gpu.DimensionEnum(axis[-1]))
            op = kind.create(result_types=[INDEX], properties={"dimension": dimension})
            identity = self._thread_ids[axis] = self.hoist(op).results[0]
        cast = arith.IndexCastOp.create(
            operands=[identity], result_types=[signless(dtype)]
        )
        return self.hoist(cast).results[0]

    def synchronize(self, op: tir.CallOp) -> None:
        """A barrier of the block or of the warp."""
        scope = op.args[0].owner if op.args else None
        name = scope.value.data if isinstance(scope, tir.StringOp) else ""
        if name in _SHARED:
            self.emit(gpu.BarrierOp.create())
        elif name == "warp":
            everyone = self.constant(IntegerAttr(-1, i32))
            self.emit(nvvm.SyncWarpOp.create(operands=[everyone]))
        else:
            raise self.fail(f'there is no barrier for the scope "{name}"')
        if op.result is not None:
            self.values[op.result] = self.number(0, op.result.type)

    def warp(self, op: tir.CallOp) -> SSAValue:
        """A shuffle, or the mask of the lanes that are active."""
        return warp_call(self, op)

    def attribute(self, op: tir.AttrOp) -> None:
        """Also the scope of volatile shared memory, which barriers order."""
        if op.key.data == _VOLATILE and _is_shared(op.node):
            self.convert_ops(op.body.block)
        else:
            super().attribute(op)

    def assertion(self, op: tir.AssertOp) -> None:
        """An assumption, of which no use is made."""

    def ret(self, op: tir.RetOp) -> None:
        """Kernels end where their body ends."""
        raise self.fail("a return cannot be inside a thread launch")

    # -- memory

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
            return self._shared(sizes, element)
        if scope != "local":
            raise self.fail(
                f'a kernel cannot allocate memory in the scope "{scope}"; allocate it '
                "outside of the launch, or pass it in"
            )
        op = memref.AllocaOp.create(
            result_types=[memref_of(sizes, element, GENERIC_SPACE)],
            properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [0, 0])},
        )
        if element == i8:
            # Bytes may be viewed as wider elements.
            op.properties["alignment"] = IntegerAttr(16, i64)
        return self.hoist(op).results[0]

    def _shared(self, shape: tuple[int, ...], element: Attribute) -> SSAValue:
        self._shared_bytes += product(shape) * self.bytes_of(element)
        if self._shared_bytes > MAX_SHARED_BYTES:
            raise self.fail(
                f"the kernel's shared memory of {self._shared_bytes} bytes or more "
                f"exceeds {MAX_SHARED_BYTES}; use smaller tiles"
            )
        kernels = self.host.kernels
        name = kernels.unique(f"{self.function}_shared")
        type_ = memref_of(shape, element, SHARED_SPACE)
        tile = memref.GlobalOp.get(
            StringAttr(name), type_, UnitAttr(), alignment=IntegerAttr(64, i64)
        )
        kernels.add(tile)
        get = memref.GetGlobalOp.create(
            result_types=[type_], properties={"name": SymbolRefAttr(name)}
        )
        return self.hoist(get).results[0]


def _is_shared(value: SSAValue | None) -> bool:
    """Whether a value is a pointer to memory that the threads of a block share."""
    if value is None or not isinstance(value.type, tir.PtrType):
        return False
    return value.type.scope.data in _SHARED


def _is_constant(value: SSAValue) -> bool:
    """Whether a buffer or a pointer is of memory with contents."""
    memory = memory_of(value)
    return isinstance(memory, SSAValue) and isinstance(memory.owner, tir.AllocateConstOp)


def _is_whole(value: SSAValue) -> bool:
    """Whether nothing but `value` leads to its memory: no view of other memory."""
    return isinstance(value.owner, Block | gpu.AllocOp) or not isinstance(
        value.type, MemRefType
    )


def _same(a: SSAValue, b: SSAValue) -> bool:
    number = tir.constant_value(a)
    return a is b or (number is not None and number == tir.constant_value(b))


def _static(extents: dict[str, SSAValue], axes: Sequence[str]) -> list[int]:
    """The extents on the given axes, DYNAMIC_INDEX where they are not constant."""
    result: list[int] = []
    for axis in axes:
        number = tir.constant_value(extents[axis]) if axis in extents else 1
        result.append(DYNAMIC_INDEX if number is None else int(number))
    return result
