"""Functions get the packed signature, which all languages can call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    StringAttr,
    i32,
)
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Value
from xdsl_tvm.analysis.tir.variable_names import variable_name
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import ABI_KEY
from xdsl_tvm.dialects.tir.data_types import Abi
from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._packed_abi.binder import HANDLE
from xdsl_tvm.passes.tir._packed_abi.conventions import (
    Convention,
    FfiConvention,
    PackedConvention,
    kind_of_number,
)
from xdsl_tvm.passes.tir._packed_abi.exposed import (
    Exposed,
    calls_of,
    exposed_functions,
    move_body,
    set_signature,
)
from xdsl_tvm.passes.tir.rewriting.statements import describe

_CONTEXT = "device_api_context"
"""The name of a parameter that is the handle of the resource, and no argument."""
_PACKED: Final = IntegerAttr(1, i32)
_UI64: Final = IntegerType(64, Signedness.UNSIGNED)
_CONVENTIONS: Final[Mapping[str, type[Convention]]] = {
    Abi.PACKED.value: PackedConvention,
    Abi.FFI.value: FfiConvention,
}


@dataclass(frozen=True)
class MakePackedAPI(CompilerPass):
    """Summary: Gives visible functions the packed signature, with checks of arguments.

    TVM name: tir.MakePackedAPI (v0.20)
    Input form: any; functions have the attribute `target`; after SplitHostDevice
    Output form: `packed`
    Options: `abi`: the convention: `packed`, by default, is that of TVM 0.20; `ffi` is
        that of `tvm-ffi`, which TVM has used since
    Rewrites: functions with `global_symbol`, no `calling_conv` and a target with a host.
        Before, with `global_symbol = "f"` and a target `cuda` with the host `llvm`

            tir.func @f(%a: !tir.handle) {
              %n = tir.shape_var "n" : i32
              %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
              …
            }

        after, with `calling_conv = 1` and the target `llvm`

            tir.func @f(%args: !tir.handle, %arg_type_ids: !tir.ptr<i32>, %num_args: i32,
                %out_ret_value: !tir.ptr<none>, %out_ret_tcode: !tir.ptr<i32>,
                %resource_handle: !tir.handle) -> i32 {
              %0 = tir.cmp eq %num_args, %c1 : i32
              tir.assert %0, "f: num_args should be 1"
              …
              tir.attr "compute_scope" (0 : i32) = "f_compute_" {
                …
              }
              tir.ret %c0 : i32
            }

        Arguments are in `args`, their type codes in `arg_type_ids`. Assertions check, in
        this order: the number of arguments and all type codes; then of each array that it
        is not null and its rank; then of each array dtype, extents, strides, offset,
        device, and that it has data. A variable is bound by the first extent, stride or
        offset that it is; all else is compared. Buffers are declared on the pointers of
        the arrays, whose alignment is stated. `tir.attr "device_id"` and `"device_type"`
        are around the body of a function with arrays; for a device other than a CPU,
        `__tvm_set_device` is called first.
        `tir.ret %x` stores the value and its type code to `out_ret_value` and
        `out_ret_tcode`, and returns 0. Calls of these functions become
        `tir.call "tvm_call_cpacked"` of the symbol. A parameter of the name
        `device_api_context` is the handle of the resource, and no argument. Time is
        linear in the size of the module.
        With `abi=ffi` the signature is `(%self_handle: !tir.handle, %args: !tir.handle,
        %num_args: i32, %result: !tir.handle) -> i32`, and the function has the attribute
        `tir.abi = "ffi"`. Arguments say what they are: the fields `ANY_TYPE_INDEX`,
        `ANY_VALUE` and `ANY_POINTER` of `tir.StructField`. An array is a DLTensor or a
        Tensor; integers are passed for floats, too. Types of elements have DLPack's
        numbers: booleans of 8 bits, narrow floats. `tir.ret %x` makes `result` a number.
    Leaves alone: private functions, declarations, functions of another calling
        convention, or with a target without a host; calls of them
    Errors: a visible function without `target`; a parameter that has no type code:
        vectors, bf16, 8-bit floats, custom dtypes; an array of a dtype that DLPack has no
        code for; an extent, stride or offset that no argument can meet; variables that no
        argument defines; a `tir.ret` in a parallel loop or a thread of a device, or of a
        value that is no number; another `abi`; with `abi=ffi`, a call of a function whose
        signature changes
    Attributes: read: `global_symbol`, `calling_conv`, `target`; created: `calling_conv`,
        `tir.abi`; `target` becomes the host; removed: none
    Differs from TVM: `abi` is ours. Calls are rewritten only where the function is; TVM
        calls functions without a host by another convention than theirs. The strides of
        an array are declared with as many elements as are read. Arrays of 1-bit and 4-bit
        integers are checked like others. The type codes are declared without that of
        `device_api_context`, which may be in any place; TVM then reads the wrong
        arguments after it. `tir.ret` without a value ends the function, which TVM
        refuses. Conditions that are constantly true are not asserted. Of a buffer that
        broadcasts, whose memory is also accessed by its pointer, a compact array is
        asked for; TVM ignores the strides there.
    """

    name = "tir-make-packed-api"

    abi: str = "packed"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convention = _CONVENTIONS.get(self.abi)
        if convention is None:
            known = ", ".join(_CONVENTIONS)
            raise PassFailedException(
                f"{self.name}: abi is '{self.abi}'; use one of {known}"
            )
        exposed = exposed_functions(op, "MakePackedAPI")
        for _, call, callee in calls_of(op):
            if callee in exposed:
                if convention.abi is Abi.FFI:
                    raise _called(call, callee)
                _call_packed(call, exposed[callee].symbol)
        for each in exposed.values():
            _Conversion(each, convention(each.func, each.symbol)).run()


def _called(call: tir.CallFuncOp, callee: tir.FuncOp) -> PassFailedException:
    return PassFailedException(
        f"{describe(call)}: calls of functions with abi=ffi are not supported; let "
        f"@{callee.sym_name.data} be private, or inline it"
    )


def _call_packed(call: tir.CallFuncOp, symbol: str) -> None:
    name = tir.StringOp(symbol)
    zero = tir.ConstOp(IntegerAttr(0, _UI64))
    null = tir.CallOp("reinterpret", [zero.result], HANDLE)
    result_type = None if call.result is None else call.result.type
    args = [name.result, *call.args, null.results[0]]
    lowered = tir.CallOp("tvm_call_cpacked", args, result_type)
    lowered.attributes |= call.attributes
    ops: list[Operation] = [name, zero, null, lowered]
    for op in ops:
        op.location = call.location
    results = lowered.results if call.result is not None else ()
    hint = None if call.result is None else call.result.name_hint
    Rewriter.replace_op(call, ops, results)
    if lowered.result is not None:
        lowered.result.name_hint = hint


class _Conversion:
    """The new signature of a function."""

    def __init__(self, exposed: Exposed, convention: Convention) -> None:
        self._exposed = exposed
        self._convention = convention
        self._func = exposed.func
        self._symbol = exposed.symbol
        old = exposed.func.body.block
        context = [p for p in old.args if variable_name(p) == _CONTEXT]
        self._context: BlockArgument | None = context[0] if context else None
        self._parameters = [p for p in old.args if p is not self._context]
        self._new = convention.block
        for arg, name in zip(self._new.args, self._names(), strict=True):
            arg.name_hint = name
        self._binder = convention.binder

    def _names(self) -> list[str]:
        names = [name for name, _ in self._convention.signature]
        if self._context is not None:
            names[self._convention.context] = _CONTEXT
        return names

    def run(self) -> None:
        """Replace the body and the signature."""
        returns = _Returns(self._func, self._convention)
        self._convention.check(self._parameters)
        self._bind_parameters()
        device_type = self._exposed.target.device_type
        matches = self._func.buffer_map.items()
        for _, match in sorted(matches, key=lambda item: item[0].index):
            self._binder.bind_array(match, int(device_type))
        self._enter_device(device_type)
        self._binder.write_checks()
        self._binder.declare_arrays()
        self._binder.replace_variables()
        self._set_device(device_type)
        returns.rewrite()
        self._compute()
        set_signature(self._exposed, self._new, self._names())
        self._func.attributes["calling_conv"] = _PACKED
        if self._convention.abi is Abi.FFI:
            self._func.attributes[ABI_KEY] = StringAttr(Abi.FFI.value)

    def _bind_parameters(self) -> None:
        binder = self._binder
        if self._context is not None:
            binder.rename(self._context, self._new.args[self._convention.context])
        for index, parameter in enumerate(self._parameters):
            binder.bind_parameter(parameter, self._convention.value(index, parameter))

    # ---- the body ----

    def _enter_device(self, device_type: DeviceType) -> None:
        device_id = self._binder.device_id
        if device_id is None:
            return
        default = StringAttr("default")
        number = IntegerAttr(int(device_type), i32)
        self._binder.enter("device_id", default, self._binder.code.value(device_id))
        self._binder.enter("device_type", default, number)

    def _set_device(self, device_type: DeviceType) -> None:
        code, device_id = self._binder.code, self._binder.device_id
        if device_id is None or device_type is DeviceType.CPU:
            return
        name = tir.StringOp("__tvm_set_device")
        code.insert(name)
        args = (Value(name.result), smart.const(int(device_type), i32), device_id)
        code.call("tvm_call_packed", args, i32)

    def _compute(self) -> None:
        code = self._binder.code
        scope = StringAttr(f"{self._symbol}_compute_")
        with code.attribute("compute_scope", IntegerAttr(0, i32), scope):
            move_body(self._func, code)
        code.insert(tir.RetOp(code.value(smart.const(0, i32))))


class _Returns:
    """The `tir.ret` of a function, which store what they return."""

    def __init__(self, func: tir.FuncOp, convention: Convention) -> None:
        self._convention = convention
        self._found = ops_of(func, tir.RetOp)
        for op in self._found:
            _require_one_thread(op, func)

    def rewrite(self) -> None:
        """Store the values, as the convention has it."""
        for op in self._found:
            ops = [] if op.value is None else self._stores(op, op.value)
            zero = tir.ConstOp(IntegerAttr(0, i32))
            end = tir.RetOp(zero.result)
            new = [*ops, zero, end]
            for each in new:
                each.location = op.location
            Rewriter.replace_op(op, new, ())

    def _stores(self, op: tir.RetOp, value: SSAValue) -> list[Operation]:
        kind = kind_of_number(value.type)
        if kind is None:
            raise PassFailedException(
                f"{describe(op)}: data type {tir.dtype_name(value.type)} not supported "
                "yet as a result of a packed function; return a number of up to 64 bits, "
                "or store to an array"
            )
        return self._convention.store(value, kind)


def _require_one_thread(op: tir.RetOp, func: tir.FuncOp) -> None:
    parent = op.parent_op()
    while parent is not None and parent is not func:
        is_parallel = isinstance(parent, tir.ForOp) and parent.kind.data not in _IN_ORDER
        if is_parallel or isinstance(parent, tir.LaunchThreadOp):
            raise PassFailedException(
                f"{describe(op)}: tir.ret cannot be used in parallel scope, where each "
                "thread would return; store a result, and return after the loop"
            )
        parent = parent.parent_op()


_IN_ORDER = (tir.ForKind.SERIAL, tir.ForKind.UNROLLED)
