"""Calls of functions: TVM's `call_tir` and its kin, closures, functions of the runtime.

Names, parameters and defaults are TVM's (docs/spec/relax-ir.md §4, §5,
docs/spec/relax-ops.md §13, §14). All raise VerifyException for arguments that do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.relax.algebra import infer_call
from xdsl_tvm.dialects.tir.annotations import annotation_attr
from xdsl_tvm.relax.expr import Emittable, Expr, current_operands
from xdsl_tvm.relax.reading import Operands
from xdsl_tvm.relax.vocabulary import (
    Annotations,
    Dims,
    Extern,
    Indices,
    Outputs,
    Returned,
    ReturnedOrNothing,
    Value,
    Values,
    call_named,
)


def call_function(function: GlobalVar, args: Sequence[Emittable]) -> Expr:
    """The call of a Relax function of the module, which the variable stands for."""
    name, type_ = function.name_hint, function.struct_info
    if type_ is None:
        raise VerifyException(
            f"relax.call: @{name} is no Relax function; use relax.call_tir"
        )
    operands = current_operands()
    values = [operands.of(arg) for arg in args]
    result = infer_call(f"function {name}", type_, [value.type for value in values])
    return operands.expr(relax.CallOp(name, values, result, not type_.is_pure))


# ---- pieces ----


def _arguments(operands: Operands, args: Values) -> list[SSAValue]:
    """The operands of a call; a single argument may be given without a list."""
    return [operands.of(each) for each in ([args] if isinstance(args, Expr) else args)]


def _callee(name: str, gvar: object) -> str:
    if not isinstance(gvar, GlobalVar):
        raise VerifyException(
            f"relax.{name}: the function must be what add_func gave, not {gvar!r}"
        )
    return gvar.name_hint


def _outputs(types: Outputs) -> Attribute:
    return types if isinstance(types, Attribute) else relax.TupleType.of(types)


def _returned(types: Returned) -> Attribute:
    if isinstance(types, Attribute):
        return types
    if not types:
        return relax.OBJECT
    return types[0] if len(types) == 1 else relax.TupleType.of(types)


def _returned_or_nothing(types: ReturnedOrNothing) -> Attribute | None:
    return None if types is None else _returned(types)


def _indices(given: Indices) -> Sequence[int]:
    return [given] if isinstance(given, int) else given


# ---- functions of TIR ----


@call_named("call_tir")
def call_tir(
    operands: Operands,
    gvar: GlobalVar,
    args: Values,
    out_sinfo: Outputs,
    tir_vars: Dims = None,
) -> Expr:
    """The tensors that a TIR function writes, given the arguments.

    The function is checked when the module is complete.
    """
    name, result = _callee("call_tir", gvar), _outputs(out_sinfo)
    values = _arguments(operands, args)
    return operands.expr(relax.CallTIROp(name, values, result, tir_vars))


@call_named("call_tir_inplace")
def call_tir_inplace(
    operands: Operands,
    gvar: GlobalVar,
    args: Values,
    inplace_indices: Indices,
    out_sinfo: Outputs,
    tir_vars: Dims = None,
) -> Expr:
    """As `call_tir`, where output `i` is the argument `inplace_indices[i]`, -1 if new."""
    name, result = _callee("call_tir_inplace", gvar), _outputs(out_sinfo)
    values, indices = _arguments(operands, args), _indices(inplace_indices)
    op = relax.CallTIRInplaceOp(name, values, result, indices, tir_vars)
    return operands.expr(op)


@call_named("call_tir_with_grad")
def call_tir_with_grad(
    operands: Operands,
    gvar: GlobalVar,
    args: Values,
    out_sinfo: Outputs,
    te_grad_name: str,
    te_grad_kwargs: Annotations = None,
    tir_vars: Dims = None,
) -> Expr:
    """As `call_tir`, with what computes the gradient and its arguments."""
    name, result = _callee("call_tir_with_grad", gvar), _outputs(out_sinfo)
    values = _arguments(operands, args)
    given = {key: _annotation(key, v) for key, v in (te_grad_kwargs or {}).items()}
    op = relax.CallTIRWithGradOp(name, values, result, te_grad_name, given, tir_vars)
    return operands.expr(op)


def _annotation(key: str, value: object) -> Attribute:
    try:
        return annotation_attr(value)
    except ValueError as error:
        raise VerifyException(f"relax.call_tir_with_grad: {key}: {error}") from None


@call_named("vm.call_tir_dyn")
def call_tir_dyn(operands: Operands, func: GlobalVar, args: Values) -> Expr:
    """Call a TIR function; the last argument is a shape of its trailing integers."""
    name = _callee("vm.call_tir_dyn", func)
    return operands.expr(relax.VMCallTIRDynOp(name, _arguments(operands, args)))


# ---- functions of the runtime ----


@call_named("call_dps_packed")
def call_dps_packed(
    operands: Operands, func: Extern, args: Values, out_sinfo: Outputs
) -> Expr:
    """The tensors that a function of the runtime writes, given the arguments."""
    values, result = _arguments(operands, args), _outputs(out_sinfo)
    return operands.expr(relax.CallDPSPackedOp(func, values, result))


@call_named("call_packed")
def call_packed(
    operands: Operands, func: Extern, *args: Value, sinfo_args: ReturnedOrNothing = ()
) -> Expr:
    """What a function of the runtime returns, a `sinfo_args`; the call is impure."""
    values = [operands.of(arg) for arg in args]
    result = _returned_or_nothing(sinfo_args)
    return operands.expr(relax.CallPackedOp(func, values, result))


@call_named("call_pure_packed")
def call_pure_packed(
    operands: Operands, func: Extern, *args: Value, sinfo_args: Returned
) -> Expr:
    """What a function of the runtime without side effects returns, a `sinfo_args`."""
    values = [operands.of(arg) for arg in args]
    return operands.expr(relax.CallPurePackedOp(func, values, _returned(sinfo_args)))


@call_named("call_inplace_packed")
def call_inplace_packed(
    operands: Operands,
    func: Extern,
    *args: Value,
    inplace_indices: Indices,
    sinfo_args: Returned,
) -> Expr:
    """Call a function of the runtime that writes some of its arguments."""
    values = [operands.of(arg) for arg in args]
    result, indices = _returned(sinfo_args), _indices(inplace_indices)
    return operands.expr(relax.CallInplacePackedOp(func, values, result, indices))


@call_named("call_builtin_with_ctx")
def call_builtin_with_ctx(
    operands: Operands,
    func: Extern,
    args: Values,
    sinfo_args: ReturnedOrNothing = None,
) -> Expr:
    """Call a function of the virtual machine, which also gets the machine. Impure."""
    values = _arguments(operands, args)
    result = _returned_or_nothing(sinfo_args or None)
    return operands.expr(relax.CallBuiltinWithCtxOp(func, values, result))


@call_named("null_value")
def null_value(operands: Operands) -> Expr:
    """No object."""
    return operands.expr(relax.NullValueOp())


# ---- closures ----


@call_named("make_closure")
def make_closure(operands: Operands, func: GlobalVar, args: Values) -> Expr:
    """A function of the module with its last arguments given."""
    name = _callee("make_closure", func)
    return operands.expr(relax.MakeClosureOp(name, _arguments(operands, args)))


@call_named("invoke_closure")
def invoke_closure(
    operands: Operands, closure: Value, args: Values, sinfo_args: Returned = None
) -> Expr:
    """Call a closure that may have effects."""
    callee, values = operands.of(closure), _arguments(operands, args)
    return operands.expr(relax.InvokeClosureOp(callee, values, _returned(sinfo_args)))


@call_named("invoke_pure_closure")
def invoke_pure_closure(
    operands: Operands, closure: Value, args: Values, sinfo_args: Returned = None
) -> Expr:
    """Call a closure that has no effects."""
    callee, values = operands.of(closure), _arguments(operands, args)
    result = _returned(sinfo_args)
    return operands.expr(relax.InvokePureClosureOp(callee, values, result))
