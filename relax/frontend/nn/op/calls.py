"""Calls of functions in models: of TIR, of the runtime, and what prints.

Names and parameters are TVM's. All raise VerifyException for arguments that do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from xdsl.ir import Attribute, Operation

from xdsl_tvm.dialects.relax.symbolic import Dim, Dimension, DimLike
from xdsl_tvm.relax.calls import call_dps_packed, call_tir, call_tir_inplace
from xdsl_tvm.relax.expr import Expr, PrimValue, Tuple
from xdsl_tvm.relax.frontend.nn.effects import IOEffect
from xdsl_tvm.relax.frontend.nn.functions import add_function, root_builder
from xdsl_tvm.relax.frontend.nn.tensor import Object, Tensor, wrap_nested

TIRArguments: TypeAlias = "Tensor | DimLike | Sequence[Tensor | DimLike]"
Outputs: TypeAlias = "Tensor | Sequence[Tensor]"


def tensor_ir_op(
    func: Operation, name_hint: str, args: TIRArguments, out: Outputs
) -> Tensor | tuple[Any, ...]:
    """The tensors that a TIR function writes, of the types of `out`.

    `args` are its buffers before those of the results, and then its dimensions. Equal
    functions of one name are added to the module once. Raises TypeError for other
    arguments and RuntimeError outside of an export.
    """
    tensors, dims = _tir_arguments("tensor_ir_op", args)
    called = add_function(root_builder("tensor_ir_op"), func, name_hint)
    return wrap_nested(call_tir(called, tensors, _types(out), dims or None), name_hint)


def tensor_ir_inplace_op(
    func: Operation,
    name_hint: str,
    args: TIRArguments,
    inplace_indices: int | Sequence[int],
    out: Outputs,
) -> Tensor | tuple[Any, ...]:
    """As `tensor_ir_op`, where output `i` is the argument `inplace_indices[i]`.

    -1 stands for a new tensor.
    """
    tensors, dims = _tir_arguments("tensor_ir_inplace_op", args)
    called = add_function(root_builder("tensor_ir_inplace_op"), func, name_hint)
    result = call_tir_inplace(called, tensors, inplace_indices, _types(out), dims or None)
    return wrap_nested(result, name_hint)


def _tir_arguments(what: str, args: TIRArguments) -> tuple[list[Expr], list[DimLike]]:
    """The tensors and the dimensions, which are apart in a call."""
    tensors: list[Expr] = []
    dims: list[DimLike] = []
    given = args if isinstance(args, list | tuple) else [args]
    for each in cast("Sequence[object]", given):
        if isinstance(each, Tensor):
            tensors.append(each.expr)
        elif isinstance(each, Dim | int | Dimension):
            dims.append(each)
        else:
            raise TypeError(
                f"nn.op.{what}: an argument is a Tensor or a dimension, not {each!r}"
            )
    return tensors, dims


def _types(out: Outputs) -> Attribute | list[Attribute]:
    if isinstance(out, Tensor):
        return out.expr.struct_info
    return [each.expr.struct_info for each in out]


def extern(
    name: str, args: Sequence[object] | Tensor, out: Outputs
) -> Tensor | tuple[Any, ...]:
    """The tensors that a function of the runtime writes, of the types of `out`.

    `args` are tensors, numbers, dimensions and lists of them; an integer is passed as
    `int64`, a float as `float64`. The function is found by its name where the module is
    run, see `register_func`. Raises TypeError for other arguments, strings among them.
    """
    given = args if isinstance(args, list | tuple) else [args]
    values = [_extern_argument(name, each) for each in given]
    return wrap_nested(call_dps_packed(name, values, _types(out)), name)


def _extern_argument(name: str, value: object) -> Expr:
    if isinstance(value, Tensor | Object):
        return value.expr
    if isinstance(value, float):
        return PrimValue(value, "float64")
    if isinstance(value, Dim | Dimension) or type(value) is int:
        return PrimValue(value)
    if isinstance(value, list | tuple):
        fields = cast("Sequence[object]", value)
        return Tuple([_extern_argument(name, field) for field in fields])
    raise TypeError(
        f"nn.op.extern: '{name}' is called with tensors, numbers and dimensions, not "
        f"{value!r}"
    )


def print_(tensor: Tensor) -> None:
    """Print a tensor when the model runs; for models exported with `debug=True`.

    Raises RuntimeError for others.
    """
    io = IOEffect.current()
    if io is None:
        raise RuntimeError("nn.op.print_: export the model with debug=True")
    io.print_(tensor)
