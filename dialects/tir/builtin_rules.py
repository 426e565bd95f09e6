"""What can be said of a builtin: its operands, its result, its effect.

docs/spec/tir-builtins.md.

The rows themselves are in `builtins_table`. A row writes its operands as text, one word
each, `name:kind`:

- the kind is one of `KINDS`, or `=x` for the type of the operand `x`;
- `{a|b}` after it lists the strings or numbers that are allowed;
- `?` marks an operand that may be left out, `?0` one that then means the constant 0;
- `*` marks any number of operands.

Its result is a TVM dtype; `=x` for the type of the operand `x`; `int32*x` for a dtype
with the lanes of `x`; `half(x)` and `concat(x,y)` for halves and concatenations of
vectors; or `dtype` where the call says it, `dtype:int32` where it is `int32` unless the
call says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from functools import cache

from xdsl.dialects.builtin import NoneType, i1, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.dialects.tir.constants import (
    StringOp,
    constant_value,
)
from xdsl_tvm.dialects.tir.types import (
    bits_of_lane,
    dtype_name,
    element_of,
    is_bool,
    is_custom,
    is_expression_type,
    is_float,
    is_handle,
    is_integer,
    is_integer_type,
    is_scalable,
    lanes_of,
    like_lanes,
    parse_dtype,
    with_lanes,
)


class CallEffect(IntEnum):
    """TVM's call effect kinds, in its order (docs/spec/tir-ir.md §4.1)."""

    EXPR_ANNOTATION = 0
    """A hint; the value is the operand."""
    PURE = 1
    READ_STATE = 2
    UPDATE_STATE = 3
    SPECIAL_CALL_ARG = 4
    """Means something as operand of another call only."""
    EMBED_INFO = 5
    """Carries facts, without an effect at run time."""
    CONTROL_JUMP = 6


class StructField(IntEnum):
    """The fields that `tvm_struct_get` and `tvm_struct_set` name.

    docs/spec/tir-builtins.md §3.1; those of `tvm-ffi` are ours.
    """

    ARRAY_ADDRESS = 0
    """Of a DLTensor, as all up to the device type: its own address."""
    ARRAY_DATA = 1
    ARRAY_SHAPE = 2
    """Pointer to the extents, int64."""
    ARRAY_STRIDES = 3
    """Pointer to the strides in elements, int64; null for a compact array."""
    ARRAY_NDIM = 4
    ARRAY_TYPE_CODE = 5
    ARRAY_TYPE_BITS = 6
    ARRAY_TYPE_LANES = 7
    ARRAY_BYTE_OFFSET = 8
    ARRAY_DEVICE_ID = 9
    ARRAY_DEVICE_TYPE = 10
    VALUE_CONTENT = 12
    """Of a packed argument: a union of int64, double and handle."""
    ANY_TYPE_INDEX = 13
    """Of a value of `tvm-ffi`, as all that follow: what it is, int32."""
    ANY_PADDING = 14
    """Zero, int32."""
    ANY_VALUE = 15
    """A union of int64, double and handle."""
    ANY_POINTER = 16
    """The handle that it is; of a Tensor, the address of the DLTensor in the object."""


# ---- operands ----


@dataclass(frozen=True)
class Kind:
    """What values an operand takes."""

    description: str
    """Follows "must be" in a sentence."""
    accepts: Callable[[SSAValue], bool]


def _is_string(value: SSAValue) -> bool:
    return isinstance(value.owner, StringOp)


def _is_address(value: SSAValue) -> bool:
    return is_handle(value.type) and not _is_string(value)


def _constant(value: SSAValue) -> int | float | None:
    return constant_value(value) if is_integer_type(value.type) else None


def _is_constant(value: SSAValue) -> bool:
    return _constant(value) is not None


def _is_real(dtype: Attribute) -> bool:
    return is_float(dtype) or is_custom(dtype)


def _is_number(dtype: Attribute) -> bool:
    return is_integer(dtype) or _is_real(dtype)


