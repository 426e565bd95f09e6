"""TIR functions as Relax sees them (docs/spec/relax-ir.md §1.2, §4.3)."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.relax.algebra import infer_call, is_base_of
from xdsl_tvm.dialects.relax.calls import AnyCallTIROp
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import (
    OBJECT,
    FuncType,
    PrimType,
    TensorInfo,
    TupleType,
)


def parameter_types(func: tir.FuncOp) -> list[Attribute]:
    """The types of what a Relax call passes to a TIR function.

    A handle with a buffer is a tensor of its shape, where the extents that are not
    constant become symbols; a scalar is a scalar of that value; anything else is an
    object.
    """
    names: dict[SSAValue, Dim] = {}
    return [_parameter_type(arg, names) for arg in func.args]


def _parameter_type(arg: BlockArgument, names: dict[SSAValue, Dim]) -> Attribute:
    type_: Attribute = arg.type
    if isinstance(arg.type, IntegerType):
        return PrimType.of(type_, _extent(arg, names))
    for use in arg.uses:
        match = use.operation
        if isinstance(match, tir.MatchBufferOp):
            dims = [_extent(extent, names) for extent in match.shape]
            return TensorInfo.shaped(dims, match.type.element_type).type
    return OBJECT


def _extent(extent: SSAValue | int, names: dict[SSAValue, Dim]) -> Dim | None:
    if isinstance(extent, int):
        return Dim.constant(extent)
    is_variable = isinstance(extent, BlockArgument) or isinstance(
        extent.owner, tir.ShapeVarOp
    )
    return names.setdefault(extent, Dim.symbol(f"s{len(names)}")) if is_variable else None


def verify_call_tir(call: AnyCallTIROp, callee: tir.FuncOp) -> None:
    """Check a call against the function that it names, as `FValidate`.

    docs/spec/relax-ir.md §4.3.

    Raises VerifyException for a wrong number of arguments, and for an argument or a
    result that the function cannot take.
    """
    if callee.is_declaration:
        return
    params = parameter_types(callee)
    outputs = call.outputs
    dims = () if call.tir_vars is None else call.tir_vars.known or ()
    args, places = len(call.arguments), call.output_arguments
    new = places.count(-1)
    if len(params) != args + new + len(dims):
        raise VerifyException(
            f"{call.name}: {call.callee} has {len(params)} parameters, the call gives "
            f"{args} arguments, {new} results and {len(dims)} tir_vars"
        )
    last = args + new
    buffers = iter(params[args:last])
    written = [params[place] if place >= 0 else next(buffers) for place in places]
    scalars = [
        PrimType.of(param.dtype, dim)
        if isinstance(param, PrimType)
        else PrimType.of(i64, dim)
        for param, dim in zip(params[last:], dims, strict=True)
    ]
    derived = infer_call(
        f"tir.func {call.callee}",
        FuncType.of([*params[:args], *params[last:]], TupleType.of(written)),
        [*(a.type for a in call.arguments), *scalars],
    )
    declared = TupleType.of(info.type for info in outputs)
    if not is_base_of(derived, declared):
        raise VerifyException(
            f"{call.name}: {call.callee} writes {derived}, but {declared} is declared"
        )
