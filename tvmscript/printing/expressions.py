"""Expressions as the text of a script (docs/spec/tvmscript.md §10.2, §10.5)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects.builtin import NoneType, f32, i1, i32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import largest_finite
from xdsl_tvm.dialects.relax import VDeviceAttr
from xdsl_tvm.dialects.tir.builtin_rules import DtypePlace, Intrinsic
from xdsl_tvm.dialects.tir.builtins_table import INTRINSICS
from xdsl_tvm.dialects.tir.index_map import IndexMapAttr
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.nodes.expressions import Expr, ScriptTypeError, operands
from xdsl_tvm.tvmscript.printing.index_maps import index_map

Piece: TypeAlias = "str | Expr | tuple[Expr, int]"
"""Text, an expression, or one whose operators bind at least as strongly as a number."""

_ANY, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _UNARY, _ATOM = range(9)

_INFIX: Mapping[str, tuple[str, int]] = {
    "add": ("+", _SUM),
    "sub": ("-", _SUM),
    "mul": ("*", _PRODUCT),
    "div": ("/", _PRODUCT),
    "floordiv": ("//", _PRODUCT),
    "floormod": ("%", _PRODUCT),
    "and": ("and", _AND),
    "or": ("or", _OR),
}
_COMPARISONS: Mapping[tir.CmpPredicate, str] = {
    tir.CmpPredicate.EQ: "==",
    tir.CmpPredicate.NE: "!=",
    tir.CmpPredicate.LT: "<",
    tir.CmpPredicate.LE: "<=",
    tir.CmpPredicate.GT: ">",
    tir.CmpPredicate.GE: ">=",
}
_NODES: Mapping[str, str] = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "mod": "Mod",
    "floordiv": "FloorDiv",
    "floormod": "FloorMod",
    "min": "Min",
    "max": "Max",
    "and": "And",
    "or": "Or",
}
_HELPERS: Mapping[str, tuple[str, Callable[[Expr, Expr], Expr]]] = {
    "mod": ("truncmod", ex.truncmod),
    "min": ("min", ex.minimum),
    "max": ("max", ex.maximum),
}
_FOLDING: Mapping[str, Callable[[Expr, Expr], Expr]] = {
    "add": ex.add,
    "sub": ex.sub,
    "mul": ex.mul,
    "div": ex.divide,
    "floordiv": ex.floordiv,
    "floormod": ex.floormod,
    "and": lambda a, b: ex.logical("and", a, b),
    "or": lambda a, b: ex.logical("or", a, b),
}
_LANES = frozenset((4, 8, 16, 32, 64))
_SCALARS = frozenset(
    f"{code}{bits}" for code in ("int", "uint") for bits in (8, 16, 32, 64)
) | {"float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"}


@dataclass(frozen=True)
class Version:
    """What differs between the scripts of versions of TVM."""

    header: tuple[str, ...] = ("# from tvm.script import tir as T",)
    block: str = "block"
    alloc_buffer: str = "alloc_buffer"
    """What allocates a buffer in a block."""
    is_flat: bool = False
    """Whether bindings and allocations hold for the rest of their body, whatever body
    they are in, and have no form with a body of their own."""
    lacks: frozenset[str] = frozenset()
    """Builtins that there is no function for."""


VERSIONS: Mapping[str, Version] = {
    "0.20": Version(),
    "0.27": Version(
        (
            "# from tvm.script import tirx as T",
            "# from tvm.tirx.layout import Axis",
        ),
        "sblock",
        "sblock_alloc_buffer",
        True,
        frozenset(
            (
                "tvm_check_return",
                "create_barriers",
                "large_uint_imm",
                "make_filled_simdgroup_matrix",
                "mma_fill",
                "mma_store",
                "ptx_arrive_barrier",
                "ptx_arrive_barrier_expect_tx",
                "ptx_commit_group",
                "ptx_cp_async",
                "ptx_cp_async_barrier",
                "ptx_cp_async_bulk",
                "ptx_cp_async_bulk_tensor",
                "ptx_fence_proxy_async",
                "ptx_init_barrier_thread_count",
                "ptx_ldg32",
                "ptx_ldmatrix",
                "ptx_mma",
                "ptx_mma_sp",
                "ptx_wait_barrier",
                "ptx_wait_group",
                "ptx_wgmma_commit_group",
                "ptx_wgmma_fence",
                "ptx_wgmma_mma_async",
                "ptx_wgmma_wait_group",
                "simdgroup_load",
                "simdgroup_multiply_accumulate",
                "simdgroup_store",
                "tvm_thread_context",
            )
        ),
    ),
}
"""The versions that can be written, by name."""


@dataclass(frozen=True)
class Style:
    """How a script is to be written."""

    version: Version = VERSIONS["0.20"]
    sugar: bool = True
    indent: int = 4


@dataclass(frozen=True)
class Spelling:
    """How expressions are written: by whom names are given, and what is left out."""

    name_of: Callable[[ex.Var | st.Buffer], str]
    name_locally: Callable[[ex.Var], str]
    """Names a parameter of a lambda."""
    style: Style
    module: str = "Module"


def has_constructor(dtype: Attribute) -> bool:
    """Whether TVM's `T` has a function of the name of the dtype."""
    if tir.is_scalable(dtype):
        return False
    element = tir.dtype_name(tir.element_of(dtype))
    lanes = tir.lanes_of(dtype)
    if lanes == 1:
        return element in _SCALARS or element in ("bool", "handle", "bfloat16")
    return element in _SCALARS and lanes in _LANES


