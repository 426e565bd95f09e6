"""What expressions of Relax scripts stand for, and the function they are built into.

A `Value` is the result of an operation that has been built. Leaves, `R.const(...)`,
`R.shape(...)` and so on, are Python objects until something uses them: what an operation
uses where it stands becomes an operation at the start of the function, once for equal
ones; what is bound to a name becomes one in that place (spec relax-ir.md §10.7).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerType,
    LocationAttr,
    TensorType,
    UnknownLoc,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import DimAttr, symbols_of
from xdsl_tvm.dialects.relax.dense import dense_of, numpy_dtype
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import definable_symbols, symbols_in
from xdsl_tvm.dialects.tir.types import bytes_of_lane, dtype_name
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError
from xdsl_tvm.tvmscript.nodes.relax_types import Devices, dim_of, dims_of, known_dtype


class Operand:
    """What stands for a value of Relax: operators on it are those of Relax."""

    def _apply(self, name: str, *operands: object) -> object:
        return FunctionBuilder.current().operator(name, operands)

    def _binary(self, name: str, lhs: object, rhs: object) -> object:
        for operand in (lhs, rhs):
            if isinstance(operand, bool | int | float):
                raise ScriptTypeError(
                    f"a Python number is no operand of '{name}'; write "
                    f'R.const({operand}, "float32") or another dtype'
                )
        return self._apply(name, lhs, rhs)

    def __add__(self, other: object) -> object:
        return self._binary("add", self, other)

    def __radd__(self, other: object) -> object:
        return self._binary("add", other, self)

    def __sub__(self, other: object) -> object:
        return self._binary("subtract", self, other)

    def __rsub__(self, other: object) -> object:
        return self._binary("subtract", other, self)

    def __mul__(self, other: object) -> object:
        return self._binary("multiply", self, other)

    def __rmul__(self, other: object) -> object:
        return self._binary("multiply", other, self)

    def __truediv__(self, other: object) -> object:
        return self._binary("divide", self, other)

    def __rtruediv__(self, other: object) -> object:
        return self._binary("divide", other, self)

    def __floordiv__(self, other: object) -> object:
        return self._binary("floor_divide", self, other)

    def __rfloordiv__(self, other: object) -> object:
        return self._binary("floor_divide", other, self)

    def __mod__(self, other: object) -> object:
        return self._binary("mod", self, other)

    def __rmod__(self, other: object) -> object:
        return self._binary("mod", other, self)

    def __pow__(self, other: object) -> object:
        return self._binary("power", self, other)

    def __rpow__(self, other: object) -> object:
        return self._binary("power", other, self)

    def __lt__(self, other: object) -> object:
        return self._binary("less", self, other)

    def __le__(self, other: object) -> object:
        return self._binary("less_equal", self, other)

    def __gt__(self, other: object) -> object:
        return self._binary("greater", self, other)

    def __ge__(self, other: object) -> object:
        return self._binary("greater_equal", self, other)

    def __neg__(self) -> object:
        return self._apply("negative", self)

    def astype(self, dtype: object) -> object:
        """The tensor converted; see `R.astype`."""
        return FunctionBuilder.current().operator("astype", [self, dtype])

    def __bool__(self) -> NoReturn:
        raise ScriptTypeError(
            "a value of Relax is not known while the script is read; use 'if' as a "
            "statement, R.where, R.logical_and, R.logical_or or R.logical_not"
        )


class Value(Operand):
    """The result of an operation, or a parameter."""

    def __init__(self, ssa: SSAValue, *, is_named: bool = False) -> None:
        self.ssa = ssa
        self.is_named = is_named
        """Whether a name of the script stands for it."""

    @property
    def type(self) -> Attribute:
        """Its type."""
        return self.ssa.type

    def __getitem__(self, index: object) -> Value:
        """A field of a tuple."""
        if not isinstance(index, int) or isinstance(index, bool):
            raise ScriptTypeError(
                "only a tuple has fields, and their numbers are integers; tensors are "
                "taken apart by R.take, R.strided_slice and R.split"
            )
        return FunctionBuilder.current().field(self, index)

    def __call__(self, *args: object) -> Value:
        """A call of a function that is a value."""
        return FunctionBuilder.current().call_value(self, args)

    def __eq__(self, other: object) -> bool:
        raise ScriptTypeError("'==' and '!=' do not compare values; use R.equal")

    def __hash__(self) -> int:
        return id(self)

    def __iter__(self) -> NoReturn:
        raise ScriptTypeError("only a tuple of known fields can be taken apart")


@dataclass(frozen=True)
class Const(Operand):
    """A tensor that is known."""

    value: DenseIntOrFPElementsAttr


@dataclass(frozen=True)
class ShapeLeaf:
    """A shape of known dimensions."""

    dims: tuple[Dim, ...]


@dataclass(frozen=True)
class PrimLeaf(Operand):
    """A scalar: a dimension of an integer dtype, or a float."""

    value: Dim | FloatAttr
    dtype: Attribute


@dataclass(frozen=True)
class Text:
    """A string, `R.str("...")`."""

    text: str


@dataclass(frozen=True)
class DtypeLeaf:
    """A dtype as an argument, `R.dtype("...")`."""

    dtype: Attribute


@dataclass(frozen=True)
class Extern:
    """A function of the runtime, `R.ExternFunc("...")`."""

    symbol: str

    def __call__(self, *args: object, sinfo_args: object = ()) -> Value | None:
        """An impure call of it."""
        builder = FunctionBuilder.current()
        return builder.call_packed(self, args, sinfo_args)


Leaf: TypeAlias = Const | ShapeLeaf | PrimLeaf


# ---- leaves of Python values ----


def const(value: object, dtype: object = None) -> Const:
    """A tensor of a number, of nested lists of numbers, or of an array.

    Without `dtype` numbers are float32, int32 or bool, and arrays keep theirs. Raises
    ScriptTypeError for what no tensor of the dtype holds.
    """
    given: Any = value
    if isinstance(value, str) and value in _SPECIAL:
        given = float(value)
    try:
        array: np.ndarray[Any, Any] = np.asarray(given)
    except ValueError:
        raise ScriptTypeError("R.const: rows must have equal lengths") from None
    if array.dtype.kind not in "biuf" and array.dtype.name not in _EXTENDED:
        raise ScriptTypeError("R.const takes numbers, nested lists of them or an array")
    element = known_dtype(dtype)
    if element is None:
        element = _default_dtype(given, array)
    _check_range(array, element)
    return Const(dense_of(array.astype(numpy_dtype(element))))


def const_data(dtype: object, shape: object, contents: str) -> Const:
    """A tensor of elements given as they lie in memory, in base64.

    Raises ScriptTypeError where there are too many or too few.
    """
    element = _element(dtype)
    extents = [dim.value for dim in dims_of(shape) if dim is not None]
    sizes = [extent for extent in extents if extent is not None and extent >= 0]
    if len(sizes) < len(extents):
        raise ScriptTypeError("R.const_data: the shape must be constant")
    try:
        data = base64.b64decode(contents, validate=True)
    except ValueError as error:
        raise ScriptTypeError(f"R.const_data: no base64: {error}") from None
    needed = prod(sizes) * bytes_of_lane(element)
    if len(data) != needed:
        raise ScriptTypeError(f"R.const_data: {len(data)} bytes for {needed}")
    type_ = TensorType(element, sizes)
    return Const(DenseIntOrFPElementsAttr(type_, BytesAttr(data)))


def _element(dtype: object) -> IntegerType:
    """The dtype of elements; of floats, too, which the type does not say."""
    found = known_dtype(dtype)
    if not isinstance(found, IntegerType | AnyFloat):
        raise ScriptTypeError("R.const_data takes the dtype of numbers")
    return cast(IntegerType, found)


def _check_range(array: np.ndarray[Any, Any], element: Attribute) -> None:
    """Raises ScriptTypeError for a number that no element of the dtype is."""
    if isinstance(element, IntegerType) and element != i1:
        for value in array.ravel().tolist():
            if value != int(value):
                name = dtype_name(cast(Attribute, element))
                raise ScriptTypeError(f"R.const: {value} is no {name}")
            ex.IntImm(cast(Attribute, element), int(value))


_SPECIAL = ("inf", "-inf", "nan")
_EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def _default_dtype(value: object, array: np.ndarray[Any, Any]) -> Attribute:
    if isinstance(value, np.ndarray | np.generic):
        found = known_dtype(str(cast("np.ndarray[Any, Any]", value).dtype))
        assert found is not None
        return found
    return {"b": i1, "f": f32}.get(array.dtype.kind, i32)


def prim(value: object) -> PrimLeaf:
    """A scalar: a number of Python, or an expression of dimensions.

    Integers are int64, floats float32. Raises ScriptTypeError for anything else.
    """
    match value:
        case PrimLeaf():
            return value
        case bool():
            return PrimLeaf(Dim.constant(int(value)), i1)
        case float():
            return PrimLeaf(FloatAttr(ex.FloatImm(f32, value).value, f32), f32)
        case ex.FloatImm():
            assert isinstance(value.type, AnyFloat)
            return PrimLeaf(FloatAttr(value.value, value.type), value.type)
        case ex.IntImm():
            return PrimLeaf(Dim.constant(value.value), value.type)
        case _:
            return PrimLeaf(dim_of(value), i64)


# ---- functions ----

_CURRENT: ContextVar[FunctionBuilder | None] = ContextVar("function", default=None)


def _unlocated(position: object) -> LocationAttr:
    return UnknownLoc()


class FunctionBuilder:
    """Builds the body of a function: where operations go, and what is visible there.

    `operators` builds an operator by its name and arguments, `function_type` tells the
    type of a function of the module. `around` builds the function that this one is a
    literal in. `locate` tells the location of what is at a position.
    """

    def __init__(
        self,
        params: Sequence[Attribute],
        *,
        is_pure: bool,
        devices: Devices,
        operators: Callable[[str, Sequence[object], Mapping[str, object]], object],
        function_type: Callable[[str], Attribute],
        around: FunctionBuilder | None = None,
        locate: Callable[[object], LocationAttr] = _unlocated,
    ) -> None:
        self._locate = locate
        self.entry = Block(arg_types=params)
        self.block = self.entry
        self.is_pure = is_pure
        self.devices = devices
        self.attrs: dict[str, object] = {}
        self.symbols = {name for type_ in params for name in definable_symbols(type_)}
        self.dataflow: Block | None = None
        """The dataflow block that is open."""
        self.position: object = None
        """What is being read, for errors that are found later."""
        self.calls: list[tuple[Operation, object]] = []
        """Calls of functions of the module, and where they stand."""
        self._parameter_symbols = frozenset(self.symbols)
        self._operators = operators
        self._leaves: dict[Leaf, SSAValue] = {}
        self._function_type = function_type
        self.around = around

    @staticmethod
    def current() -> FunctionBuilder:
        """The builder of the function that is read. Raises ScriptTypeError for none."""
        builder = _CURRENT.get()
        if builder is None:
            raise ScriptTypeError(
                "functions of R stand in functions that @R.function decorates; they are "
                "read, not run"
            )
        return builder

    @contextmanager
    def entered(self) -> Generator[None]:
        """Makes it the current builder."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Operations go into a block; symbols that it defines are its own."""
        before, symbols = self.block, self.symbols
        self.block, self.symbols = block, set(symbols)
        try:
            yield
        finally:
            self.block, self.symbols = before, symbols

    # ---- operations ----

    def operator(
        self,
        name: str,
        args: Iterable[object],
        named: Mapping[str, object] | None = None,
    ) -> object:
        """The result of an operator."""
        return self._operators(name, list(args), named or {})

    def emit(self, op: Operation) -> Value | None:
        """Add an operation; its result, if it has one.

        Raises ScriptTypeError where it is not allowed or not valid.
        """
        if relax.is_impure(op):
            self._check_impure(op)
        self._check_symbols(op)
        # The rule of an operator has been asked when the operation was made.
        if not isinstance(op, relax.OperatorOp):
            try:
                op.verify(verify_nested_ops=False)
            except VerifyException as error:
                raise ScriptTypeError(_reason(error)) from None
        op.location = self._locate(self.position)
        self.block.add_op(op)
        if isinstance(op, relax.CallOp | relax.AnyCallTIROp):
            self.calls.append((op, self.position))
        return Value(op.results[0]) if op.results else None

    def value_of(self, op: Operation) -> Value:
        """Add an operation that has a result."""
        found = self.emit(op)
        assert found is not None
        return found

    @property
    def allows_effects(self) -> bool:
        """Whether an impure operation may be added."""
        is_pure = self.is_pure and not self.attrs.get(relax.FORCE_PURE)
        return self.dataflow is None and not is_pure

    def _check_impure(self, op: Operation) -> None:
        if self.dataflow is not None:
            raise ScriptTypeError(
                f"{op.name} is impure and stands in a dataflow block; put it before or "
                "after the block"
            )
        if not self.allows_effects:
            raise ScriptTypeError(
                f"{op.name} is impure and the function is not; decorate it with "
                "@R.function(pure=False)"
            )

    def _check_symbols(self, op: Operation) -> None:
        self.check_visible(symbols_in(op))

    def check_visible(self, names: Iterable[str]) -> None:
        """Raises ScriptTypeError for a symbol that nothing has defined."""
        for name in names:
            if name not in self.symbols:
                raise ScriptTypeError(
                    f"the symbolic dimension '{name}' has no value here; a parameter or "
                    "an R.match_cast above must have it as a dimension by itself"
                )

    def match_cast(self, value: object, type_: Attribute) -> Value:
        """A value under a type that is checked; the type's new symbols are defined."""
        operand = self.value(value)
        new = [name for name in definable_symbols(type_) if name not in self.symbols]
        self.symbols.update(new)
        return self.value_of(relax.MatchCastOp(operand, type_, new))

    def call_value(self, function: Value, args: Sequence[object]) -> Value:
        """A call of a function that is a value."""
        if not isinstance(function.type, relax.FuncType):
            raise ScriptTypeError(f"a {function.type} cannot be called")
        operands = [self.value(arg) for arg in args]
        try:
            return self.value_of(relax.CallIndirectOp(function.ssa, operands))
        except VerifyException as error:
            raise ScriptTypeError(_reason(error)) from None

    def call_packed(
        self, callee: Extern, args: Sequence[object], sinfo_args: object
    ) -> Value | None:
        """An impure call of a function of the runtime."""
        return cast(
            "Value | None",
            self.operator("call_packed", [callee, *args], {"sinfo_args": sinfo_args}),
        )

    def field(self, value: Value, index: int) -> Value:
        """A field of a tuple."""
        try:
            return self.value_of(relax.GetItemOp(value.ssa, index))
        except VerifyException as error:
            raise ScriptTypeError(_reason(error)) from None

    def alias(self, value: Value, type_: Attribute | None = None) -> Value:
        """The same value under another name, or a more general type."""
        return self.value_of(relax.AliasOp(value.ssa, type_))

    # ---- operands ----

    def value(self, given: object) -> SSAValue:
        """What stands for an operand. Raises ScriptTypeError for what is no value."""
        match given:
            case Value():
                return given.ssa
            case Const() | ShapeLeaf() | PrimLeaf():
                return self._leaf(given)
            case tuple() | list():
                return self.tuple(cast("Sequence[object]", given)).ssa
            case bool() | int() | float() | ex.Expr():
                return self._leaf(prim(given))
            case ex.GlobalVar():
                type_ = self._function_type(given.name)
                assert isinstance(type_, relax.FuncType | relax.ObjectType)
                return self.value_of(relax.GlobalRefOp(given.name, type_)).ssa
            case _:
                raise ScriptTypeError(_no_value(given))

    def tuple(self, items: Sequence[object]) -> Value:
        """A tuple of values."""
        return self.value_of(relax.TupleOp([self.value(item) for item in items]))

    def shape(self, given: object) -> SSAValue:
        """An operand that is a shape; a list of dimensions is one."""
        if isinstance(given, list | tuple):
            return self.value(shape_leaf(cast("Sequence[object]", given)))
        return self.value(given)

    def insert(self, op: Operation) -> SSAValue:
        """The result of an operation that an operator needs."""
        if isinstance(op, relax.ShapeOp) and (dims := op.values.known) is not None:
            return self._leaf(ShapeLeaf(dims))
        if isinstance(op, relax.PrimValueOp):
            value = op.value.data if isinstance(op.value, DimAttr) else op.value
            assert isinstance(op.result.type, relax.PrimType)
            return self._leaf(PrimLeaf(value, op.result.type.dtype))
        return self.value_of(op).ssa

    def _leaf(self, leaf: Leaf) -> SSAValue:
        """A leaf that is used where it stands."""
        if not self._parameter_symbols.issuperset(_symbols(leaf)):
            return self.value_of(_leaf_op(leaf)).ssa
        found = self._leaves.get(leaf)
        if found is None:
            found = self._leaves[leaf] = _leaf_op(leaf).results[0]
        return found

    def bound(self, given: object) -> object:
        """What a name is bound to: a value of its own, where it is one of Relax."""
        match given:
            case Value(is_named=True):
                return self.alias(given)
            case Const() | ShapeLeaf() | PrimLeaf():
                return self.value_of(_leaf_op(given))
            case tuple() | list():
                return self.tuple(cast("Sequence[object]", given))
            case ex.GlobalVar():
                return Value(self.value(given))
            case bool() | int() | float():
                return self.value_of(_leaf_op(const(given)))
            case _:
                return given

    def finish(self) -> Block:
        """The body, with the leaves at its start."""
        leaves = [value.owner for value in self._leaves.values()]
        ops = [op for op in leaves if isinstance(op, Operation)]
        if self.entry.first_op is None:
            self.entry.add_ops(ops)
        else:
            self.entry.insert_ops_before(ops, self.entry.first_op)
        return self.entry


