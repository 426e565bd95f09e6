"""What expressions of Relax scripts stand for, and the function they are built into.

Values are those of the builder, `xdsl_tvm.relax.expr`: what an operation makes is part of
the function at once. Leaves, `R.const(...)`, `R.shape(...)` and so on, are not until
something uses them: what an operation uses where it is becomes an operation at the
start of the function, once for equal ones; what is bound to a name becomes one in that
place (docs/spec/relax-ir.md §10.7).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    LocationAttr,
    TensorType,
    f32,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import symbols_in
from xdsl_tvm.dialects.tir.types import bytes_of_lane
from xdsl_tvm.relax.expr import Computed, Expr, PrimValue, ShapeExpr, Var, constant
from xdsl_tvm.relax.function_body import FunctionBody
from xdsl_tvm.relax.reading import Reader, current_reader, reading
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError
from xdsl_tvm.tvmscript.nodes.relax_types import Devices, dim_of, dims_of, known_dtype

_LEAVES = (relax.ConstantOp, relax.ShapeOp, relax.PrimValueOp)


def is_leaf(value: object) -> TypeGuard[Computed]:
    """Whether it is a known value, which is no part of the function yet."""
    return isinstance(value, Computed) and isinstance(value.op, _LEAVES)


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

    def __call__(self, *args: object, sinfo_args: object = ()) -> object:
        """An impure call of it."""
        builder = FunctionBuilder.current()
        return builder.call("call_packed", [self, *args], {"sinfo_args": sinfo_args})


# ---- leaves of Python values ----


def const(value: object, dtype: object = None) -> Expr:
    """A tensor of a number, of nested lists of numbers, or of an array.

    Without `dtype` numbers are float32, int32 or bool, and arrays keep theirs. Raises
    DiagnosticException or ScriptTypeError for what no tensor of the dtype holds.
    """
    given: Any = value
    if isinstance(value, str) and value in _SPECIAL:
        given = float(value)
    element = known_dtype(dtype)
    if not isinstance(given, bool | int | float) and _is_no_number(given):
        raise ScriptTypeError("R.const takes numbers, nested lists of them or an array")
    return constant(given, element, always_exact=True)


def _is_no_number(value: Any) -> bool:
    try:
        dtype = np.asarray(value).dtype
    except ValueError:
        return False  # rows of unequal lengths, which are refused as such
    return dtype.kind not in "biuf" and dtype.name not in _EXTENDED


def const_data(dtype: object, shape: object, contents: str) -> Expr:
    """A tensor of elements given as they are in memory, in base64.

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
    value = DenseIntOrFPElementsAttr(type_, BytesAttr(data))
    return Computed(relax.ConstantOp(value), ())


def _element(dtype: object) -> IntegerType:
    """The dtype of elements; of floats, too, which the type does not say."""
    found = known_dtype(dtype)
    if not isinstance(found, IntegerType | AnyFloat):
        raise ScriptTypeError("R.const_data takes the dtype of numbers")
    return cast(IntegerType, found)


_SPECIAL = ("inf", "-inf", "nan")
_EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def prim(value: object) -> Expr:
    """A scalar: a number of Python, or an expression of dimensions.

    Integers are int64, floats float32. Raises ScriptTypeError for anything else.
    """
    match value:
        case Computed(op=relax.PrimValueOp()):
            return value
        case bool():
            return PrimValue(int(value), i1)
        case float():
            return PrimValue(ex.FloatImm(f32, value).value, f32)
        case ex.FloatImm() | ex.IntImm():
            return PrimValue(value.value, value.type)
        case _:
            return PrimValue(dim_of(value))


def shape(values: object) -> Expr:
    """A shape of dimensions, all of them known."""
    return ShapeExpr(cast("Sequence[Dim]", dims_of(values)))


# ---- functions ----


