"""Calls of functions, TVM's `call_tir` and its kin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.algebra import infer_call
from xdsl_tvm.dialects.relax.symbolic import DimLike
from xdsl_tvm.dialects.tir.annotations import annotation_attr
from xdsl_tvm.relax.expr import Expr, Operands


class GlobalVar:
    """A function of the module that is built; calling it calls a Relax function."""

    def __init__(self, name_hint: str, struct_info: relax.FuncType | None = None) -> None:
        self.name_hint = name_hint
        self.struct_info = struct_info
        """The type of a Relax function, None for a TIR function."""

    def __call__(self, *args: Expr) -> Expr:
        """The call of a Relax function. Raises VerifyException for wrong arguments."""
        if self.struct_info is None:
            raise VerifyException(
                f"relax.call: @{self.name_hint} is no Relax function; use relax.call_tir"
            )
        operands = Operands()
        values = operands.all_of(args)
        where = f"relax.call: @{self.name_hint}"
        result = infer_call(where, self.struct_info, [a.struct_info for a in args])
        impure = not self.struct_info.is_pure
        return operands.expr(relax.CallOp(self.name_hint, values, result, impure))


OutSInfo: TypeAlias = Attribute | Sequence[Attribute]
"""The struct info of one output, or of several."""


def _callee(gvar: object) -> str:
    if not isinstance(gvar, GlobalVar):
        raise VerifyException(
            f"relax.call_tir: the function must be what add_func gave, not {gvar!r}"
        )
    return gvar.name_hint


def _result(out_sinfo: OutSInfo) -> Attribute:
    if isinstance(out_sinfo, Attribute):
        return out_sinfo
    return relax.TupleType.of(out_sinfo)


def call_tir(
    gvar: GlobalVar,
    args: Expr | Sequence[Expr],
    out_sinfo: OutSInfo,
    tir_vars: Sequence[DimLike] | None = None,
) -> Expr:
    """The tensors that a TIR function writes, given the arguments.

    The function is checked when the module is complete.
    """
    operands = Operands()
    values = operands.all_of(args)
    name, result = _callee(gvar), _result(out_sinfo)
    return operands.expr(relax.CallTIROp(name, values, result, tir_vars))


def call_tir_inplace(
    gvar: GlobalVar,
    args: Expr | Sequence[Expr],
    inplace_indices: int | Sequence[int],
    out_sinfo: OutSInfo,
    tir_vars: Sequence[DimLike] | None = None,
) -> Expr:
    """As `call_tir`, where output `i` is the argument `inplace_indices[i]`, -1 if new."""
    operands = Operands()
    values = operands.all_of(args)
    indices = [inplace_indices] if isinstance(inplace_indices, int) else inplace_indices
    name, result = _callee(gvar), _result(out_sinfo)
    op = relax.CallTIRInplaceOp(name, values, result, indices, tir_vars)
    return operands.expr(op)


def call_tir_with_grad(
    gvar: GlobalVar,
    args: Expr | Sequence[Expr],
    out_sinfo: OutSInfo,
    te_grad_name: str,
    te_grad_kwargs: Mapping[str, object] | None = None,
    tir_vars: Sequence[DimLike] | None = None,
) -> Expr:
    """As `call_tir`, with what computes the gradient and its arguments."""
    operands = Operands()
    values = operands.all_of(args)
    given = {key: _annotation(key, v) for key, v in (te_grad_kwargs or {}).items()}
    op = relax.CallTIRWithGradOp(
        _callee(gvar), values, _result(out_sinfo), te_grad_name, given, tir_vars
    )
    return operands.expr(op)


def _annotation(key: str, value: object) -> Attribute:
    try:
        return annotation_attr(value)
    except ValueError as error:
        raise VerifyException(f"relax.call_tir_with_grad: {key}: {error}") from None


def call_dps_packed(func: str, args: Expr | Sequence[Expr], out_sinfo: OutSInfo) -> Expr:
    """The tensors that a function of the runtime writes, given the arguments."""
    operands = Operands()
    values = operands.all_of(args)
    return operands.expr(relax.CallDPSPackedOp(func, values, _result(out_sinfo)))


def call_pure_packed(func: str, *args: Expr, sinfo_args: Attribute) -> Expr:
    """What a function of the runtime without side effects returns, a `sinfo_args`."""
    operands = Operands()
    values = operands.all_of(args)
    return operands.expr(relax.CallPurePackedOp(func, values, sinfo_args))


def call_packed(func: str, *args: Expr, sinfo_args: Attribute) -> Expr:
    """What a function of the runtime returns, a `sinfo_args`; the call is impure."""
    operands = Operands()
    values = operands.all_of(args)
    return operands.expr(relax.CallPackedOp(func, values, sinfo_args))
