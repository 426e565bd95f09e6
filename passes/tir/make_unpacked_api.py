"""Functions get the signature of a C function."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import (
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.tir.variable_names import buffer_variable_name, variable_name
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._packed_abi.exposed import (
    Exposed,
    calls_of,
    exposed_functions,
    move_body,
    replace_buffer,
    set_signature,
)
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode
from xdsl_tvm.passes.tir.rewriting.memory_views import take_after
from xdsl_tvm.passes.tir.rewriting.statements import describe

_ARRAY = "tvm_stack_make_array"
_ZERO: Final = IntegerAttr(0, i32)


@dataclass(frozen=True)
class MakeUnpackedAPI(CompilerPass):
    """Summary: Gives visible functions the signature of a C function, without checks.

    TVM name: tir.MakeUnpackedAPI (v0.20)
    Input form: any; functions have the attribute `target`; after SplitHostDevice
    Output form: the same; no buffers of parameters in the functions that change
    Options: none
    Rewrites: functions with `global_symbol`, no `calling_conv` and a target with a host.
        Before, with a target `llvm` that has the host `llvm`

            tir.func @f(%a: !tir.handle, %k: i32) {
              %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
              …
            }

        after, with the host as target

            tir.func @f(%A: !tir.ptr<f32>, %k: i32) -> i32 {
              %A_1 = tir.decl_buffer "A" %A {implicit} : !tir.buffer<4xf32>
              tir.attr "device_id" ("default") = 0 : i32 {
                tir.attr "device_type" ("default") = 1 : i32 {
                  …
                  tir.ret %c0 : i32
                }
              }
            }

        An array is passed as its data, a function returns 0. The attributes are there
        where the function has arrays, with the type of the device of its former target.
        Calls of these functions return an `i32`, and pass the data of arrays that
        `tir.call "tvm_stack_make_array"` makes. Time is linear in the size of the module.
    Leaves alone: private functions, declarations, functions of another calling
        convention, or with a target without a host; calls of them; a `tir.ret` of the
        function, whose value is its status then
    Errors: a visible function without `target`; an extent, stride or offset that is a
        variable, and no parameter; a call that passes a handle for an array whose data is
        not known; a function that returns something else than an `i32`
    Attributes: read: `global_symbol`, `calling_conv`; created: none; `target` becomes the
        host; removed: none
    Differs from TVM: calls are rewritten only where the function is. Variables of shapes
        that no parameter gives are an error; they are undefined in TVM. A function that
        returns a value of another type than `i32` is refused; TVM returns it as the
        status. `tir.ret` without a value returns 0. One array that is passed for two
        buffers is two parameters.
    """

    name = "tir-make-unpacked-api"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        exposed = exposed_functions(op, "MakeUnpackedAPI")
        calls = calls_of(op)
        for each in exposed.values():
            _convert(each)
        for _, call, callee in calls:
            if callee in exposed:
                _update_call(call, callee)


def _convert(exposed: Exposed) -> None:
    func, old = exposed.func, exposed.func.body.block
    matches = func.buffer_map
    _require_status(func)
    names = [
        buffer_variable_name(matches[arg].buffer)
        if arg in matches
        else variable_name(arg)
        for arg in old.args
    ]
    new = Block(
        arg_types=[
            matches[arg].type.pointer_type if arg in matches else arg.type
            for arg in old.args
        ]
    )
    for arg, parameter, name in zip(old.args, new.args, names, strict=True):
        set_name_hint(parameter, name)
        match = matches.get(arg)
        if match is None:
            arg.replace_all_uses_with(parameter)
        else:
            _declare(match, parameter)
    _erase_variables(func)
    code = LoopCode(InsertPoint.at_end(new))
    with ExitStack() as scopes:
        if matches:
            default, number = StringAttr("default"), exposed.target.device_type
            device_type = IntegerAttr(int(number), i32)
            scopes.enter_context(code.attribute("device_id", default, _ZERO))
            scopes.enter_context(code.attribute("device_type", default, device_type))
        move_body(func, code)
        code.insert(tir.RetOp(code.value(smart.const(0, i32))))
    set_signature(exposed, new, names)


def _require_status(func: tir.FuncOp) -> None:
    """Refuse what would return something else than a status."""
    for op in func.walk():
        if not isinstance(op, tir.RetOp):
            continue
        if op.value is None:
            zero = tir.ConstOp(_ZERO)
            end = tir.RetOp(zero.result)
            zero.location = end.location = op.location
            Rewriter.replace_op(op, (zero, end), ())
        elif op.value.type != i32:
            raise PassFailedException(
                f"{describe(op)}: returns a {tir.dtype_name(op.value.type)}, and the "
                "value of a function of the C signature is its status, an int32; store "
                "the result to an array"
            )


def _declare(match: tir.MatchBufferOp, pointer: SSAValue) -> None:
    """Put a buffer on a pointer in the place of the matched one."""
    new = tir.DeclBufferOp(
        pointer,
        match.type,
        match.extents,
        strides=match.layout_strides,
        elem_offset=match.elem_offset,
    )
    take_after(new, match, "operandSegmentSizes")
    new.properties["implicit"] = UnitAttr()
    block = match.parent
    assert block is not None, "held by the function"
    block.insert_op_before(new, match)
    replace_buffer(match, new)


def _erase_variables(func: tir.FuncOp) -> None:
    """Erase the variables of shapes; raises PassFailedException if one is used."""
    for op in list(func.body.block.ops):
        if not isinstance(op, tir.ShapeVarOp):
            continue
        if op.result.first_use is not None:
            raise PassFailedException(
                f"tir.func @{func.sym_name.data}: the variable '{op.var_name.data}' of a "
                "shape is no parameter, and the C signature passes no shapes; add a "
                "parameter for it, or use tir-make-packed-api"
            )
        Rewriter.erase_op(op)


def _update_call(call: tir.CallFuncOp, callee: tir.FuncOp) -> None:
    """Pass data in the place of arrays, and let the call return a status."""
    inputs = callee.function_type.inputs.data
    arguments = [_data_of(argument) for argument in call.args]
    for dtype, argument in zip(inputs, arguments, strict=False):
        if isinstance(dtype, tir.PtrType) and not isinstance(argument.type, tir.PtrType):
            raise PassFailedException(
                f"{describe(call)}: passes a {argument.type} for an array of "
                f"@{callee.sym_name.data}, whose data is not known; pass the data of a "
                "buffer"
            )
    new = tir.CallFuncOp(call.callee, arguments, i32)
    new.attributes |= call.attributes
    new.location = call.location
    hint = None if call.result is None else call.result.name_hint
    Rewriter.replace_op(call, new, new.results if call.result is not None else ())
    new.results[0].name_hint = hint


def _data_of(argument: SSAValue) -> SSAValue:
    owner = argument.owner
    if isinstance(owner, tir.CallOp) and owner.callee.data == _ARRAY:
        return owner.args[0]
    return argument