def shape_leaf(dims: object) -> ShapeLeaf:
    """A shape of dimensions, all of them known."""
    found = dims_of(dims)
    known = tuple(dim for dim in found if dim is not None)
    if len(known) < len(found):
        raise ScriptTypeError("R.shape: every dimension must be known")
    return ShapeLeaf(known)


def _symbols(leaf: Leaf) -> Iterable[str]:
    if isinstance(leaf, ShapeLeaf):
        return symbols_of(leaf.dims)
    if isinstance(leaf, PrimLeaf) and isinstance(leaf.value, Dim):
        return leaf.value.symbols()
    return ()


def _leaf_op(leaf: Leaf) -> Operation:
    match leaf:
        case Const():
            return relax.ConstantOp(leaf.value)
        case ShapeLeaf():
            return relax.ShapeOp(leaf.dims)
        case PrimLeaf():
            return relax.PrimValueOp(leaf.value, leaf.dtype)


def _no_value(given: object) -> str:
    if isinstance(given, Text | DtypeLeaf | str):
        kind = "a dtype" if isinstance(given, DtypeLeaf) else "a string"
        return f"{kind} is no value of the dialect; it is an argument of some calls only"
    if isinstance(given, Extern):
        return "a function of the runtime is no value of the dialect; call it"
    if given is None:
        return "a call that returns nothing has no value"
    return f"a Python {type(given).__name__} is no value of Relax"


def _reason(error: VerifyException) -> str:
    """The reason alone; the name of the operation is in front of it."""
    return str(error).strip().splitlines()[-1] if str(error).strip() else "not valid"