KINDS: Mapping[str, Kind] = {
    "any": Kind("any value", lambda v: is_expression_type(v.type)),
    "number": Kind("an integer or a float", lambda v: _is_number(v.type)),
    "int": Kind("an integer", lambda v: is_integer(v.type)),
    "index": Kind("a scalar integer", lambda v: is_integer_type(v.type)),
    "int32": Kind("an i32 of any lanes", lambda v: element_of(v.type) == i32),
    "int8x4": Kind(
        "a vector of four 8-bit integers",
        lambda v: v.type in (parse_dtype("int8x4"), parse_dtype("uint8x4")),
    ),
    "float": Kind("a float", lambda v: _is_real(v.type)),
    "bool": Kind("a scalar i1", lambda v: v.type == i1),
    "bools": Kind("an i1 of any lanes", lambda v: is_bool(v.type)),
    "vector": Kind("a vector", lambda v: lanes_of(v.type) > 1 or is_scalable(v.type)),
    "handle": Kind("a handle", _is_address),
    "pointer": Kind("a pointer into memory", _is_address),
    "nullable": Kind(
        "a handle or the constant 0", lambda v: _is_address(v) or _constant(v) == 0
    ),
    "resource": Kind(
        "a handle, a tir.string or the constant 0",
        lambda v: is_handle(v.type) or _constant(v) == 0,
    ),
    "string": Kind("a tir.string", _is_string),
    "const": Kind("a constant integer", _is_constant),
    "name": Kind(
        "a tir.string or a constant integer",
        lambda v: _is_string(v) or _is_constant(v),
    ),
    "field": Kind(
        "a constant that is a field number of tir.StructField",
        lambda v: _constant(v) in StructField.__members__.values(),
    ),
}
"""The kinds of operands. A handle is opaque or typed, and no `tir.string`."""


@dataclass(frozen=True)
class Operand:
    """An operand, or a list of operands, of a builtin."""

    name: str
    kind: str
    """A key of `KINDS`, or empty for one of the type of `like`."""
    like: str = ""
    choices: tuple[str, ...] = ()
    """The strings, or the numbers as text, that are allowed; empty for all."""
    is_optional: bool = False
    is_variadic: bool = False
    default: int | None = None
    """What leaving it out means, where that is a constant."""

    @property
    def description(self) -> str:
        """What it must be, as it follows in a sentence."""
        text = (
            f"of the type of {self.like}" if self.like else KINDS[self.kind].description
        )
        if self.choices:
            text += f", one of {', '.join(self.choices)}"
        return text

    def accepts(self, value: SSAValue) -> bool:
        """Whether a value has its kind, the type of another operand not looked at."""
        if self.kind and not KINDS[self.kind].accepts(value):
            return False
        return not self.choices or _text_of(value) in self.choices


def _text_of(value: SSAValue) -> str:
    owner = value.owner
    return owner.value.data if isinstance(owner, StringOp) else str(_constant(value))


_OPERAND = re.compile(
    r"(?P<name>\w+):(?:=(?P<like>\w+)|(?P<kind>\w+))(?:\{(?P<choices>[^}]*)\})?"
    r"(?:(?P<variadic>\*)|(?P<optional>\?)(?P<default>\d+)?)?\Z"
)


def parse_operand(text: str) -> Operand:
    """The operand that a word of a row means. Raises ValueError for other text."""
    match = _OPERAND.match(text)
    if match is None or (match["kind"] and match["kind"] not in KINDS):
        raise ValueError(f"'{text}' is no operand of a builtin")
    return Operand(
        match["name"],
        match["kind"] or "",
        match["like"] or "",
        tuple(match["choices"].split("|")) if match["choices"] else (),
        match["optional"] is not None,
        match["variadic"] is not None,
        None if match["default"] is None else int(match["default"]),
    )


# ---- results ----


class ResultRule(Enum):
    """How the type of a result comes about."""

    FIXED = auto()
    SAME = auto()
    LANES = auto()
    """A dtype with the lanes of an operand."""
    HALF = auto()
    CONCAT = auto()
    EXPLICIT = auto()


@dataclass(frozen=True)
class Result:
    """The rule for the type of a builtin's result."""

    rule: ResultRule
    dtype: Attribute | None = None
    """A fixed type, or the default of an explicit one; None for neither."""
    operands: tuple[str, ...] = ()
    """The operands that it depends on."""

    @property
    def is_void(self) -> bool:
        """Whether there never is a result."""
        return self.rule is ResultRule.FIXED and isinstance(self.dtype, NoneType)

    @property
    def description(self) -> str:
        """The rule as it follows "must be" in a sentence."""
        name = "" if self.dtype is None else dtype_name(self.dtype)
        match self.rule:
            case ResultRule.FIXED:
                return name
            case ResultRule.SAME:
                return f"of the type of {self.operands[0]}"
            case ResultRule.LANES:
                return f"{name} with the lanes of {self.operands[0]}"
            case ResultRule.HALF:
                return f"half of the lanes of {self.operands[0]}"
            case ResultRule.CONCAT:
                return f"the lanes of {' and '.join(self.operands)} together"
            case ResultRule.EXPLICIT:
                return f"given, {name} by default" if name else "given"


