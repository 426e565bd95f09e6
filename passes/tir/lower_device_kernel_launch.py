"""Calls between targets become launches of kernels and calls of C symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import SymbolTable, is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith.expr import view
from xdsl_tvm.analysis.arith.polynomial import polynomial
from xdsl_tvm.analysis.tir.function_target import functions_of, is_same_code, target_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import KERNEL_LAUNCH_PARAMS, USE_DYNAMIC_SHARED
from xdsl_tvm.dialects.tir.storage_scope import StorageScope
from xdsl_tvm.dialects.tir.types import index_type_for
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.copied_expressions import ExpressionCopier
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_DEVICE_KERNEL_LAUNCH = 2
_ENDS_WITH_BODY = (tir.FuncOp, tir.IfOp, tir.AttrOp, tir.ScopeOp, tir.LaunchThreadOp)
_Size: TypeAlias = "int | SSAValue"
Launch: TypeAlias = "tir.LaunchThreadOp | tir.AllocateOp"


@dataclass(frozen=True)
class LowerDeviceKernelLaunch(CompilerPass):
    """Summary: Turns calls of functions for another target into launches or C calls.

    TVM name: tir.LowerDeviceKernelLaunch (v0.20)
    Input form: loops and buffers or later; functions have the attribute `target`; after
        SplitHostDevice and UnifyThreadBinding
    Output form: the same; a `tir.call_func` only calls functions for the caller's target
    Options: none
    Rewrites: before, in a function for `llvm` that calls one for `cuda`

            tir.call_func @kernel(%p, %n) : (!tir.ptr<f32>, i32) -> ()

        after

            %s = tir.string "kernel"
            %c16 = tir.const 16 : i32
            %0 = tir.call "tvm_call_packed"(%s, %p, %n, %n, %c16)
                : (!tir.handle, !tir.ptr<f32>, i32, i32, i32) -> i32

        if the targets have different device types. After the arguments are the extents of
        the thread axes of the kernel, here `n` for `blockIdx.x` and 16 for `threadIdx.x`,
        in the order in which the kernel opens them, and the bytes of its memory in
        scope `shared.dyn` if it has some, computed in the caller. The kernel gets
        `calling_conv = 2`, `tir.kernel_launch_params = ["blockIdx.x", "threadIdx.x"]`,
        with `tir.use_dyn_shared_memory` last where it applies, and a `global_symbol`. It
        returns nothing: a `tir.ret` of 0 at its end is erased, one elsewhere loses its
        value. Where only the targets differ, but not the device types, the call becomes
        `tir.call "call_extern"` of the symbol. Time is linear in the size of the module,
        and in that of the extents at each call.
    Leaves alone: calls of functions for the same target (kind, keys, attributes and
        features, but not host or tag), of declarations without a target, and of functions
        of other dialects; the `tir.launch_thread` of the kernel
    Errors: a function with a body and without the attribute `target`; two allocations in
        scope `shared.dyn` in one function; a call with another number of arguments than
        the function has parameters; a function that is both launched and called as a C
        symbol; a launched function that returns something else than 0, or whose result is
        used by code for its own target; an axis that is opened with several extents; an
        extent, or size of dynamic shared memory, that depends on more than parameters and
        constants; a symbol that another function has
    Attributes: read: `target` and `global_symbol`; created: `tir.is_global_func` and
        `global_symbol` on functions that are launched or called as C symbols,
        `calling_conv` and `tir.kernel_launch_params` on those that are launched; removed:
        none
    Differs from TVM: an axis that a kernel opens several times counts once, and with one
        extent; TVM passes it as often as variables differ, with the last extent. A C call
        names the `global_symbol` of the function where it has one. What computes an
        extent inside of the kernel is computed again in the caller; TVM uses the
        variables of the kernel there. A `ret` of 0 that ends a thread early still does.
        Sizes of more than 2^31 bytes are `i64`, and count the lanes of vectors.
    """

    name = "tir-lower-device-kernel-launch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _Lowering(op).run()


@dataclass
class _Function:
    """What is known of a function."""

    func: tir.FuncOp
    symbol: str
    launches: list[Launch] = field(default_factory=list["Launch"])
    """What a launch passes sizes of: the first opening of each axis, in order, and the
    dynamic shared memory."""
    returns: list[tir.RetOp] = field(default_factory=list[tir.RetOp])
    launched_by: str | None = None
    """A call that is a launch, as errors name it."""
    extern_called_by: str | None = None
    """A call as a C symbol."""
    called_by: str | None = None
    """A call by code for its own target that has the result."""

    @property
    def parameters(self) -> list[str]:
        """The launch parameters."""
        return [
            op.tag.data if isinstance(op, tir.LaunchThreadOp) else USE_DYNAMIC_SHARED
            for op in self.launches
        ]


class _Lowering:
    def __init__(self, module: ModuleOp) -> None:
        self._functions: dict[tir.FuncOp, _Function] = {}
        self._by_name: dict[Operation, dict[str, tir.FuncOp]] = {}
        self._calls: list[tuple[tir.FuncOp, tir.CallFuncOp]] = []
        self._exposed: dict[str, tir.FuncOp] = {}
        for func in functions_of(module):
            parent = func.parent_op()
            assert parent is not None, "held by the module"
            self._by_name.setdefault(parent, {})[func.sym_name.data] = func
            function = self._functions[func] = self._found(func)
            if "global_symbol" in func.attributes:
                self._exposed.setdefault(function.symbol, func)

    def _found(self, func: tir.FuncOp) -> _Function:
        """Look at a function once, and remember its calls."""
        if target_of(func) is None and not func.is_declaration:
            raise PassFailedException(
                f"tir.func @{func.sym_name.data}: has no attribute target, so it is not "
                "known which calls are launches; bind one, as in attributes {target = "
                '#tir.target<"llvm">}'
            )
        symbol = func.attributes.get("global_symbol")
        name = symbol.data if isinstance(symbol, StringAttr) else func.sym_name.data
        found = _Function(func, name)
        axes: dict[str, tir.LaunchThreadOp] = {}
        dynamic: list[Launch] = []
        for op in all_ops(func):
            match op:
                case tir.CallFuncOp():
                    self._calls.append((func, op))
                case tir.RetOp():
                    found.returns.append(op)
                case tir.LaunchThreadOp() if op.virtual is None:
                    _add_axis(axes, op)
                case tir.AllocateOp() if _is_dynamic_shared(op):
                    if dynamic:
                        raise PassFailedException(
                            f"{describe(op)}: a function may have only one allocation in "
                            'scope "shared.dyn", and this is the second; merge them, as '
                            "tir-merge-shared-memory-allocations does"
                        )
                    dynamic.append(op)
                case _:
                    pass
        found.launches = [*axes.values(), *dynamic]
        return found

    def run(self) -> None:
        """Rewrite all calls, and then the functions that are called."""
        for caller, call in self._calls:
            callee = self._callee(caller, call)
            if callee is not None:
                self._lower(caller, call, self._functions[callee])
        for function in self._functions.values():
            self._update(function)

    def _callee(self, caller: tir.FuncOp, call: tir.CallFuncOp) -> tir.FuncOp | None:
        name = call.callee
        if not name.nested_references.data:
            parent = caller.parent_op()
            assert parent is not None, "held by the module"
            found = self._by_name[parent].get(name.root_reference.data)
            if found is not None:
                return found
        symbol = SymbolTable.lookup_symbol(call, name)
        if symbol is None:
            raise PassFailedException(
                f"{describe(call)}: calls {name}, which the module does not have; define "
                "or declare it"
            )
        return symbol if isinstance(symbol, tir.FuncOp) else None

    # ---- calls ----

    def _lower(self, caller: tir.FuncOp, call: tir.CallFuncOp, callee: _Function) -> None:
        source, target = target_of(caller), target_of(callee.func)
        if source is None or target is None or is_same_code(source, target):
            if call.result is not None:
                callee.called_by = describe(call)
            return
        inputs = callee.func.function_type.inputs
        if len(call.args) != len(inputs):
            raise PassFailedException(
                f"{describe(call)}: @{callee.func.sym_name.data} accepts {len(inputs)} "
                f"arguments as input, but is called using {len(call.args)} arguments"
            )
        arguments: list[SSAValue] = list(call.args)
        result_type = None if call.result is None else call.result.type
        if source.device_type == target.device_type:
            callee.extern_called_by = describe(call)
            builtin = "call_extern"
        else:
            callee.launched_by = describe(call)
            builtin = "tvm_call_packed"
            arguments += _launch_arguments(call, callee)
            result_type = i32 if result_type is None else result_type
        _require_one_kind_of_call(callee)
        name = tir.StringOp(callee.symbol)
        lowered = tir.CallOp(builtin, [name, *arguments], result_type)
        name.location = lowered.location = call.location
        lowered.attributes |= call.attributes
        hint = None if call.result is None else call.result.name_hint
        results = lowered.results if call.result is not None else ()
        Rewriter.replace_op(call, (name, lowered), results)
        if lowered.result is not None:
            lowered.result.name_hint = hint

    # ---- functions ----

    def _update(self, function: _Function) -> None:
        func = function.func
        if function.launched_by is None and function.extern_called_by is None:
            return
        self._require_own_symbol(function)
        func.attributes["tir.is_global_func"] = BoolAttr.from_bool(True)
        func.attributes.setdefault("global_symbol", StringAttr(function.symbol))
        if function.launched_by is not None:
            func.attributes["calling_conv"] = IntegerAttr(_DEVICE_KERNEL_LAUNCH, i32)
            func.attributes[KERNEL_LAUNCH_PARAMS] = ArrayAttr(
                map(StringAttr, function.parameters)
            )
            _return_nothing(function)

    def _require_own_symbol(self, function: _Function) -> None:
        other = self._exposed.setdefault(function.symbol, function.func)
        if other is not function.func:
            raise PassFailedException(
                f"tir.func @{function.func.sym_name.data}: needs the symbol "
                f"'{function.symbol}', which is the global_symbol of "
                f"@{other.sym_name.data}; rename one of them"
            )


def _is_dynamic_shared(op: tir.AllocateOp) -> bool:
    return StorageScope.parse(op.result.type.scope.data).is_dynamic_shared


def _add_axis(axes: dict[str, tir.LaunchThreadOp], op: tir.LaunchThreadOp) -> None:
    """Remember the first opening of an axis; others must have its extent."""
    first = axes.setdefault(op.tag.data, op)
    if first.extent is op.extent:
        return
    if polynomial(view(first.extent)) != polynomial(view(op.extent)):
        raise PassFailedException(
            f"{describe(op)}: opens {op.tag} with another extent than a launch before "
            "it, and a kernel is launched with one; let tir-unify-thread-binding check "
            "the extents, and give the axis one extent"
        )


def _require_one_kind_of_call(callee: _Function) -> None:
    launch, extern = callee.launched_by, callee.extern_called_by
    if launch is not None and extern is not None:
        raise PassFailedException(
            f"tir.func @{callee.func.sym_name.data}: has multiple callers, and would "
            "need to be lowered into a call_extern at some call sites, and a device "
            f"kernel launch at others ({extern}, {launch}); give "
            "each its own copy of the function"
        )


def _launch_arguments(call: tir.CallFuncOp, callee: _Function) -> list[SSAValue]:
    """The sizes of a launch, computed before the call."""
    block = call.parent
    assert block is not None, "held by the caller"
    if callee.func.is_declaration:
        raise PassFailedException(
            f"{describe(call)}: launches @{callee.func.sym_name.data}, whose thread axes "
            "are not known, since it has no body; define it"
        )

    def insert(op: Operation) -> None:
        op.location = call.location
        block.insert_op_before(op, call)

    def fail(launch: Launch, value: SSAValue) -> SSAValue:
        raise PassFailedException(
            f"{describe(launch)}: the size depends on what the kernel computes, which "
            f"its caller, {describe(call)}, cannot know; compute it of parameters and "
            "constants, without reads of memory"
        )

    values: dict[SSAValue, SSAValue] = dict(zip(callee.func.args, call.args, strict=True))
    found: list[SSAValue] = []
    for launch in callee.launches:
        copier = ExpressionCopier(_is_copied, partial(fail, launch), insert, values)
        if isinstance(launch, tir.LaunchThreadOp):
            found.append(copier.copy(launch.extent))
        else:
            extents = [
                extent if isinstance(extent, int) else copier.copy(extent)
                for extent in launch.shape
            ]
            found.append(_bytes(launch.result.type.element_type, extents, insert))
    return found


def _is_copied(op: Operation) -> bool:
    return isinstance(op, tir.LetOp) or (bool(op.results) and is_side_effect_free(op))


def _bytes(
    dtype: Attribute, extents: Sequence[_Size], insert: Callable[[Operation], None]
) -> SSAValue:
    """The product of extents and bytes of an element, from left to right."""
    total: _Size = 1
    for factor in (*extents, tir.lanes_of(dtype) * tir.bytes_of_lane(dtype)):
        if isinstance(total, int) and isinstance(factor, int):
            total *= factor
        elif total == 1:
            total = factor
        elif factor != 1:
            total = _product(total, factor, insert)
    return _value(total, i32, insert)


def _product(a: _Size, b: _Size, insert: Callable[[Operation], None]) -> SSAValue:
    types = [each.type for each in (a, b) if isinstance(each, SSAValue)]
    dtype = index_type_for(types[0]) if types[0] == types[-1] else i64
    op = tir.MulOp(_value(a, dtype, insert), _value(b, dtype, insert))
    insert(op)
    return op.result


def _value(
    number: _Size, dtype: Attribute, insert: Callable[[Operation], None]
) -> SSAValue:
    """A number as a value of an index type, a literal of `i64` where it must be."""
    if isinstance(number, int):
        op = tir.ConstOp(IntegerAttr(number, i32 if number < 1 << 31 else i64))
        insert(op)
        number = op.result
    if number.type in (dtype, i64):
        return number
    cast = tir.CastOp(number, dtype)
    insert(cast)
    return cast.result


def _return_nothing(function: _Function) -> None:
    """Let a kernel return no error code."""
    func = function.func
    outputs = func.function_type.outputs.data
    if outputs and function.called_by is not None:
        raise PassFailedException(
            f"{function.called_by}: uses the result of "
            f"@{func.sym_name.data}, which is launched as a kernel elsewhere and so "
            "returns nothing; give each caller its own copy of the function"
        )
    for op in function.returns:
        value = op.value
        if value is None:
            continue
        if not tir.is_constant(value, 0):
            raise PassFailedException(
                f"{describe(op)}: a device kernel may only contain successful return, "
                "tir.ret of the constant 0; store what it computes to memory"
            )
        if not _is_last(op, func):
            end = tir.RetOp()
            end.location = op.location
            Rewriter.replace_op(op, end)
        else:
            Rewriter.erase_op(op)
        erase_if_unused((value,))
    func.function_type = FunctionType.from_lists(func.function_type.inputs.data, ())


def _is_last(op: Operation, func: tir.FuncOp) -> bool:
    """Whether nothing runs after an op."""
    while op is not func:
        if op.next_op is not None:
            return False
        parent = op.parent_op()
        if not isinstance(parent, _ENDS_WITH_BODY):
            return False
        op = parent
    return True
