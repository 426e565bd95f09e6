"""Expressions: what a program computes, before it is emitted.

An expression has a type as soon as it is made, so what does not fit is refused there. It
becomes operations when `BlockBuilder` emits it, or something that uses it; what is never
emitted is not part of the program. So an expression holds an operation whose operands
are placeholders, and the expressions that stand for them. While a script is read, what
is made is part of the function at once; see `xdsl_tvm.relax.reading`.
"""

from __future__ import annotations

import importlib
import operator
import reprlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import FloatAttr, f32, i1, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.relax.dense import dense_of, numpy_dtype
from xdsl_tvm.dialects.relax.elementwise import BinaryOperatorOp
from xdsl_tvm.dialects.relax.signatures import OPERATORS, dtype_of
from xdsl_tvm.dialects.relax.symbolic import Dimension, DimLike
from xdsl_tvm.dialects.tir.types import dtype_name, is_integer
from xdsl_tvm.relax.reading import Operands, current_reader
from xdsl_tvm.relax.struct_info import DtypeLike, PrimStructInfo, struct_info_of

if TYPE_CHECKING:
    from typing import Self


class Expr:
    """A value of a program, of the type `struct_info`."""

    __array_ufunc__ = None
    """Arrays of numpy leave operators between them and expressions to these."""

    def __init__(self, struct_info: Attribute) -> None:
        self.struct_info = struct_info

    def __repr__(self) -> str:
        return f"<expression of {self.struct_info}>"

    # ---- what is known ----

    @property
    def shape(self) -> tuple[relax.Dim, ...]:
        """The dimensions of a tensor. Raises VerifyException if they are not known."""
        info = relax.TensorInfo.of(self.struct_info)
        if info is None or info.shape is None:
            raise VerifyException(f"{self.struct_info} has no known shape")
        return info.shape

    @property
    def dtype(self) -> str:
        """TVM's name of a tensor's dtype. Raises VerifyException if it is not known."""
        info = relax.TensorInfo.of(self.struct_info)
        if info is None or info.dtype is None:
            raise VerifyException(f"{self.struct_info} has no known dtype")
        return dtype_name(info.dtype)

    def matched_value(self) -> tuple[SSAValue, Callable[[SSAValue], Expr]]:
        """A value that patterns match, and the expression of each value in it.

        What is not in the program is computed apart from it.
        """
        block, exprs = Block(), dict[SSAValue, Expr]()
        values = dict[Expr, SSAValue]()

        def value_of(expr: Expr) -> SSAValue:
            if isinstance(expr, Var) and expr not in values:
                values[expr] = expr.value_or_stand_in
                exprs[values[expr]] = expr
            return values[expr]

        def expr_of(value: SSAValue) -> Expr:
            found = exprs.get(value)
            return Var.bound(value.name_hint or "", value) if found is None else found

        for each in operands_first(self, values.__contains__):
            op = each.with_operands([value_of(operand) for operand in each.operands])
            block.add_op(op)
            if not op.results:
                raise VerifyException(f"{op.name} gives nothing that could be matched")
            values[each] = op.results[0]
            exprs[op.results[0]] = each
        return value_of(self), expr_of

    # ---- operators ----

    def __add__(self, other: ExprLike) -> Expr:
        return _operator("add", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return _operator("add", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return _operator("subtract", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return _operator("subtract", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return _operator("multiply", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return _operator("multiply", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return _operator("divide", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return _operator("divide", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return _operator("floor_divide", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return _operator("floor_divide", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return _operator("mod", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return _operator("mod", other, self)

    def __pow__(self, other: ExprLike) -> Expr:
        return _operator("power", self, other)

    def __rpow__(self, other: ExprLike) -> Expr:
        return _operator("power", other, self)

    def __matmul__(self, other: Expr) -> Expr:
        return _operator("matmul", self, other)

    def __neg__(self) -> Expr:
        return _operator("negative", self)

    def __lt__(self, other: ExprLike) -> Expr:
        return _operator("less", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return _operator("less_equal", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return _operator("greater", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return _operator("greater_equal", self, other)

    def astype(self, dtype: DtypeLike) -> Expr:
        """The elements converted to a dtype."""
        return call("astype", self, dtype)

    def __getitem__(self, index: int) -> Expr:
        """A field of a tuple; a negative index counts from the end."""
        try:
            index = operator.index(index)
        except TypeError:
            raise VerifyException(
                "relax.get_item: only a tuple has fields, and a field has an integer as "
                f"its index, not {index!r}; tensors are taken apart by take, "
                "strided_slice and split"
            ) from None
        if isinstance(self.struct_info, relax.TupleType) and index < 0:
            index += len(self.struct_info.fields.data)
        operands = current_operands()
        return operands.expr(relax.GetItemOp(operands.of(self), index))

    def __call__(self, *args: Emittable) -> Expr:
        """The call of a function that is a value."""
        if not isinstance(self.struct_info, relax.FuncType):
            raise VerifyException(
                f"relax.call_indirect: a {self.struct_info} cannot be called"
            )
        operands = current_operands()
        function, values = operands.of(self), [operands.of(arg) for arg in args]
        return operands.expr(relax.CallIndirectOp(function, values))

    def __iter__(self) -> Iterator[Expr]:
        if not isinstance(self.struct_info, relax.TupleType):
            raise VerifyException(
                f"relax.get_item: {self.struct_info} is no tuple and has no fields"
            )
        return (self[index] for index in range(len(self.struct_info.fields.data)))

    def __eq__(self, other: object) -> bool:
        if current_reader() is not None:
            raise VerifyException("'==' and '!=' do not compare values; use R.equal")
        return self is other

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise VerifyException(
            "an expression has no truth value while the program is built; use "
            "BlockBuilder.If for a choice and `is` to compare expressions, and in a "
            "script use 'if' as a statement, R.where, R.logical_and, R.logical_or or "
            "R.logical_not"
        )


class Var(Expr):
    """A variable: a parameter, or what an expression was bound to."""

    def __init__(self, name_hint: str, struct_info: object) -> None:
        """`struct_info` is a type, or an annotation such as `R.Tensor((4,), "int8")`."""
        if not SSAValue.is_valid_name(name_hint):
            raise VerifyException(f"'{name_hint}' cannot name a relax.Var")
        super().__init__(struct_info_of(struct_info))
        self.name_hint = name_hint
        """The name, empty for a value of a script that no name stands for."""
        self.value: SSAValue | None = None
        """The value in the program, once there is one."""
        self._stand_in: SSAValue | None = None

    def __repr__(self) -> str:
        return f"<relax.Var '{self.name_hint}' of {self.struct_info}>"

    @property
    def ssa(self) -> SSAValue:
        """The value in the program. Raises VerifyException while there is none."""
        if self.value is not None:
            return self.value
        if self.struct_info == relax.VOID:
            raise VerifyException(
                f"relax.Var '{self.name_hint}' stands for what has no result; give an "
                "empty list, []"
            )
        raise VerifyException(
            f"relax.Var '{self.name_hint}' has no value: it is no parameter of the "
            "function, and nothing was bound to it"
        )

    @property
    def value_or_stand_in(self) -> SSAValue:
        """The value in the program, or one that stands for it while there is none."""
        if self.value is not None:
            return self.value
        if self._stand_in is None:
            self._stand_in = Block(arg_types=[self.struct_info]).args[0]
            set_name_hint(self._stand_in, self.name_hint)
        return self._stand_in

    @classmethod
    def bound(cls, name_hint: str, value: SSAValue) -> Self:
        """The variable of a value that is part of the program."""
        result = cls(name_hint or "_", value.type)
        result.name_hint, result.value = name_hint, value
        return result


class Computed(Expr):
    """The result of an operation; `operands` are the expressions of its operands."""

    def __init__(self, op: Operation, operands: Sequence[Expr]) -> None:
        super().__init__(op.results[0].type if op.results else relax.VOID)
        self.op = op
        self.operands = tuple(operands)

    @property
    def args(self) -> tuple[Expr, ...]:
        """The expressions of the operands, TVM's `Call.args`."""
        return self.operands

    def with_operands(self, values: Sequence[SSAValue]) -> Operation:
        """A copy of the operation that computes it of these values."""
        return self.op.clone(dict(zip(self.op.operands, values, strict=True)))


def operands_first(expr: Expr, is_placed: Callable[[Expr], bool]) -> Iterator[Computed]:
    """The expressions that an expression is made of, itself the last.

    Those that are placed are left out; what is given is to be placed before the next one
    is asked for. Iterative, since a model may be one deep expression.
    """
    pending = [expr]
    while pending:
        current = pending[-1]
        if isinstance(current, Var) or is_placed(current):
            pending.pop()
            continue
        assert isinstance(current, Computed)
        missing = [
            operand
            for operand in current.operands
            if not isinstance(operand, Var) and not is_placed(operand)
        ]
        if missing:
            pending += reversed(missing)
            continue
        pending.pop()
        yield current


class Placeholders(Operands):
    """Placeholders that an operation is made on, and the expressions they stand for."""

    def __init__(self) -> None:
        self._block = Block()
        self._exprs: dict[SSAValue, Expr] = {}

    def of(self, value: object) -> SSAValue:
        """A placeholder of the expression's type; of a scalar's value, too."""
        expr = _as_expr(value)
        if isinstance(expr, Computed) and isinstance(expr.op, relax.PrimValueOp):
            # The rule of arange reads the values of floats, which types do not hold.
            placeholder = expr.op.clone().result
        else:
            placeholder = self._block.insert_arg(expr.struct_info, len(self._block.args))
        self._exprs[placeholder] = expr
        return placeholder

    def expr(self, op: Operation) -> Computed:
        """The expression of an operation on placeholders."""
        return Computed(op, [self._exprs[operand] for operand in op.operands])

    def unwrap(self, argument: object) -> object:
        """The argument with placeholders for the expressions in it."""
        if isinstance(argument, Expr):
            return self.of(argument)
        if isinstance(argument, list | tuple):
            items = cast("Sequence[object]", argument)
            return [self.unwrap(item) for item in items]
        return argument


def current_operands() -> Operands:
    """Those of the script that is being read, or new placeholders."""
    return current_reader() or Placeholders()


ExprLike: TypeAlias = "Expr | int | float | bool | np.generic"
Emittable: TypeAlias = "Expr | GlobalVar | Sequence[Emittable]"
"""An expression, a function of the module, or several that become a tuple."""


def call(name: str, *args: object, **kwargs: object) -> Expr:
    """What an operator, by TVM's name without `relax.`, makes of its arguments.

    In a binary operator a number stands for a constant of the other operand's dtype.
    Raises VerifyException for arguments that do not fit.
    """
    if (reader := current_reader()) is not None:
        return reader.call(name, args, kwargs)
    signature = OPERATORS[name]
    if issubclass(signature.op_class, BinaryOperatorOp):
        bound = signature.bind(args, kwargs)
        args, kwargs = _same_dtype(*bound.values()), {}
    operands = Placeholders()
    values = [operands.unwrap(argument) for argument in args]
    named = {key: operands.unwrap(argument) for key, argument in kwargs.items()}
    return operands.expr(signature.make(values, named, operands.insert))


def _operator(name: str, *args: object) -> Expr:
    reader = current_reader()
    return call(name, *args) if reader is None else reader.operator(name, args)


def _same_dtype(lhs: object, rhs: object) -> tuple[object, object]:
    lhs, rhs = _of_python(lhs), _of_python(rhs)
    if isinstance(lhs, Expr) and isinstance(rhs, int | float):
        return lhs, _constant_like(rhs, lhs)
    if isinstance(rhs, Expr) and isinstance(lhs, int | float):
        return _constant_like(lhs, rhs), rhs
    return lhs, rhs


def _of_python(value: object) -> object:
    """The value, or the number of Python's that it is."""
    return cast("object", value.item()) if isinstance(value, np.generic) else value


def _constant_like(number: float, other: Expr) -> Expr:
    if isinstance(other.struct_info, relax.PrimType):
        return PrimValue(number, other.struct_info.dtype)
    if isinstance(number, float) and "float" not in other.dtype:
        raise VerifyException(
            f"{number} is no value of {other.dtype}; convert the tensor with astype"
        )
    return const(number, other.dtype)


def const(
    value: np.ndarray[Any, Any] | np.generic | float | Sequence[Any],
    dtype: DtypeLike | None = None,
) -> Expr:
    """A tensor of known elements, TVM's `relax.const`.

    Without `dtype`, an array keeps its own, Python integers are `int32` and floats
    `float32`. Raises VerifyException for what no tensor holds, and for integers of
    Python's that an integer dtype does not have.
    """
    if (reader := current_reader()) is not None:
        return reader.call("const", (value, dtype), {})
    element = None if dtype is None else dtype_of(dtype)
    if dtype is not None and element is None:
        raise VerifyException("relax.constant: dtype cannot be void")
    return constant(value, element)


def constant(
    value: object, element: Attribute | None, *, always_exact: bool = False
) -> Computed:
    """A tensor of known elements, also while a script is read.

    `always_exact` refuses what an integer dtype does not hold in arrays and of floats,
    too, which numpy converts. Raises VerifyException.
    """
    try:
        array: np.ndarray[Any, Any] = np.asarray(value)
    except ValueError:
        raise VerifyException("relax.constant: rows must have equal lengths") from None
    if element is None:
        element = _default_dtype(value, array)
    if element is not None:
        is_array = isinstance(value, np.ndarray | np.generic)
        kinds = "biufO" if always_exact else "" if is_array else "biuO"
        if not is_integer(element) or element == i1:
            kinds = ""
        array = _converted(array, element, array.dtype.kind in kinds)
    return Computed(relax.ConstantOp(dense_of(array)), ())


def _default_dtype(value: object, array: np.ndarray[Any, Any]) -> Attribute | None:
    """The dtype of numbers of Python's, where it is not that of the array."""
    if isinstance(value, np.ndarray | np.generic):
        return None
    return {"int64": i32, "object": i32, "float64": f32}.get(array.dtype.name)


def _converted(
    array: np.ndarray[Any, Any], element: Attribute, exact: bool
) -> np.ndarray[Any, Any]:
    """The array with elements of a dtype; `exact` if numbers must stay as they are."""
    try:
        with np.errstate(invalid="ignore"):
            result = array.astype(numpy_dtype(element))
    except (OverflowError, TypeError, ValueError):
        raise _not_held(array, element) from None
    if exact and (result != array).any():
        raise _not_held(array, element)
    return result


def _not_held(array: np.ndarray[Any, Any], element: Attribute) -> VerifyException:
    return VerifyException(
        f"relax.constant: {dtype_name(element)} does not hold "
        f"{reprlib.repr(array.tolist())}; give a dtype that does, or an array"
    )


def PrimValue(value: DimLike | float, dtype: DtypeLike | None = None) -> Computed:
    """A scalar that is not a tensor: `int64` for integers and symbols, else `float32`."""
    if dtype is None:
        dtype = "float32" if isinstance(value, float) else "int64"
    if isinstance(value, float) or "float" in _name(dtype):
        if isinstance(value, relax.Dim | str | Dimension):
            dim = relax.Dim.of(value)
            raise VerifyException(f"relax.prim_value: {dim} is an integer")
        element = PrimStructInfo(dtype).dtype
        attribute = FloatAttr(float(value), cast(Any, element))
        return Computed(relax.PrimValueOp(attribute), ())
    type_ = PrimStructInfo(dtype, value)
    if type_.dim is None:
        raise VerifyException("relax.prim_value: a number or a symbol is missing")
    return Computed(relax.PrimValueOp(type_.dim, type_.dtype), ())


def _name(dtype: DtypeLike) -> str:
    return dtype if isinstance(dtype, str) else dtype_name(dtype)


def ShapeExpr(values: Sequence[DimLike]) -> Computed:
    """A shape as a value."""
    try:
        op = relax.ShapeOp(values)
        op.verify_()
        return Computed(op, ())
    except ValueError as error:
        raise VerifyException(f"relax.shape: {error}") from None


def Tuple(fields: Sequence[Emittable]) -> Expr:
    """Several values in one."""
    operands = current_operands()
    return operands.expr(relax.TupleOp([operands.of(field) for field in fields]))


def TupleGetItem(tuple_value: Expr, index: int) -> Expr:
    """A field of a tuple."""
    return tuple_value[index]


def as_expr(value: Emittable) -> Expr:
    """The expression, or the tuple of several. Raises VerifyException for all else."""
    return _as_expr(value)


def _as_expr(value: object) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, GlobalVar):
        # A function of the module that is not called.
        type_ = value.struct_info or relax.OBJECT
        return Placeholders().expr(relax.GlobalRefOp(value.name_hint, type_))
    if isinstance(value, list | tuple):
        return Tuple([_as_expr(each) for each in cast("Sequence[object]", value)])
    raise VerifyException(
        f"{value!r} is no expression; relax.const makes one of a number or an array"
    )


def __getattr__(name: str) -> Any:
    if name == "function":
        return getattr(importlib.import_module("xdsl_tvm.relax"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
