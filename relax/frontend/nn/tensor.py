"""Tensors of a model: expressions with known shapes and dtypes, and operators on them.

An operator binds its result to a variable of the function that is open, so a model is
written as a plain computation. Where no function is open, the result is an expression
that is part of a program once a builder emits it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike
from xdsl_tvm.relax.block_builder import BlockBuilder
from xdsl_tvm.relax.expr import Expr, Var, call, const
from xdsl_tvm.relax.struct_info import DtypeLike, TensorStructInfo

Scalar: TypeAlias = "int | float"
Operand: TypeAlias = "Tensor | Scalar"
"""A tensor, or a number of the dtype of the other operand."""

_DEFAULT_DTYPE = ["float32"]


def get_default_dtype() -> str:
    """The dtype of parameters that are made without one, at first `float32`."""
    return _DEFAULT_DTYPE[0]


def set_default_dtype(dtype: str) -> None:
    """Set the dtype of parameters that are made without one.

    Raises VerifyException for an unknown dtype.
    """
    TensorStructInfo((), dtype)
    _DEFAULT_DTYPE[0] = dtype


class Tensor:
    """An expression whose shape and dtype are known."""

    def __init__(self, *, _expr: Expr) -> None:
        """Models get tensors from parameters, inputs and operators.

        Raises VerifyException for an expression without a known shape or dtype.
        """
        self.expr = _expr

    @staticmethod
    def placeholder(
        shape: Sequence[DimLike], dtype: DtypeLike, name: str = "tensor"
    ) -> Tensor:
        """A tensor that only has a type; `tensor_ir_op` takes the types of results so.

        Raises VerifyException for an unknown dtype and for a wrong dimension.
        """
        return Tensor(_expr=Var(name, TensorStructInfo(shape, dtype)))

    @staticmethod
    def from_const(data: np.ndarray[Any, Any] | np.generic | float) -> Tensor:
        """A tensor of known elements; see `relax.const`."""
        return Tensor(_expr=const(data))

    @staticmethod
    def from_scalar(data: Scalar, dtype: DtypeLike) -> Tensor:
        """A tensor of rank 0 with a known element."""
        return Tensor(_expr=const(data, dtype))

    @staticmethod
    def from_struct_info(struct_info: Attribute, name: str = "tensor") -> Tensor:
        """A tensor that only has a type, which is given."""
        return Tensor(_expr=Var(name, struct_info))

    @property
    def expr(self) -> Expr:
        """The expression of Relax."""
        return self._expr

    @expr.setter
    def expr(self, expr: Expr) -> None:
        self._shape, self._dtype = expr.shape, expr.dtype
        self._expr = expr

    @property
    def shape(self) -> list[int | Dim]:
        """The dimensions; a symbolic one is an expression of `relax.sym`."""
        return [dim if dim.value is None else dim.value for dim in self._shape]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    @property
    def dtype(self) -> str:
        """TVM's name of the dtype."""
        return self._dtype

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        return f'{type(self).__name__}([{shape}], "{self.dtype}")'

    # ---- operators ----

    __array_ufunc__ = None
    """Arrays of numpy leave operators between them and tensors to these."""

    def __add__(self, other: Operand) -> Tensor:
        return operate("add", self, other, name="add")

    def __radd__(self, other: Operand) -> Tensor:
        return operate("add", self, other, name="add")

    def __sub__(self, other: Operand) -> Tensor:
        return operate("subtract", self, other, name="subtract")

    def __rsub__(self, other: Operand) -> Tensor:
        return operate("subtract", other, self, name="subtract")

    def __mul__(self, other: Operand) -> Tensor:
        return operate("multiply", self, other, name="mul")

    def __rmul__(self, other: Operand) -> Tensor:
        return operate("multiply", self, other, name="mul")

    def __truediv__(self, other: Operand) -> Tensor:
        return operate("divide", self, other, name="divide")

    def __rtruediv__(self, other: Operand) -> Tensor:
        return operate("divide", other, self, name="divide")

    def __matmul__(self, other: Tensor) -> Tensor:
        return operate("matmul", self, other, name="matmul")

    def __neg__(self) -> Tensor:
        return operate("negative", self, name="neg")

    def __lt__(self, other: Operand) -> Tensor:
        return operate("less", self, other, name="less")

    def __le__(self, other: Operand) -> Tensor:
        return operate("less_equal", self, other, name="less_equal")

    def __gt__(self, other: Operand) -> Tensor:
        return operate("greater", self, other, name="greater")

    def __ge__(self, other: Operand) -> Tensor:
        return operate("greater_equal", self, other, name="greater_equal")

    def __bool__(self) -> bool:
        raise TypeError(
            "a Tensor has no truth value while a model is exported; use nn.op.where for "
            "a choice, and `is None` to ask whether there is a tensor"
        )

    def astype(self, dtype: str) -> Tensor:
        """The elements converted to a dtype."""
        if self.dtype == dtype:
            return self
        return operate("astype", self, dtype, name="astype")

    def maximum(self, other: Operand) -> Tensor:
        """The larger of two elements."""
        return operate("maximum", self, other, name="maximum")

    def minimum(self, other: Operand) -> Tensor:
        """The smaller of two elements."""
        return operate("minimum", self, other, name="minimum")

    def reshape(self, *shape: DimLike) -> Tensor:
        """The elements in another shape; -1 stands for the dimension that is left."""
        return operate("reshape", self, shape, name="reshape")

    def permute_dims(self, *axes: int) -> Tensor:
        """The dimensions in another order, reversed without one."""
        return operate("permute_dims", self, axes or None, name="permute_dims")

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        """Every element several times, along an axis or of the flattened tensor."""
        return operate("repeat", self, repeats, axis, name="repeat")