def string(text: str) -> str:
    """A string literal; line breaks and other control characters are escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")


def dtype_string(dtype: Attribute) -> str:
    """The name of a dtype as a literal; pointers are handles."""
    return f'"{tir.dtype_name(dtype)}"'


def annotation(dtype: Attribute) -> str:
    """What annotates a variable of a type, and makes one when it is called."""
    if isinstance(dtype, tir.PtrType):
        element = tir.dtype_name(dtype.element_type)
        return f'T.handle("{element}", {string(dtype.scope.data)})'
    return f"T.{tir.dtype_name(dtype)}"


def number(value: float) -> str:
    """A float as Python reads it back: one decimal if it is integral, else 17 digits."""
    if value == math.floor(value):
        return f"{value:.1f}"
    return f"{value:.17g}"


def _integer(node: ex.IntImm) -> str:
    if node.type == i32:
        return str(node.value)
    if node.type == i1:
        return f"T.bool({bool(node.value)})"
    name = tir.dtype_name(node.type)
    if has_constructor(node.type):
        return f"T.{name}({node.value})"
    return f'T.IntImm("{name}", {node.value})'


def _float(node: ex.FloatImm) -> str:
    name = tir.dtype_name(node.type)
    is_finite = math.isfinite(node.value)
    if not is_finite and not isinstance(node.type, tir.CustomType):
        return f'T.{name}("{node.value}")'
    if isinstance(node.type, tir.CustomType) or abs(node.value) > largest_finite(f32):
        # Custom dtypes have no constructors; the others take floats through float32.
        return f'T.FloatImm("{name}", {node.value!r})'
    return f"T.{name}({number(node.value)})"


def lanes(dtype: Attribute) -> str:
    """The number of lanes of a vector."""
    count = tir.lanes_of(dtype)
    return f"T.vscale() * {count}" if tir.is_scalable(dtype) else str(count)


def _listed(items: Iterable[Piece], before: str, after: str) -> list[Piece]:
    found: list[Piece] = [before]
    for item in items:
        if len(found) > 1:
            found.append(", ")
        found.append(item)
    found.append(after)
    return found


def _call(name: str, *items: Piece) -> list[Piece]:
    return _listed(items, f"T.{name}(", ")")


class ExpressionText:
    """Writes expressions, without recursion."""

    def __init__(self, spelling: Spelling) -> None:
        self._spelling = spelling
        self._in_lambda = False

    def text(self, *pieces: Piece) -> str:
        """The text of pieces in a row."""
        found: list[str] = []
        stack = list(reversed(pieces))
        while stack:
            piece = stack.pop()
            if isinstance(piece, str):
                found.append(piece)
                continue
            node, least = piece if isinstance(piece, tuple) else (piece, _ANY)
            parts, strength = self._pieces(node)
            if strength < least:
                parts = ["(", *parts, ")"]
            stack += reversed(parts)
        return "".join(found)

    def _pieces(self, node: Expr) -> tuple[Sequence[Piece], int]:
        """What an expression is written as, and how strongly its operator binds."""
        match node:
            case ex.Var():
                return [self._spelling.name_of(node)], _ATOM
            case ex.IntImm():
                if node.value >= 1 << 63 and self._spelling.style.version.is_flat:
                    raise DiagnosticException(
                        "tir.const: TVM 0.27 has no constants beyond int64; print "
                        "version 0.20"
                    )
                return [_integer(node)], _ATOM
            case ex.FloatImm():
                return [_float(node)], _ATOM
            case ex.StringImm():
                return [string(node.value)], _ATOM
            case ex.Binary():
                return self._binary(node)
            case ex.Compare():
                return self._compare(node)
            case ex.Not() if not self._in_lambda:
                return ["not ", (node.value, _NOT)], _NOT
            case ex.BufferLoad():
                return self._load(node), _ATOM
            case ex.Call():
                return self._call(node), _ATOM
            case _:
                return self._other(node), _ATOM

    def _other(self, node: Expr) -> Sequence[Piece]:
        match node:
            case ex.Select():
                return _call("Select", node.condition, node.true_value, node.false_value)
            case ex.Not():
                return _call("Not", node.value)
            case ex.Cast():
                return _call("Cast", dtype_string(node.type), node.value)
            case ex.Ramp():
                return _call("Ramp", node.base, node.stride, lanes(node.type))
            case ex.Broadcast():
                return _call("Broadcast", node.value, lanes(node.type))
            case ex.Shuffle():
                vectors = _listed(node.vectors, "[", "], ")
                return ["T.Shuffle(", *vectors, *_listed(node.indices, "[", "])")]
            case ex.Let():
                name = self._spelling.name_of(node.var)
                where = [f"where={{{name}: ", node.value, "})"]
                return ["T.Let(", node.body, ", ", *where]
            case ex.CallFunc():
                name = f"{self._spelling.module}.{node.symbol}("
                return _listed(node.args, name, ")")
            case _:
                raise DiagnosticException(
                    f"{type(node).__name__}: has no spelling in TVMScript"
                )

    # ---- operators ----

    def _binary(self, node: ex.Binary) -> tuple[Sequence[Piece], int]:
        fold = _FOLDING.get(node.op)
        # Python runs lambdas, and does not ask expressions what `and` means.
        has_operator = _has_operator(node, and_or=not self._in_lambda)
        if fold is not None and has_operator and _is_rebuilt(node, fold):
            symbol, strength = _INFIX[node.op]
            parts = [(node.lhs, strength), f" {symbol} ", (node.rhs, strength + 1)]
            return parts, strength
        if node.op in _HELPERS:
            name, helper = _HELPERS[node.op]
            if _is_rebuilt(node, helper):
                return _call(name, node.lhs, node.rhs), _ATOM
        return _call(_NODES[node.op], node.lhs, node.rhs), _ATOM

    def _compare(self, node: ex.Compare) -> tuple[Sequence[Piece], int]:
        rebuilt = ex.compare(node.predicate, node.lhs, node.rhs)
        is_same = (
            isinstance(rebuilt, ex.Compare)
            and rebuilt.lhs is node.lhs
            and rebuilt.rhs is node.rhs
        )
        if not is_same:
            return _call(str(node.predicate).upper(), node.lhs, node.rhs), _ATOM
        strength = _COMPARISON
        symbol = f" {_COMPARISONS[node.predicate]} "
        parts = [(node.lhs, strength + 1), symbol, (node.rhs, strength + 1)]
        return parts, strength

    # ---- accesses ----

    def _load(self, node: ex.BufferLoad) -> Sequence[Piece]:
        name = self._spelling.name_of(node.buffer)
        if node.predicate is None:
            return [name, *self.indices(node.buffer, node.indices)]
        if self._spelling.style.version.is_flat:
            raise DiagnosticException(
                "tir.load: TVM 0.27 has no loads with a predicate; use tir.if_then_else"
            )
        indices = _listed(node.indices, f"{name}.vload([", "]")
        return [*indices, ", predicate=", node.predicate, ")"]

    def indices(self, buffer: st.Buffer, indices: Sequence[Expr]) -> list[Piece]:
        """The brackets of an access, vectors of neighbours as slices."""
        if not indices:
            return ["[()]"]
        found = _listed(indices[:-1], "[", "")
        if len(indices) > 1:
            found.append(", ")
        found += self._last_index(buffer, indices)
        return [*found, "]"]

    def _last_index(self, buffer: st.Buffer, indices: Sequence[Expr]) -> list[Piece]:
        index = indices[-1]
        if not isinstance(index, ex.Ramp) or not self._spelling.style.sugar:
            return [index]
        if self._spelling.style.version.is_flat:
            # There a slice is a region, also where a value is expected.
            return [index]
        step = ex.literal(index.stride)
        if not isinstance(step, int) or step <= 0 or tir.is_scalable(index.type):
            return [index]
        if _has_effect(index.base):
            # The base would be evaluated twice.
            return [index]
        length = ex.const(step * tir.lanes_of(index.type), index.base.type)
        stop = ex.add(index.base, length)
        read = buffer.index_exprs((*indices[:-1], slice(index.base, stop, index.stride)))
        if not _is_ramp(read[-1], index):
            return [index]
        pieces: list[Piece] = [index.base, ":", stop]
        return pieces if step == 1 else [*pieces, ":", index.stride]

    def region(self, region: st.BufferRegion) -> list[Piece]:
        """A region of a buffer, points as scalars."""
        name = self._spelling.name_of(region.buffer)
        if not region.region:
            return [f"{name}[()]"]
        found: list[Piece] = [f"{name}["]
        for each in region.region:
            if len(found) > 1:
                found.append(", ")
            found += self._dim(each)
        return [*found, "]"]

    def _dim(self, each: st.Range) -> list[Piece]:
        if ex.literal(each.extent) == 1 and each.extent.type == each.min.type:
            return [each.min]
        return [each.min, ":", end_of(each)]

    # ---- calls ----

    def _call(self, node: ex.Call) -> Sequence[Piece]:
        if node.name == "type_annotation" and not node.args:
            return [f"T.type_annotation({dtype_string(node.type)})"]
        version = self._spelling.style.version
        if node.name in version.lacks or (version.is_flat and node.name == "ret"):
            raise DiagnosticException(
                f'tir.call "{node.name}": TVM 0.27 has no such function; print version '
                "0.20"
            )
        row = INTRINSICS.get(node.name)
        arguments = [self._argument(arg) for arg in node.args]
        if row is None or not self._has_function(node, row):
            return self._raw_call(node, arguments)
        dtype = dtype_string(node.type)
        if row.dtype_place is DtypePlace.FIRST:
            arguments.insert(0, [dtype])
        elif row.dtype_place is DtypePlace.LAST:
            arguments.append([dtype])
        return _joined(arguments, f"T.{row.script_names[0]}(", ")")

    def _has_function(self, node: ex.Call, row: Intrinsic) -> bool:
        """Whether `T` has a function for the builtin that makes this call."""
        if not row.script_names:
            return False
        if self._spelling.style.version.is_flat and node.args:
            # There it may fold: no raw call keeps it from that.
            return row.dtype_place is DtypePlace.NOWHERE or _is_called(node, row)
        return _is_called(node, row)

    def _raw_call(
        self, node: ex.Call, arguments: Sequence[Sequence[Piece]]
    ) -> Sequence[Piece]:
        dtype = dtype_string(node.type)
        if self._spelling.style.version.is_flat:
            name = string(f"tirx.{node.name}")
            return _joined([[dtype], [name], *arguments], "T.call_intrin(", ")")
        return _joined(arguments, f'T.Call({dtype}, "tir.{node.name}", [', "])")

    def _argument(self, arg: Expr | ex.Reducer) -> list[Piece]:
        return self.reducer(arg) if isinstance(arg, ex.Reducer) else [arg]

    def reducer(self, reducer: ex.Reducer) -> list[Piece]:
        """`T.comm_reducer` of a lambda."""
        variables = (*reducer.lhs, *reducer.rhs)
        names = ", ".join(map(self._spelling.name_locally, variables))
        # The result is written now: the names hold inside of the lambda only.
        self._in_lambda = True
        results = [self.text(result) for result in reducer.result]
        self._in_lambda = False
        result = results[0] if len(results) == 1 else f"({', '.join(results)})"
        identity = _listed(reducer.identity, "[", "])")
        return [f"T.comm_reducer(lambda {names}: {result}, ", *identity]

    # ---- values of annotations and attributes ----

    def value(self, value: object) -> str:
        """An annotation or the node of an attribute."""
        match value:
            case bool():
                return f"T.bool({value})"
            case int() | str():
                return _python(value)
            case float():
                return self.text(ex.const(value))
            case Expr():
                return self.text(value)
            case ex.Reducer():
                return self.text(*self.reducer(value))
            case st.Buffer():
                return self._spelling.name_of(value)
            case tir.Target():
                return f"T.target({self._plain(value.export())})"
            case IndexMapAttr():
                return index_map(value)
            case VDeviceAttr():
                return self._virtual_device(value)
            case list() | tuple():
                items = cast("Sequence[object]", value)
                return f"[{', '.join(map(self.value, items))}]"
            case dict():
                return self.dictionary(cast("Mapping[str, object]", value))
            case None:
                return "None"
            case _:
                raise DiagnosticException(
                    f"a {type(value).__name__} has no spelling in TVMScript; use "
                    "numbers, strings, lists and dictionaries"
                )

    def _virtual_device(self, device: VDeviceAttr) -> str:
        target = device.target
        kind = "None"
        if isinstance(target, tir.Target):
            kind = string(target.kind.name)
            if tir.Target.parse(target.kind.name) != target:
                kind = self._plain(target.export())
        scope = string(device.memory_scope.data)
        return f"I.vdevice({kind}, {device.index.data}, {scope})"

    def dictionary(self, values: Mapping[str, object]) -> str:
        """A dictionary of annotations, sorted by key."""
        items = (f"{string(k)}: {self.value(v)}" for k, v in sorted(values.items()))
        return f"{{{', '.join(items)}}}"

    def _plain(self, value: object) -> str:
        match value:
            case dict():
                items = sorted(cast("Mapping[str, object]", value).items())
                texts = (f"{string(key)}: {self._plain(each)}" for key, each in items)
                return f"{{{', '.join(texts)}}}"
            case list():
                each = map(self._plain, cast("list[object]", value))
                return f"[{', '.join(each)}]"
            case _:
                return _python(value)


def _python(value: object) -> str:
    return string(value) if isinstance(value, str) else str(value)


def _joined(groups: Sequence[Sequence[Piece]], before: str, after: str) -> list[Piece]:
    found: list[Piece] = [before]
    for group in groups:
        if len(found) > 1:
            found.append(", ")
        found += group
    return [*found, after]


def end_of(each: st.Range) -> Expr:
    """The end of a half-open range, folded as scripts fold it."""
    return ex.add(each.min, each.extent)


def _has_operator(node: ex.Binary, *, and_or: bool) -> bool:
    if node.op in ex.LOGICAL:
        # Of vectors of bools `and` is the operation on bits.
        return and_or and not tir.is_vector(node.type)
    # TVM has `/` of two signed integers refused, as its rounding is not clear.
    return node.op != "div" or tir.is_float(node.type)


def _is_rebuilt(node: ex.Binary, fold: Callable[[Expr, Expr], Expr]) -> bool:
    """Whether the helper makes the same node of the same operands."""
    is_twice = node.lhs is node.rhs and not isinstance(node.lhs, ex.Var)
    if is_twice and node.op in ("min", "max"):
        # One object here, which folds, but two where the script is read.
        return ex.literal(node.lhs) is None
    try:
        found = fold(node.lhs, node.rhs)
    except ScriptTypeError:
        return False
    return (
        isinstance(found, ex.Binary)
        and found.op == node.op
        and found.lhs is node.lhs
        and found.rhs is node.rhs
    )


def _is_ramp(found: Expr, index: ex.Ramp) -> bool:
    return (
        isinstance(found, ex.Ramp)
        and found.type == index.type
        and found.base is index.base
        and found.stride.type == index.stride.type
        and ex.literal(found.stride) == ex.literal(index.stride)
    )


_PURE = (tir.CallEffect.EXPR_ANNOTATION, tir.CallEffect.PURE, tir.CallEffect.READ_STATE)


def _has_effect(root: Expr) -> bool:
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ex.CallFunc):
            return True
        if isinstance(node, ex.Call):
            row = INTRINSICS.get(node.name)
            if row is None or row.effect not in _PURE:
                return True
        stack += operands(node)
    return False


def _is_called(node: ex.Call, row: Intrinsic) -> bool:
    """Whether the function of `T` makes the same call of the same operands."""
    # `T` has the functions by which scripts are read.
    from xdsl_tvm.tvmscript import tir as vocabulary

    function = cast("Callable[..., object]", getattr(vocabulary, row.script_names[0]))
    arguments: list[object] = list(node.args)
    if row.dtype_place is DtypePlace.FIRST:
        arguments.insert(0, tir.dtype_name(node.type))
    elif row.dtype_place is DtypePlace.LAST:
        arguments.append(tir.dtype_name(node.type))
    try:
        found = function(*arguments)
    except (ScriptTypeError, ValueError, TypeError):
        return False
    return (
        isinstance(found, ex.Call)
        and found.name == node.name
        and _fits(found.type, node.type, row)
        and len(found.args) == len(node.args)
        and all(a is b for a, b in zip(found.args, node.args, strict=True))
    )


def _fits(found: Attribute, wanted: Attribute, row: Intrinsic) -> bool:
    if isinstance(wanted, NoneType):
        return isinstance(found, NoneType) or row.may_drop_result
    # A script has no way to say what the pointer of a call points to.
    return found == wanted or (tir.is_handle(found) and tir.is_handle(wanted))