_RESULT = re.compile(
    r"(?P<explicit>dtype)(?::(?P<default>\w+))?\Z|=(?P<same>\w+)\Z"
    r"|(?P<how>half|concat)\((?P<operands>[\w,]+)\)\Z"
    r"|(?P<dtype>\w+)(?:\*(?P<lanes>\w+))?\Z"
)


def parse_result(text: str) -> Result:
    """The result that a row means. Raises ValueError for other text."""
    match = _RESULT.match(text)
    if match is None:
        raise ValueError(f"'{text}' is no result of a builtin")
    if match["explicit"]:
        default = match["default"]
        return Result(ResultRule.EXPLICIT, parse_dtype(default) if default else None)
    if match["same"]:
        return Result(ResultRule.SAME, operands=(match["same"],))
    if match["how"]:
        rule = ResultRule[match["how"].upper()]
        return Result(rule, operands=tuple(match["operands"].split(",")))
    dtype = parse_dtype(match["dtype"])
    if match["lanes"]:
        return Result(ResultRule.LANES, dtype, (match["lanes"],))
    return Result(ResultRule.FIXED, dtype)


def _derived(result: Result, types: Sequence[Attribute]) -> Attribute:
    """The type by a rule from those of the operands it depends on.

    Raises ValueError where they do not fit.
    """
    first = types[0]
    if result.rule is ResultRule.SAME:
        return first
    if result.rule is ResultRule.LANES:
        assert result.dtype is not None
        return like_lanes(result.dtype, first)
    if result.rule is ResultRule.HALF:
        if lanes_of(first) % 2:
            raise ValueError(f"{first} has no halves")
        return with_lanes(first, lanes_of(first) // 2, scalable=is_scalable(first))
    if any(
        element_of(t) != element_of(first) or is_scalable(t) != is_scalable(first)
        for t in types
    ):
        raise ValueError(f"{' and '.join(map(str, types))} have no concatenation")
    return with_lanes(first, sum(map(lanes_of, types)), scalable=is_scalable(first))


# ---- builtins ----


class DtypePlace(Enum):
    """Where the call of a builtin has its dtype in TVMScript."""

    NOWHERE = "not written"
    FIRST = "first"
    LAST = "last"


Check = Callable[[Sequence[Attribute], Attribute | None], str | None]
"""From the types of operands and result, what is wrong beyond the rules, or None."""


@dataclass(frozen=True, eq=False)
class Intrinsic:
    """What is known of a builtin."""

    name: str
    """TVM's, without the prefix `tir.`."""
    operands: tuple[Operand, ...]
    result: Result
    effect: CallEffect
    """What passes here go by."""
    section: str
    vectorizable: bool = False
    """Whether a call may be widened: it then works lane by lane."""
    tvm_effect: CallEffect | None = None
    """The kind TVM registers, where that is another one."""
    dtype_place: DtypePlace = DtypePlace.NOWHERE
    script_names: tuple[str, ...] = ()
    """What TVMScript calls it after `T.`, the printed name first. Empty where TVM has no
    such function, and scripts say `T.call_intrin("dtype", "tir.name", ...)`."""
    op: str | None = None
    """The op that stands for it, where that is not `tir.call`."""
    c_symbol: str | None = None
    """The C function that code generators call, with the same operands."""
    counts: tuple[int, ...] = ()
    """The numbers of operands, where not all between the least and the most will do."""
    lowered_by: str = ""
    """Who consumes it: a pass or a back end, in a few words."""
    note: str = ""
    check: Check | None = field(default=None, repr=False)

    @property
    def least(self) -> int:
        """The least number of operands."""
        return sum(not (o.is_optional or o.is_variadic) for o in self.operands)

    @property
    def most(self) -> int | None:
        """The largest number of operands, None for any."""
        if any(operand.is_variadic for operand in self.operands):
            return None
        return len(self.operands)

    def layout(self, count: int) -> tuple[Operand, ...]:
        """The operands of a call with `count` of them, a list once for each of its own.

        Raises ValueError where a call cannot have so many.
        """
        most = self.most
        if count < self.least or (most is not None and count > most):
            raise ValueError(self._count_error(count))
        if self.counts and count not in self.counts:
            raise ValueError(self._count_error(count))
        return _layout(self, count)

    def _count_error(self, count: int) -> str:
        least, most = self.least, self.most
        if self.counts:
            number = " or ".join(map(str, self.counts))
        elif most is None:
            number = f"{least} or more"
        else:
            number = str(least) if least == most else f"{least} to {most}"
        names = ", ".join(
            f"{o.name}..." if o.is_variadic else o.name for o in self.operands
        )
        listed = f" ({names})" if names else ""
        plural = "" if number == "1" else "s"
        return f"takes {number} operand{plural}{listed}, got {count}"

    def positions(self, name: str, count: int) -> list[int]:
        """Where the operand `name` is in a call with `count` operands.

        Empty if it has been left out. Raises KeyError where the builtin has none of this
        name, and ValueError where a call cannot have `count` operands.
        """
        if all(operand.name != name for operand in self.operands):
            raise KeyError(
                f'the builtin "{self.name}" has no operand {name}; its operands are '
                f"{', '.join(operand.name for operand in self.operands) or 'none'}"
            )
        layout = self.layout(count)
        return [index for index, operand in enumerate(layout) if operand.name == name]

    def result_type(self, types: Sequence[Attribute]) -> Attribute | None:
        """The type of the result of a call that does not say it; None for void.

        Raises ValueError where the operands cannot be those of a call, or the dtype has
        to be said.
        """
        result = self.result
        if result.rule is ResultRule.EXPLICIT and result.dtype is None:
            raise ValueError(
                f'the builtin "{self.name}" has no rule for its dtype; give the type'
            )
        if result.is_void:
            return None
        if not result.operands:
            return result.dtype
        try:
            return _derived(result, self._types_of(result.operands, types))
        except ValueError as error:
            raise ValueError(f'the builtin "{self.name}": {error}') from None

    def _types_of(
        self, names: Sequence[str], types: Sequence[Attribute]
    ) -> list[Attribute]:
        return [types[self.positions(name, len(types))[0]] for name in names]

    def error(self, args: Sequence[SSAValue], result: Attribute | None) -> str | None:
        """What is wrong with a call of these operands and this result, or None."""
        try:
            layout = self.layout(len(args))
        except ValueError as error:
            return str(error)
        types = [arg.type for arg in args]
        for operand, arg in zip(layout, args, strict=True):
            if not operand.accepts(arg) or (
                operand.like and arg.type != (self._types_of((operand.like,), types)[0])
            ):
                return self._operand_error(operand, arg, types)
        error = self._result_error(types, result)
        if error is None and self.check is not None:
            error = self.check(types, result)
        return error

    def _operand_error(
        self, operand: Operand, arg: SSAValue, types: Sequence[Attribute]
    ) -> str:
        expected = operand.description
        if operand.like:
            like = self._types_of((operand.like,), types)[0]
            expected = f"{like}, the type of {operand.like}"
        got = f"a value of type {arg.type}"
        if _is_string(arg):
            got = f'the tir.string "{_text_of(arg)}"'
        elif _is_constant(arg):
            got = f"the constant {_text_of(arg)} : {arg.type}"
        return f"operand {operand.name} must be {expected}, got {got}"

    def _result_error(
        self, types: Sequence[Attribute], found: Attribute | None
    ) -> str | None:
        result = self.result
        if result.is_void:
            return None if found is None else f"has no result, got {found}"
        if found is None:
            if self.may_drop_result:
                return None
            return f"gives a value; its result must be {result.description}"
        if result.rule is ResultRule.EXPLICIT:
            return None
        try:
            expected = self.result_type(types)
        except ValueError as error:
            return str(error)
        if found == expected:
            return None
        if expected is not None and is_handle(expected) and is_handle(found):
            return None
        of_rule = f", {result.description}" if result.operands else ""
        return f"the result must be {expected}{of_rule}, got {found}"

    @property
    def may_drop_result(self) -> bool:
        """Whether a call may go without its result, as it is made for its effect."""
        if self.result.rule is ResultRule.EXPLICIT:
            return True
        return self.effect >= CallEffect.UPDATE_STATE


@cache
def _layout(builtin: Intrinsic, count: int) -> tuple[Operand, ...]:
    extra = count - builtin.least
    found: list[Operand] = []
    for operand in builtin.operands:
        if operand.is_variadic:
            found += [operand] * extra
        elif not operand.is_optional:
            found.append(operand)
        elif extra:
            found.append(operand)
            extra -= 1
    return tuple(found)


# ---- checks of single builtins ----


def same_size(types: Sequence[Attribute], result: Attribute | None) -> str | None:
    """The check of `reinterpret`: as many bits before as after."""
    (source,) = types
    if result is None:
        return "gives a value; its result type must be given"
    if is_scalable(source) or is_scalable(result):
        return None
    before, behind = (lanes_of(t) * bits_of_lane(t) for t in (source, result))
    if before == behind:
        return None
    return f"{source} has {before} bits and {result} has {behind}; they must be as many"


def vector_of_bools(types: Sequence[Attribute], result: Attribute | None) -> str | None:
    """The check of `get_active_lane_mask`."""
    if result is not None and is_bool(result) and result != i1:
        return None
    return f"the result must be a vector of i1, got {result}"
