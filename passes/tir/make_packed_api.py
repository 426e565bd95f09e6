"""Functions get the packed signature, which all languages can call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NoneType,
    Signedness,
    StringAttr,
    UnitAttr,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Value
from xdsl_tvm.analysis.tir.variable_names import variable_name
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.builtin_rules import StructField
from xdsl_tvm.dialects.tir.data_types import TypeCode
from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._packed_abi.binder import HANDLE, ArgumentBinder, is_null
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
_SIGNATURE: Final[tuple[tuple[str, Attribute], ...]] = (
    ("args", HANDLE),
    ("arg_type_ids", tir.PtrType(i32)),
    ("num_args", i32),
    ("out_ret_value", tir.PtrType(NoneType())),
    ("out_ret_tcode", tir.PtrType(i32)),
    ("resource_handle", HANDLE),
)
_PACKED: Final = IntegerAttr(1, i32)
_UI64: Final = IntegerType(64, Signedness.UNSIGNED)


@dataclass(frozen=True)
class _Accepted:
    """How a parameter is passed."""

    codes: tuple[TypeCode, ...]
    """The type codes that it may have, in the order of the check."""
    kind: str
    """What errors call it."""
    passed_as: Attribute
    """The type of the value in the union."""


_POINTER = _Accepted(
    (TypeCode.HANDLE, TypeCode.NDARRAY, TypeCode.DLTENSOR, TypeCode.NULL),
    "pointer",
    HANDLE,
)
_BOOL = _Accepted((TypeCode.BOOL, TypeCode.INT), "boolean", i64)
_INT = _Accepted((TypeCode.INT, TypeCode.BOOL), "int", i64)
_FLOAT = _Accepted((TypeCode.FLOAT,), "float", f64)


@dataclass(frozen=True)
class MakePackedAPI(CompilerPass):
    """Summary: Gives visible functions the packed signature, with checks of arguments.

    TVM name: tir.MakePackedAPI (v0.20)
    Input form: any; functions have the attribute `target`; after SplitHostDevice
    Output form: `packed`
    Options: none
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
    Leaves alone: private functions, declarations, functions of another calling
        convention, or with a target without a host; calls of them
    Errors: a visible function without `target`; a parameter that has no type code:
        vectors, bf16, 8-bit floats, custom dtypes; an array of a dtype that DLPack has no
        code for; an extent, stride or offset that no argument can meet; variables that no
        argument defines; a `tir.ret` in a parallel loop or a thread of a device, or of a
        value that is no number
    Attributes: read: `global_symbol`, `calling_conv`, `target`; created: `calling_conv`;
        `target` becomes the host; removed: none
    Differs from TVM: calls are rewritten only where the function is; TVM calls functions
        without a host by another convention than theirs. The strides of an array are
        declared with as many elements as are read. Arrays of 1-bit and 4-bit integers are
        checked like others. The type codes are declared without that of
        `device_api_context`, which may be in any place; TVM then reads the wrong
        arguments after it. `tir.ret` without a value ends the function, which TVM
        refuses. Conditions that are constantly true are not asserted. Of a buffer that
        broadcasts, whose memory is also accessed by its pointer, a compact array is
        asked for; TVM ignores the strides there.
    """

    name = "tir-make-packed-api"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        exposed = exposed_functions(op, "MakePackedAPI")
        for _, call, callee in calls_of(op):
            if callee in exposed:
                _call_packed(call, exposed[callee].symbol)
        for each in exposed.values():
            _Conversion(each).run()


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

    def __init__(self, exposed: Exposed) -> None:
        self._exposed = exposed
        self._func = exposed.func
        self._symbol = exposed.symbol
        self._old = exposed.func.body.block
        context = [p for p in self._old.args if variable_name(p) == _CONTEXT]
        self._context: BlockArgument | None = context[0] if context else None
        self._parameters = [p for p in self._old.args if p is not self._context]
        self._new = Block(arg_types=[dtype for _, dtype in _SIGNATURE])
        for arg, name in zip(self._new.args, self._names(), strict=True):
            arg.name_hint = name
        self._binder = ArgumentBinder(self._func, self._symbol, self._new)

    def _names(self) -> list[str]:
        names = [name for name, _ in _SIGNATURE]
        return names if self._context is None else [*names[:-1], _CONTEXT]

    def run(self) -> None:
        """Replace the body and the signature."""
        returns = _Returns(self._func, self._new.args[3], self._new.args[4])
        self._check_codes()
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
        returns.rewrite(self._binder)
        self._compute()
        set_signature(self._exposed, self._new, self._names())
        self._func.attributes["calling_conv"] = _PACKED

    # ---- arguments ----

    def _check_codes(self) -> None:
        """Check what must hold before an argument is read, and what all of them are."""
        binder, symbol = self._binder, self._symbol
        args, codes, count, *_ = (Value(arg) for arg in self._new.args)
        length = len(self._parameters)
        binder.check(smart.eq(count, length), f"{symbol}: num_args should be {length}")
        if length:
            for pointer, what in ((args, "TVMValue* arg"), (codes, "int* type_codes")):
                has_value = smart.negation(is_null(pointer))
                name = what if pointer is codes else f"{what} pointer"
                binder.check(has_value, f"{symbol}: {name} was NULL")
        buffer = binder.declared("arg_type_ids", codes, length, i32)
        for index, parameter in enumerate(self._parameters):
            accepted = self._accepted(parameter)
            loaded = binder.code.load(buffer, smart.const(index, i32))
            code = binder.code.let(f"{variable_name(parameter)}.code", loaded)
            tests = [smart.eq(code, int(each)) for each in accepted.codes]
            binder.check(
                reduce(smart.disjunction, tests),
                f"{symbol}: Expect arg[{index}] to be {accepted.kind}",
            )

    def _accepted(self, parameter: BlockArgument) -> _Accepted:
        dtype = parameter.type
        if tir.is_handle(dtype):
            return _POINTER
        if dtype == i1:
            return _BOOL
        if tir.is_scalar(dtype) and tir.is_integer(dtype):
            return _INT
        if dtype in _FLOATS:
            return _FLOAT
        raise PassFailedException(
            f"tir.func @{self._func.sym_name.data}: the parameter "
            f"'{variable_name(parameter)}' is a {tir.dtype_name(dtype)}, which no packed "
            "argument is; pass integers, floats of 16 to 64 bits, pointers, or arrays"
        )

    def _bind_parameters(self) -> None:
        binder = self._binder
        args = Value(self._new.args[0])
        if self._context is not None:
            binder.rename(self._context, self._new.args[5])
        for index, parameter in enumerate(self._parameters):
            passed_as = self._accepted(parameter).passed_as
            value = binder.field(args, index, StructField.VALUE_CONTENT, passed_as)
            if passed_as != HANDLE:
                value = smart.cast(parameter.type, value)
            binder.bind_parameter(parameter, value)

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


_FLOATS: Final = tuple(map(tir.parse_dtype, ("float16", "float32", "float64")))


@dataclass(frozen=True)
class _Returned:
    """How a value is returned."""

    code: TypeCode
    dtype: Attribute
    """That of the element which holds it."""


class _Returns:
    """The `tir.ret` of a function, which store what they return."""

    def __init__(self, func: tir.FuncOp, value: SSAValue, code: SSAValue) -> None:
        self._value = value
        self._code = code
        self._found = [op for op in func.walk() if isinstance(op, tir.RetOp)]
        self._views: dict[Attribute, SSAValue] = {}
        for op in self._found:
            _require_one_thread(op, func)

    def rewrite(self, binder: ArgumentBinder) -> None:
        """Store the values; views of the memory are declared where the binder writes."""
        for op in self._found:
            ops = self._stores(op, binder) if op.value is not None else []
            zero = tir.ConstOp(IntegerAttr(0, i32))
            end = tir.RetOp(zero.result)
            new = [*ops, zero, end]
            for each in new:
                each.location = op.location
            Rewriter.replace_op(op, new, ())

    def _stores(self, op: tir.RetOp, binder: ArgumentBinder) -> list[Operation]:
        value = op.value
        assert value is not None, "asked by the caller"
        returned = _returned(op, value.type)
        view = self._view(binder, self._value, returned.dtype, "out_ret_value")
        codes = self._view(binder, self._code, i32, "out_ret_tcode")
        # The cast is there for each type, as in the text of TVM.
        cast = tir.CastOp(value, returned.dtype)
        place = tir.ConstOp(IntegerAttr(0, i32))
        code = tir.ConstOp(IntegerAttr(int(returned.code), i32))
        return [
            cast,
            place,
            code,
            tir.StoreOp(cast.result, view, [place.result]),
            tir.StoreOp(code.result, codes, [place.result]),
        ]

    def _view(
        self, binder: ArgumentBinder, pointer: SSAValue, dtype: Attribute, name: str
    ) -> SSAValue:
        found = self._views.get(dtype)
        if found is None:
            buffer_type = tir.BufferType([1], dtype)
            op = tir.DeclBufferOp(pointer, buffer_type, strides=[1], name=name)
            op.properties["implicit"] = UnitAttr()
            binder.code.insert(op)
            found = self._views[dtype] = op.buffer
        return found


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


def _returned(op: tir.RetOp, dtype: Attribute) -> _Returned:
    if dtype == i1:
        return _Returned(TypeCode.BOOL, i64)
    if tir.is_scalar(dtype) and tir.is_integer(dtype):
        return _Returned(TypeCode.INT, i64)
    if dtype in _FLOATS:
        return _Returned(TypeCode.FLOAT, f64)
    raise PassFailedException(
        f"{describe(op)}: data type {tir.dtype_name(dtype)} not supported yet as a "
        "result of a packed function; return a number of up to 64 bits, or store to an "
        "array"
    )