class FunctionBuilder(FunctionBody, Reader):
    """Builds the body of a function that is read.

    `vocabulary` calls a function of `R` by its name, `function_type` tells the type of a
    function of the module. `around` builds the function that this one is a literal in.
    `locate` tells the location of what is at a position.
    """

    def __init__(
        self,
        name: str,
        params: Sequence[Attribute],
        *,
        is_pure: bool,
        devices: Devices,
        vocabulary: Callable[[str, Sequence[object], Mapping[str, object]], object],
        function_type: Callable[[str], Attribute],
        locate: Callable[[object], LocationAttr],
        around: FunctionBuilder | None = None,
    ) -> None:
        super().__init__(name, params, is_pure=is_pure)
        self.devices = devices
        self.attrs: dict[str, object] = {}
        self.position: object = None
        """What is being read, for errors that are found later."""
        self.calls: list[tuple[Operation, object]] = []
        """Calls of functions of the module, and where they stand."""
        self.around = around
        self.missing: set[str] = set()
        """Symbols that something here uses, and that are not visible."""
        self._added: list[Operation] = []
        self._locate = locate
        self._parameter_symbols = frozenset(self.symbols)
        self._vocabulary = vocabulary
        self._leaves: dict[object, SSAValue] = {}
        self._function_type = function_type

    @staticmethod
    def current() -> FunctionBuilder:
        """The builder of the function that is read. Raises ScriptTypeError for none."""
        builder = current_reader()
        if not isinstance(builder, FunctionBuilder):
            raise ScriptTypeError(
                "functions of R are in functions that @R.function decorates; they are "
                "read, not run"
            )
        return builder

    @contextmanager
    def entered(self) -> Generator[None]:
        """Makes it the current builder."""
        with reading(self):
            yield

    # ---- calls ----

    def call(
        self, name: str, args: Iterable[object], named: Mapping[str, object]
    ) -> Expr:
        """What a function of `R` makes; see `Reader.call`."""
        return cast(Expr, self._vocabulary(name, list(args), named))

    def operator(self, name: str, args: Sequence[object]) -> Expr:
        """What an operator of Python makes; see `Reader.operator`.

        Raises ScriptTypeError for numbers, whose dtype a script says, and for `@`.
        """
        if name == "matmul":
            raise ScriptTypeError("unsupported operand of '@'; write R.matmul(x, y)")
        for operand in args:
            if isinstance(operand, bool | int | float):
                raise ScriptTypeError(
                    f"a Python number is no operand of '{name}'; write "
                    f'R.const({operand}, "float32") or another dtype'
                )
        return self.call(name, args, {})

    # ---- operations ----

    def add(self, op: Operation, *, is_verified: bool = False) -> None:
        """Add an operation, located at the statement; see `FunctionBody.add`."""
        self._added.append(op)
        super().add(op, is_verified=is_verified)
        op.location = self._locate(self.position)
        if isinstance(op, relax.CallOp | relax.AnyCallTIROp):
            self.calls.append((op, self.position))

    def check_visible(self, prefix: str, names: Iterable[str]) -> None:
        """Raises VerifyException for a symbol that nothing has defined, and keeps it."""
        used = list(names)
        self.missing.update(name for name in used if name not in self.symbols)
        super().check_visible(prefix, used)

    def all_symbols(self) -> Iterator[str]:
        """The symbols of this function, and of those that it is a literal in."""
        yield from self.symbols
        if self.around is not None:
            yield from self.around.all_symbols()

    def give_up(self) -> None:
        """Let go of all operations, so that nothing uses the values around them."""
        for op in self._added:
            op.drop_all_references()

    def emit(self, op: Operation) -> Var | None:
        """Add an operation; its result, if it has one."""
        # The rule of an operator has been asked when the operation was made.
        self.add(op, is_verified=isinstance(op, relax.OperatorOp))
        return Var.bound("", op.results[0]) if op.results else None

    def value_of(self, op: Operation) -> Var:
        """Add an operation that has a result."""
        found = self.emit(op)
        assert found is not None
        return found

    def expr(self, op: Operation) -> Expr:
        """Add an operation; see `Operands.expr`. One without a result is no `Var`."""
        found = self.emit(op)
        return Computed(op, ()) if found is None else found

    def field(self, value: Var, index: int) -> Var:
        """A field of a tuple."""
        return self.value_of(relax.GetItemOp(value.ssa, index))

    def alias(self, value: Var, type_: Attribute | None = None) -> Var:
        """The same value under another name, or a more general type."""
        return self.value_of(relax.AliasOp(value.ssa, type_))

    # ---- operands ----

    def of(self, value: object) -> SSAValue:
        """What stands for an operand. Raises ScriptTypeError for what is no value."""
        if is_leaf(value):
            return self._leaf(value.op)
        match value:
            case Var():
                return value.ssa
            case tuple() | list():
                return self.tuple(cast("Sequence[object]", value)).ssa
            case bool() | int() | float() | ex.Expr():
                return self.of(prim(value))
            case ex.GlobalVar():
                type_ = self._function_type(value.name)
                assert isinstance(type_, relax.FuncType | relax.ObjectType)
                return self.value_of(relax.GlobalRefOp(value.name, type_)).ssa
            case _:
                raise ScriptTypeError(_no_value(value))

    def tuple(self, items: Sequence[object]) -> Var:
        """A tuple of values."""
        return self.value_of(relax.TupleOp([self.of(item) for item in items]))

    def insert(self, op: Operation) -> SSAValue:
        """The result of an operation that an operator needs."""
        is_known = not isinstance(op, relax.ShapeOp) or op.values.known is not None
        if isinstance(op, _LEAVES) and is_known:
            return self._leaf(op)
        return self.value_of(op).ssa

    def _leaf(self, op: Operation) -> SSAValue:
        """A leaf that is used where it is."""
        if not self._parameter_symbols.issuperset(symbols_in(op)):
            return self.value_of(op.clone()).ssa
        result = op.results[0]
        key = (op.name, result.type, *op.properties.values())
        found = self._leaves.get(key)
        if found is None:
            found = self._leaves[key] = op.clone().results[0]
        return found

    def bound(self, given: object) -> object:
        """What a name is bound to: a value of its own, where it is one of Relax."""
        if is_leaf(given):
            return self.value_of(given.op.clone())
        match given:
            case Var(name_hint=name) if name:
                return self.alias(given)
            case tuple() | list():
                return self.tuple(cast("Sequence[object]", given))
            case ex.GlobalVar():
                return Var.bound("", self.of(given))
            case bool() | int() | float():
                return self.bound(const(given))
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


def _no_value(given: object) -> str:
    if isinstance(given, Text | DtypeLeaf | str):
        kind = "a dtype" if isinstance(given, DtypeLeaf) else "a string"
        return f"{kind} is no value of the dialect; it is an argument of some calls only"
    if isinstance(given, Extern):
        return "a function of the runtime is no value of the dialect; call it"
    if given is None:
        return "a call that returns nothing has no value"
    return f"a Python {type(given).__name__} is no value of Relax"
