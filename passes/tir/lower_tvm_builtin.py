"""Builtins of the host become calls of the runtime, with arguments on stacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Call, Expr, Value
from xdsl_tvm.analysis.tir.function_target import functions_of, is_host, target_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.dialects.tir.data_types import data_type
from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._tvm_builtin.calls import (
    GET_ITEM,
    HANDLE,
    MAKE_ARRAY,
    MAKE_SHAPE,
    PACKED_CALLS,
    CallLowering,
    Counters,
    Device,
    PackedCall,
    known_kind,
    known_number,
    nest,
)
from xdsl_tvm.passes.tir._tvm_builtin.stacks import Stacks
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode
from xdsl_tvm.passes.tir.rewriting.statements import (
    describe,
    erase_if_unused,
    replace_by_body,
)

_UI64: Final = IntegerType(64, Signedness.UNSIGNED)
_ALIGNMENT: Final = 64
_LARGEST_ON_STACK: Final = 1024
"""Memory of the host of so many bytes, or more, is taken from the runtime."""
_ALLOC_ND: Final = "nd_mem_alloc_with_scope"
_DMA: Final = frozenset(("dma_copy", "dma_wait", "dma_start_group", "dma_end_group"))
_CONTEXT_ID: Final = "tvm_context_id"
_KEEP: Final = "disable_lower_builtin"
_DEVICE_KEYS: Final = ("device_id", "device_type")


@dataclass(frozen=True)
class LowerTVMBuiltin(CompilerPass):
    """Summary: Lowers packed calls, arrays on the stack and workspaces of the host.

    TVM name: tir.LowerTVMBuiltin (v0.20)
    Input form: `flat` or later; after MakePackedAPI and LowerDeviceKernelLaunch
    Output form: the same, without what is rewritten
    Options: none
    Rewrites: functions that run on the host: by `tir.is_host_func`, or by a target with
        the key `cpu`. Before

            %r = tir.call "tvm_call_packed"(%name, %x, %p)
                : (!tir.handle, i32, !tir.handle) -> i32

        after, with one `tvm_stack_alloca` of each kind at the beginning of the function,
        and of the body of each parallel loop, as large as the calls in it need

            %x_1 = tir.cast %x : i32 to i64
            tir.call "tvm_struct_set"(%stack_value, %c0, %c12, %x_1) : … -> i32
            tir.store %c0, %stack_tcode[%c0] : i32
            tir.call "tvm_struct_set"(%stack_value, %c1, %c12, %p) : … -> i32
            %n = tir.call "isnullptr"(%p) : (!tir.handle) -> i1
            tir.if %n { tir.store %c4, … } else { tir.store %c3, … }
            %r = tir.call "tvm_call_packed_lowered"(%name, %stack_value, %tcode, %c0, %c2)
                : … -> i32

        Integers are passed as `i64`, floats as `f64`. A call uses the slots from the
        first on, and one more for the result; one among the arguments of another, the
        slots after that. So do `tvm_call_cpacked`, `tvm_call_trace_packed` and
        `anylist_setitem_call_packed`. `tvm_stack_make_shape` and `tvm_stack_make_array`
        among the arguments are stored to stacks of their own before each call.
        Memory (`tir.allocate`) becomes `TVMBackendAllocWorkspace`, with a check for null,
        and `TVMBackendFreeWorkspace` at the end of its block and before each `tir.ret`,
        unless it is of the scope `global` on a CPU with a constant number of less than
        1024 bytes. `nd_mem_alloc_with_scope`, `dma_copy`, `dma_wait`, `dma_start_group`
        and `dma_end_group` become packed calls of the API of the device.
        `tvm_context_id` is 0. `tir.attr "device_id"` and `"device_type"` tell the device,
        and are dropped; the type is at first that of the target. Time is linear in the
        size of the functions and of what the calls pass.
    Leaves alone: other functions; memory with the annotation `disable_lower_builtin`
    Errors: an array, memory or a DMA operation without a known device; a DMA operation or
        an allocation of several dimensions on a device whose type is no constant, or has
        no API; an array or a shape that is no argument of a call; an argument that is no
        integer, float of 16 to 64 bits, or handle
    Attributes: read: `target`, `tir.is_host_func`, the annotation
        `disable_lower_builtin`; created: none; removed: none
    Differs from TVM: arguments are stored right before each call, so that calls in one
        expression, in a condition of a `tir.while` or in a branch of an expression do not
        overwrite those of each other, and are stored where they are evaluated. A
        `tir.ret` frees the memory that is in use. An array or a shape may be passed to
        several calls.
    """

    name = "tir-lower-tvm-builtin"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            if is_host(func) and not func.is_declaration:
                _Lowering(func).run()


_Allocation: TypeAlias = tuple[tir.AllocateOp | tir.CallOp, Device, Stacks]


class _Lowering:
    def __init__(self, func: tir.FuncOp) -> None:
        self._func = func
        self._stacks: list[Stacks] = []
        self._calls: list[PackedCall] = []
        self._allocations: list[_Allocation] = []
        self._arrays: list[tir.CallOp] = []
        self._registers: list[SSAValue] = []
        self._attributes: list[tir.AttrOp] = []
        self._returns: list[tir.RetOp] = []

    def run(self) -> None:
        """Find all that is lowered, and lower it."""
        target = target_of(self._func)
        kind = None if target is None else int(target.kind.device_type)
        self._find(Device(kind))
        for allocation, device, stacks in reversed(self._allocations):
            if isinstance(allocation, tir.CallOp):
                self._free_nd(allocation, device, stacks)
            else:
                self._lower_allocation(allocation, device)
        for call in nest(self._calls):
            call.assign(Counters())
        for call in self._calls:
            CallLowering(call).run()
        self._erase_arrays()
        erase_if_unused(self._registers)
        for attribute in reversed(self._attributes):
            replace_by_body(attribute, attribute.body.block)
        for stacks in self._stacks:
            stacks.insert()

    # ---- what there is ----

    def _find(self, device: Device) -> None:
        """Visit all ops in order, each with the stacks and the device around it."""
        body = self._func.body.block
        pending: list[tuple[Operation, Device, Stacks]] = []
        stacks = self._new_stacks(body)
        pending += ((op, device, stacks) for op in reversed(body.ops))
        while pending:
            op, device, stacks = pending.pop()
            inside = self._visited(op, device, stacks)
            is_parallel = (
                isinstance(op, tir.ForOp) and op.kind.data is tir.ForKind.PARALLEL
            )
            for region in reversed(op.regions):
                for block in reversed(region.blocks):
                    within = self._new_stacks(block) if is_parallel else stacks
                    pending += ((each, inside, within) for each in reversed(block.ops))

    def _new_stacks(self, block: Block) -> Stacks:
        found = Stacks(block)
        self._stacks.append(found)
        return found

    def _visited(self, op: Operation, device: Device, stacks: Stacks) -> Device:
        """Remember an op; the device of what is inside of it."""
        match op:
            case tir.AttrOp() if op.key.data in _DEVICE_KEYS:
                self._attributes.append(op)
                number = _number(op.value_item)
                if op.key.data == "device_id":
                    return replace(device, number=number)
                return replace(device, kind=number)
            case tir.AllocateOp() if _is_taken_from_runtime(op, device):
                self._allocations.append((op, device, stacks))
            case tir.RetOp():
                self._returns.append(op)
            case tir.CallOp():
                self._visited_call(op, device, stacks)
            case _:
                pass
        return device

    def _visited_call(self, op: tir.CallOp, device: Device, stacks: Stacks) -> None:
        name = op.callee.data
        if name in PACKED_CALLS:
            self._calls.append(PackedCall(op, stacks, device))
        elif name in (MAKE_ARRAY, MAKE_SHAPE):
            self._arrays.append(op)
        elif name == GET_ITEM and op.result is not None:
            self._registers.append(op.result)
        elif name in _DMA:
            api = _api(op, device, name)
            call = _replaced(op, api, op.args, i32)
            self._calls.append(PackedCall(call, stacks, device))
        elif name == _ALLOC_ND:
            call = self._alloc_nd(op, device)
            self._calls.append(PackedCall(call, stacks, device))
            self._allocations.append((call, device, stacks))
        elif name == _CONTEXT_ID and op.result is not None:
            zero = tir.ConstOp(IntegerAttr(0, i32))
            zero.location = op.location
            Rewriter.replace_op(op, zero)

    # ---- memory of several dimensions ----

    def _alloc_nd(self, op: tir.CallOp, device: Device) -> tir.CallOp:
        pointer = None if op.result is None else op.result.type
        if not isinstance(pointer, tir.PtrType):
            raise PassFailedException(
                f"{describe(op)}: what the memory holds is not known; let the call "
                "return a !tir.ptr"
            )
        api = _api(op, device, "alloc_nd")
        element = data_type(pointer.element_type)
        code = LoopCode(InsertPoint.before(op))
        args = [
            code.value(known_kind(op, device)),
            code.value(known_number(op, device)),
            code.value(smart.const(element.code, i32)),
            code.value(smart.const(element.bits, i32)),
            *op.args,
        ]
        return _replaced(op, api, args, HANDLE, pointer)

    def _free_nd(self, call: tir.CallOp, device: Device, stacks: Stacks) -> None:
        """Check the memory of a call for null, and free it at the end of its block."""
        (use,) = call.results[0].uses
        let = use.operation
        assert isinstance(let, tir.LetOp), "as it was made"
        pointer = let.result
        _throw_if(LoopCode(InsertPoint.after(let)), _is_null(pointer))

        def free(code: LoopCode) -> Expr:
            name = tir.StringOp(_api(call, device, "free_nd"))
            code.insert(name)
            args = [
                name.result,
                code.value(known_kind(call, device)),
                code.value(known_number(call, device)),
                call.args[5],
                pointer,
            ]
            lowered = tir.CallOp("tvm_call_packed", args, i32)
            code.insert(lowered)
            self._calls.append(PackedCall(lowered, stacks, device))
            return Value(lowered.results[0])

        self._free(let, free)

    # ---- workspaces ----

    def _lower_allocation(self, op: tir.AllocateOp, device: Device) -> None:
        code = LoopCode(InsertPoint.before(op))
        pointer = op.result.type
        element = data_type(pointer.element_type)
        kind, number = known_kind(op, device), known_number(op, device)
        size = smart.const(
            tir.lanes_of(pointer.element_type) * tir.bytes_of_lane(pointer.element_type),
            _UI64,
        )
        for extent in op.shape:
            tree = (
                smart.const(extent, _UI64)
                if isinstance(extent, int)
                else smart.cast(_UI64, Value(extent))
            )
            size = smart.mul(size, tree)
        args = (
            kind,
            number,
            size,
            smart.const(element.code, i32),
            smart.const(element.bits, i32),
        )
        memory = code.call("TVMBackendAllocWorkspace", args, HANDLE)
        name = None if op.var_name is None else op.var_name.data
        let = tir.LetOp(code.value(memory), name=name, result_type=pointer)
        let.result.name_hint = op.result.name_hint
        set_name_hint(let.result, name)
        let.location = op.location
        Rewriter.replace_op(op, let)

        def free(code: LoopCode) -> Expr:
            args = (kind, number, Value(let.result))
            return code.call("TVMBackendFreeWorkspace", args, i32)

        self._free(let, free)
        inside = _aligned(let)
        _throw_if(LoopCode(inside), _is_null(let.result))

    def _free(self, let: tir.LetOp, free: Callable[[LoopCode], Expr]) -> None:
        """Free memory at the end of its block, and before each return."""
        block = let.parent
        assert block is not None, "found in a function"
        ends: list[InsertPoint] = []
        for ret in self._returns:
            inside = block.find_ancestor_op_in_block(ret)
            if inside is not None and let.is_before_in_block(inside):
                ends.append(InsertPoint.before(ret))
        last = block.last_op
        if isinstance(last, tir.YieldOp):
            ends.append(InsertPoint.before(last))
        elif not _returns(block):
            ends.append(InsertPoint.at_end(block))
        for end in ends:
            code = LoopCode(end)
            _throw_if(code, smart.ne(free(code), smart.const(0, i32)))

    # ---- the end ----

    def _erase_arrays(self) -> None:
        """Erase what arrays and shapes were made of, which calls have stored."""
        for op in reversed(self._arrays):
            if op.result is not None and op.result.first_use is not None:
                user = op.result.first_use.operation
                raise PassFailedException(
                    f"{describe(op)}: '{op.callee.data}' is used by {user.name}; arrays "
                    "and shapes on the stack are arguments of packed calls only"
                )
            operands = list(op.args)
            Rewriter.erase_op(op)
            erase_if_unused(operands)


def _returns(block: Block) -> bool:
    """Whether a block ends by returning, perhaps within what is said about it."""
    last = block.last_op
    while isinstance(last, tir.AttrOp):
        last = last.body.block.last_op
    return isinstance(last, tir.RetOp)


def _number(item: SSAValue | Attribute) -> SSAValue | int | None:
    """A number in a `tir.attr`, as a constant where it is one."""
    if isinstance(item, IntegerAttr):
        return item.value.data
    if not isinstance(item, SSAValue):
        return None
    constant = tir.constant_value(item)
    return constant if isinstance(constant, int) else item


def _is_taken_from_runtime(op: tir.AllocateOp, device: Device) -> bool:
    """Whether memory is a workspace, and not on the stack of the host."""
    annotations = op.annotations
    if annotations is not None and is_true(annotations.data.get(_KEEP)):
        return False
    pointer = op.result.type
    if device.kind != DeviceType.CPU or pointer.scope.data != "global":
        return True
    size = tir.lanes_of(pointer.element_type) * tir.bytes_of_lane(pointer.element_type)
    for extent in op.shape:
        if not isinstance(extent, int):
            return True
        size *= extent
    return not 0 < size < _LARGEST_ON_STACK


_APIS: Final[Mapping[int, str]] = {
    1: "cpu",
    2: "cuda",
    3: "cuda_host",
    4: "opencl",
    7: "vulkan",
    8: "metal",
    9: "vpi",
    10: "rocm",
    11: "rocm_host",
    12: "ext_dev",
    13: "cuda_managed",
    14: "oneapi",
    15: "webgpu",
    16: "hexagon",
}
"""The APIs by the types of devices, as DLPack numbers them."""


def _api(op: Operation, device: Device, method: str) -> str:
    """The packed function of the API of a device."""
    if device.kind is None:
        raise PassFailedException(
            f"{describe(op)}: Method {method} requires the device type, but occurred "
            'outside of a "device_type" annotation; bind a target, or put a tir.attr '
            '"device_type" around it'
        )
    name = _APIS.get(device.kind) if isinstance(device.kind, int) else None
    if name is None:
        raise PassFailedException(
            f"{describe(op)}: Method {method} requires the device type to be a constant "
            f"of DLDeviceType that has an API, one of {', '.join(map(str, _APIS))}"
        )
    return f"device_api.{name}.{method}"


def _replaced(
    op: tir.CallOp,
    name: str,
    args: Sequence[SSAValue],
    dtype: tir.HandleType | IntegerType,
    pointer: tir.PtrType | None = None,
) -> tir.CallOp:
    """A packed call of a name in the place of a call, bound as a pointer if it is one."""
    text = tir.StringOp(name)
    call = tir.CallOp("tvm_call_packed", [text.result, *args], dtype)
    call.attributes |= op.attributes
    new: list[Operation] = [text, call]
    if pointer is not None:
        new.append(tir.LetOp(call.results[0], result_type=pointer))
    for each in new:
        each.location = op.location
    hint = None if op.result is None else op.result.name_hint
    Rewriter.replace_op(op, new, new[-1].results if op.result is not None else ())
    new[-1].results[0].name_hint = hint
    return call


def _is_null(pointer: SSAValue) -> Expr:
    return Call("isnullptr", (Value(pointer),), i1)


def _throw_if(code: LoopCode, condition: Expr) -> None:
    with code.when(condition):
        code.call("tvm_throw_last_error", (), i32)


def _aligned(let: tir.LetOp) -> InsertPoint:
    """State the alignment of memory for the rest of its block; where that begins.

    A block that ends in a value, which may be of what would be inside, says nothing.
    """
    block = let.parent
    assert block is not None, "found in a function"
    if isinstance(block.last_op, tir.YieldOp):
        return InsertPoint.after(let)
    attr = tir.AttrOp(
        "storage_alignment", let.result, IntegerAttr(_ALIGNMENT, i32), Region(Block())
    )
    rest: list[Operation] = []
    op = let.next_op
    while op is not None:
        rest.append(op)
        op = op.next_op
    for op in rest:
        op.detach()
        attr.body.block.add_op(op)
    block.add_op(attr)
    return InsertPoint.at_start(attr.body.block)