class Object:
    """A value that is no tensor, such as the state of a cache."""

    def __init__(self, *, _expr: Expr, _name: str = "object") -> None:
        """The value of an expression, bound to a variable where a function is open.

        Raises TypeError for the expression of a tensor or a tuple.
        """
        if _expr.struct_info != relax.OBJECT:
            raise TypeError(f"an Object is an R.Object, not a {_expr.struct_info}")
        self.expr = bound(_expr, _name)


Nested: TypeAlias = "Tensor | Object | Sequence[Nested]"
"""What methods of models return."""


def bound(expr: Expr, name: str) -> Expr:
    """The variable of an expression in the function that is open.

    The expression itself, if no function is open and if it is a variable.
    """
    builder = BlockBuilder.current()
    if builder is None or isinstance(expr, Var):
        return expr
    return builder.emit(expr, name)


def wrap_nested(expr: Expr, name: str) -> Tensor | tuple[Any, ...]:
    """The tensor of an expression, or the tensors of a tuple, bound to variables.

    Raises TypeError for what is neither.
    """
    expr = bound(expr, name)
    if isinstance(expr.struct_info, relax.TupleType):
        return tuple(
            wrap_nested(field, f"{name}.{index}") for index, field in enumerate(expr)
        )
    if relax.TensorInfo.of(expr.struct_info) is None:
        raise TypeError(f"nn: {name} is a {expr.struct_info}, which is no tensor")
    return Tensor(_expr=expr)


def weight_var(name: str, weight: Tensor) -> Var:
    """The variable of a parameter in a function, by its name in the model.

    Names of a list of modules begin with a number, which variables do not.
    """
    return Var(f"param.{name}" if name[0].isdigit() else name, weight.expr.struct_info)


def argument(value: object) -> object:
    """What operators of Relax take for a tensor, for a list of tensors, for the rest."""
    if isinstance(value, Tensor | Object):
        return value.expr
    if isinstance(value, list | tuple):
        return [argument(each) for each in cast("Sequence[object]", value)]
    if isinstance(value, np.integer):
        return operator.index(cast("np.integer[Any]", value))
    return value


def operate(operator_name: str, /, *args: object, name: str, **kwargs: object) -> Tensor:
    """The tensor that an operator of Relax makes of tensors and attributes.

    `operator_name` is TVM's without `relax.`, `name` that of the variable. Raises
    VerifyException for arguments that do not fit.
    """
    return cast("Tensor", operate_nested(operator_name, *args, name=name, **kwargs))


def operate_nested(
    operator_name: str, /, *args: object, name: str, **kwargs: object
) -> Tensor | tuple[Any, ...]:
    """As `operate`, of an operator that may have several results."""
    given = {key: argument(value) for key, value in kwargs.items()}
    return wrap_nested(call(operator_name, *map(argument, args), **given), name)
