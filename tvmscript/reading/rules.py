"""What expressions of scripts may do: the rules of text, and those of live definitions.

Reading a text runs nothing but this package. A text sees an explicit list of names and,
of each kind of value, an explicit list of attributes; what it computes with Python values
is bounded in size, and all of it in steps. A live definition is code of the process that
reads it: it sees what Python code in its place sees.
"""

from __future__ import annotations

import builtins
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, MappingView, Sequence, Sized
from types import FunctionType, MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.relax.expr import Expr as RelaxExpr
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.constructs import Axis, BufferConstructor, MetaVar
from xdsl_tvm.tvmscript.nodes.dtypes import Dtype
from xdsl_tvm.tvmscript.nodes.operators import LetAnnotation
from xdsl_tvm.tvmscript.nodes.relax_types import Annotation, AnnotationFunction
from xdsl_tvm.tvmscript.nodes.statements import Buffer, BufferRegion, Range


class UndefinedName(NameError):
    """A name that means nothing."""


class NotAllowed(TypeError):
    """What a text may not do."""


class LimitExceeded(ValueError):
    """A text that computes more than it may."""


class Namespace:
    """A part of a vocabulary, such as `R.nn`, whose members are found by their names."""

    def __init__(
        self, prefix: str, find: Callable[[str], object], members: Sequence[str]
    ) -> None:
        self._prefix = prefix
        self._find = find
        self._members = members

    def __dir__(self) -> Sequence[str]:
        return self._members

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"R.{self._prefix[:-1]} has no {name}")
        return self._find(f"{self._prefix}{name}")

    def __call__(self, *args: object, **named: object) -> object:
        raise TypeError(f"R.{self._prefix[:-1]} holds functions, and is none")


class ModuleName:
    """The name of the class that is read; `Module.f` is its function `f`."""

    def __init__(self, name: str, functions: Mapping[str, object]) -> None:
        self.name = name
        self.functions = functions

    def function(self, name: str) -> object:
        """The function of that name. Raises AttributeError where there is none."""
        found = self.functions.get(name)
        if found is None:
            known = ", ".join(self.functions) or "none"
            raise AttributeError(
                f"module {self.name} has no function '{name}' (it has {known})"
            )
        return found


class Rules(ABC):
    """What the expressions of a script may do."""

    @abstractmethod
    def builtin(self, name: str) -> object:
        """What a name means that nothing around defines; see `has_builtin`."""

    @abstractmethod
    def has_builtin(self, name: str) -> bool:
        """Whether such a name means something."""

    def reason_for_unknown(self, name: str) -> str:
        """Why a name of Python means nothing here; empty for other names."""
        if not hasattr(builtins, name):
            return ""
        return ", a function of Python that a text cannot call: a text is read, not run"

    @abstractmethod
    def constant(self, value: object) -> object:
        """A literal. Raises NotAllowed for one of a kind that scripts do not have."""

    @abstractmethod
    def attribute(self, value: object, name: str) -> object:
        """An attribute. Raises AttributeError and NotAllowed."""

    @abstractmethod
    def item(self, value: object, index: object) -> object:
        """What `value[index]` means. Raises NotAllowed."""

    @abstractmethod
    def sequence(self, value: object) -> Sequence[object]:
        """The values in a value. Raises TypeError where there are none."""

    @abstractmethod
    def check_call(self, function: object, args: Sequence[object]) -> None:
        """Raises NotAllowed for a call that scripts do not make."""

    @abstractmethod
    def check_operands(self, symbol: str, lhs: object, rhs: object) -> None:
        """Raises LimitExceeded where an operator would make too large a value."""

    @abstractmethod
    def formatted(self, value: object, convert: str, spec: str) -> str:
        """A value in an f-string. Raises NotAllowed and LimitExceeded."""

    @abstractmethod
    def step(self, count: int = 1) -> None:
        """Counts work. Raises LimitExceeded where it has been too much."""

    @abstractmethod
    def charge(self, value: object) -> None:
        """Counts the work that a value makes for those who walk it."""

    @abstractmethod
    def check_size(self, value: object) -> None:
        """Raises LimitExceeded for a value of too many parts."""


class LiveRules(Rules):
    """The rules of live definitions: those of Python.

    The values around the definition are values that its author has given it.
    """

    def builtin(self, name: str) -> object:
        return getattr(builtins, name)

    def has_builtin(self, name: str) -> bool:
        return hasattr(builtins, name)

    def constant(self, value: object) -> object:
        return value

    def attribute(self, value: object, name: str) -> object:
        if isinstance(value, ModuleName):
            return value.function(name)
        return getattr(value, name)

    def item(self, value: object, index: object) -> object:
        container: Any = value
        return operator.getitem(container, index)

    def sequence(self, value: object) -> Sequence[object]:
        items: Any = value
        return list(items)

    def check_call(self, function: object, args: Sequence[object]) -> None:
        pass

    def check_operands(self, symbol: str, lhs: object, rhs: object) -> None:
        pass

    def formatted(self, value: object, convert: str, spec: str) -> str:
        return format(_CONVERSIONS[convert](value), spec)

    def step(self, count: int = 1) -> None:
        pass

    def charge(self, value: object) -> None:
        pass

    def check_size(self, value: object) -> None:
        pass


LIVE = LiveRules()


def _same(value: object) -> object:
    return value


_CONVERSIONS: Mapping[str, Callable[[object], object]] = {
    "": _same,
    "s": str,
    "r": repr,
    "a": ascii,
}


# ---- text ----

_MAX_BITS = 4096
"""Of an integer that a text computes."""
_MAX_ITEMS = 1 << 16
"""Of a list or a range that a text computes or takes apart."""
_MAX_CHARACTERS = 1 << 20
"""Of a string that a text computes."""
_MAX_WIDTH = 1000
"""Of the widths and precisions in an f-string."""
_MAX_PARTS = 1 << 16
"""Of an expression, of nested lists, and of nested types, besides one for each character
of the text. A part counts as often as it is met on a walk."""
_MAX_STEPS = 50_000
"""Of the evaluation of a text, besides those for each of its characters."""
_STEPS_PER_CHARACTER = 20

_ATTRIBUTES: Mapping[type, frozenset[str]] = {
    ex.Expr: frozenset(("dtype", "astype")),
    ex.Var: frozenset(("name",)),
    ex.IntImm: frozenset(("value",)),
    ex.FloatImm: frozenset(("value",)),
    ex.StringImm: frozenset(("value",)),
    ex.BufferLoad: frozenset(("buffer", "indices")),
    Buffer: frozenset(
        (
            "access_ptr",
            "axis_separators",
            "data",
            "data_alignment",
            "dtype",
            "elem_offset",
            "name",
            "offset_factor",
            "offset_of",
            "scope",
            "shape",
            "strides",
            "vload",
            "vstore",
        )
    ),
    BufferRegion: frozenset(("buffer", "region")),
    Range: frozenset(("extent", "min")),
    Axis: frozenset(("R", "S", "opaque", "reduce", "remap", "scan", "spatial")),
    RelaxExpr: frozenset(("astype",)),
    str: frozenset(("endswith", "lower", "startswith", "upper")),
    dict: frozenset(("get", "items", "keys", "values")),
    list: frozenset(("count", "index")),
    tuple: frozenset(("count", "index")),
    np.ndarray: frozenset(("dtype", "item", "ndim", "shape", "size", "tolist")),
    np.generic: frozenset(("dtype", "item", "ndim", "shape", "size", "tolist")),
}
"""Of each kind of value, the attributes that texts may name."""

_INDEXED: tuple[type, ...] = (
    Buffer,
    BufferConstructor,
    Dtype,
    LetAnnotation,
    RelaxExpr,
    dict,
    list,
    np.ndarray,
    range,
    str,
    tuple,
)
"""The kinds of values that texts may index."""

_ITERATED: tuple[type, ...] = (
    dict,
    frozenset,
    list,
    np.ndarray,
    range,
    set,
    str,
    tuple,
    MappingView,
)
"""The kinds of values that texts may take apart."""

_NUMBERS: tuple[type, ...] = (bool, float, int, np.generic)


class TextRules(Rules):
    """The rules of a text of `length` characters.

    `namespaces` are the vocabularies, all of whose public names are visible. `decorators`
    are the kinds of values that mark definitions, and are called with options only.
    """

    def __init__(
        self,
        length: int,
        namespaces: Collection[ModuleType] = (),
        decorators: tuple[type, ...] = (),
    ) -> None:
        self._namespaces = frozenset(namespaces)
        self._decorators = decorators
        self._limit = _MAX_STEPS + _STEPS_PER_CHARACTER * length
        self._max_parts = _MAX_PARTS + length
        self._steps = 0
        self._sizes: dict[int, tuple[object, int]] = {}
        """The parts of values by their identities, with the values to keep these."""
        self._builtins = _builtins_of(self)

    # ---- names and attributes ----

    def builtin(self, name: str) -> object:
        return self._builtins[name]

    def has_builtin(self, name: str) -> bool:
        return name in self._builtins

    def constant(self, value: object) -> object:
        if value is None or isinstance(value, bool | int | float | str):
            self._check_number(value)
            return value
        kind = "'...'" if value is ... else f"{type(value).__name__} literals"
        raise NotAllowed(f"a script has no {kind}")

    def attribute(self, value: object, name: str) -> object:
        if name.startswith("_"):
            raise NotAllowed(
                f"'{name}': a text names no attribute that starts with an underscore"
            )
        match value:
            case ModuleName():
                return value.function(name)
            case Namespace():
                return getattr(value, name)
            case ModuleType() if value in self._namespaces:
                return getattr(value, name)
            case SimpleNamespace():
                members = vars(value)
                if name in members:
                    return members[name]
                hint = did_you_mean(name, list(members))
                raise AttributeError(f"there is no '{name}' here{hint}")
            case _:
                pass
        known = {
            each
            for kind in type(value).__mro__
            for each in _ATTRIBUTES.get(kind, frozenset())
        }
        if name not in known:
            hint = did_you_mean(name, sorted(known))
            raise NotAllowed(f"a {kind_of(value)} has no attribute '{name}'{hint}")
        return getattr(value, name)

    def item(self, value: object, index: object) -> object:
        if not isinstance(value, _INDEXED):
            raise NotAllowed(f"a {kind_of(value)} cannot be indexed")
        return operator.getitem(cast(Any, value), index)

    def sequence(self, value: object) -> Sequence[object]:
        if not isinstance(value, _ITERATED):
            raise NotAllowed(f"a {kind_of(value)} cannot be taken apart")
        items = cast("Collection[object]", value)
        if isinstance(value, range) and len(items) > _MAX_ITEMS:
            raise LimitExceeded(
                f"a range of {len(items)} values is taken apart; at most {_MAX_ITEMS} are"
            )
        self.step(len(items))
        return list(items)

    def check_call(self, function: object, args: Sequence[object]) -> None:
        if isinstance(function, self._decorators) and args:
            raise NotAllowed(
                "a decorator of scripts is above a definition, and is called with "
                "options only"
            )

    # ---- bounds ----

    def check_operands(self, symbol: str, lhs: object, rhs: object) -> None:
        if isinstance(lhs, int) and isinstance(rhs, int):
            self._check_integers(symbol, lhs, rhs)
            return
        if symbol == "%" and isinstance(lhs, str):
            raise NotAllowed("'%' of a string; write an f-string")
        if symbol == "*":
            for items, times in ((lhs, rhs), (rhs, lhs)):
                if isinstance(items, str | list | tuple) and isinstance(times, int):
                    self._check_repeated(cast("Sequence[object]", items), times)
        if symbol == "+" and all(isinstance(x, str | list | tuple) for x in (lhs, rhs)):
            first, second = cast("tuple[Sequence[object], Sequence[object]]", (lhs, rhs))
            self._check_length(first, len(first) + len(second))

    def _check_repeated(self, items: Sequence[object], times: int) -> None:
        self._check_length(items, len(items) * times)

    def _check_integers(self, symbol: str, lhs: int, rhs: int) -> None:
        bits = max(lhs.bit_length(), rhs.bit_length())
        if symbol == "*":
            bits = lhs.bit_length() + rhs.bit_length()
        elif symbol == "**" and abs(lhs) > 1:
            bits = lhs.bit_length() * abs(rhs)
        elif symbol == "<<" and lhs and rhs > 0:
            bits = lhs.bit_length() + rhs
        if bits > _MAX_BITS:
            raise LimitExceeded(
                f"'{symbol}' makes an integer of {bits} bits; a script computes with at "
                f"most {_MAX_BITS}"
            )

    def _check_number(self, value: object) -> None:
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            raise LimitExceeded(
                f"an integer of {value.bit_length()} bits; a script computes with at "
                f"most {_MAX_BITS}"
            )

    def _check_length(self, items: Sequence[object], length: int) -> None:
        is_text = isinstance(items, str)
        limit = _MAX_CHARACTERS if is_text else _MAX_ITEMS
        if length > limit:
            what = "string" if is_text else type(items).__name__
            raise LimitExceeded(
                f"a {what} of length {length}; a script makes one of at most {limit}"
            )
        self.step(max(length, 0) >> 4)

    def formatted(self, value: object, convert: str, spec: str) -> str:
        if not (value is None or isinstance(value, bool | int | float | str | Dtype)):
            raise NotAllowed(
                f"an f-string holds numbers and strings, not a {kind_of(value)}"
            )
        widths = [len(each) > 6 or int(each) > _MAX_WIDTH for each in _DIGITS(spec)]
        if any(widths):
            raise LimitExceeded(
                f"the width in the f-string is above {_MAX_WIDTH}: '{spec[:40]}'"
            )
        found = format(_CONVERSIONS[convert](value), spec)
        self._check_length(found, len(found))
        return found

    def step(self, count: int = 1) -> None:
        self._steps += count
        if self._steps > self._limit:
            raise LimitExceeded(
                f"the script takes more than {self._limit} steps to evaluate; compute "
                "what it repeats outside of it"
            )

    def charge(self, value: object) -> None:
        self.step(self._size(value))

    def check_size(self, value: object) -> None:
        size = self._size(value)
        if size > self._max_parts:
            raise LimitExceeded(
                f"a value of {size} parts; this script makes one of at most "
                f"{self._max_parts}"
            )

    def _size(self, value: object) -> int:
        """The parts of a value, those of shared parts once for each use."""
        if isinstance(value, _LEAVES):
            return 1
        waiting: list[object] = [value]
        while waiting:
            last = waiting[-1]
            if id(last) in self._sizes:
                waiting.pop()
                continue
            parts = [each for each in _parts(last) if not isinstance(each, _LEAVES)]
            new = [each for each in parts if id(each) not in self._sizes]
            if new:
                waiting += new
                continue
            size = 1 + len(_parts(last)) - len(parts)
            size += sum(self._sizes[id(each)][1] for each in parts)
            self._sizes[id(last)] = (last, size)
            waiting.pop()
        return self._sizes[id(value)][1]


_DIGITS = re.compile(r"\d+").findall
_LEAVES = (bool, float, int, str, type(None), Buffer, ex.Var, ex.IntImm, ex.FloatImm)


def _parts(value: object) -> Sequence[object]:
    """What a walk of a value meets below it."""
    match value:
        case list() | tuple() | set() | frozenset():
            return tuple(cast("Collection[object]", value))
        case dict():
            items = cast("Mapping[object, object]", value)
            return (*items.keys(), *items.values())
        case ex.Expr():
            return ex.operands(value)
        case BufferRegion():
            return value.region
        case Range():
            return (value.min, value.extent)
        case slice():
            bounds = cast("slice[object, object, object]", value)
            return (bounds.start, bounds.stop, bounds.step)
        case MetaVar():
            return (cast("MetaVar[object]", value).value,)
        case RelaxExpr():
            return (value.struct_info,)
        case Annotation():
            return value.parts
        case relax.TupleType():
            return value.fields.data
        case relax.FuncType():
            return (*(value.param_types or ()), value.ret)
        case _:
            return ()


class ScriptFunction:
    """A function that a script defines."""


def kind_of(value: object) -> str:
    """What an error calls a value of this kind."""
    if isinstance(value, ModuleType):
        return "module"
    if isinstance(value, FunctionType | ScriptFunction | AnnotationFunction):
        return "function"
    return type(value).__name__


# ---- the functions of Python that texts may call ----


def _builtins_of(rules: TextRules) -> Mapping[str, object]:
    """Python's functions on numbers, strings and lists, within the bounds of `rules`."""
    sequence = rules.sequence

    def numbers(name: str, args: Sequence[object]) -> Sequence[object]:
        given = sequence(args[0]) if len(args) == 1 else args
        for each in given:
            if not isinstance(each, (*_NUMBERS, str, ex.Expr)):
                raise NotAllowed(f"{name} takes numbers, not a {kind_of(each)}")
        return given

    def _min(*args: Any) -> object:
        return min(cast("Sequence[Any]", numbers("min", args)))

    def _max(*args: Any) -> object:
        return max(cast("Sequence[Any]", numbers("max", args)))

    def _sum(values: object, start: Any = 0) -> object:
        total = start
        for each in cast("Sequence[Any]", numbers("sum", [values])):
            rules.check_operands("+", total, each)
            total = total + each
            rules.check_size(total)
        return total

    def _sorted(values: object) -> object:
        return sorted(cast("Sequence[Any]", numbers("sorted", [values])))

    def _int(value: object = 0) -> object:
        return int(cast(Any, _scalar("int", value)))

    def _float(value: object = 0.0) -> object:
        return float(cast(Any, _scalar("float", value)))

    def _bool(value: object = False) -> object:
        return bool(value)

    def _str(value: object = "") -> object:
        return rules.formatted(value, "s", "")

    def _abs(value: object) -> object:
        return abs(cast(Any, _scalar("abs", value)))

    def _round(value: object, digits: int | None = None) -> object:
        if digits is not None and abs(digits) > _MAX_WIDTH:
            raise LimitExceeded(f"round to {digits} digits")
        return round(cast(Any, _scalar("round", value)), digits)

    def _len(value: object) -> object:
        if isinstance(value, _ITERATED):
            return len(cast(Sized, value))
        raise NotAllowed(f"a {kind_of(value)} has no length")

    def _range(*args: Any) -> object:
        return range(*args)

    def _list(values: object = ()) -> object:
        return list(sequence(values))

    def _tuple(values: object = ()) -> object:
        return tuple(sequence(values))

    def _set(values: object = ()) -> object:
        return set(sequence(values))

    def _dict(values: object = (), **named: object) -> object:
        if isinstance(values, dict):
            return {**cast("dict[str, object]", values), **named}
        pairs = [sequence(pair) for pair in sequence(values)]
        return {**dict(cast("list[tuple[Any, Any]]", pairs)), **named}

    def _zip(*values: object) -> object:
        return list(zip(*map(sequence, values), strict=False))

    def _enumerate(values: object, start: int = 0) -> object:
        return list(enumerate(sequence(values), start))

    def _reversed(values: object) -> object:
        return list(reversed(sequence(values)))

    def _any(values: object) -> object:
        return any(sequence(values))

    def _all(values: object) -> object:
        return all(sequence(values))

    return MappingProxyType(
        {
            "abs": _abs,
            "all": _all,
            "any": _any,
            "bool": _bool,
            "dict": _dict,
            "enumerate": _enumerate,
            "float": _float,
            "int": _int,
            "len": _len,
            "list": _list,
            "max": _max,
            "min": _min,
            "range": _range,
            "reversed": _reversed,
            "round": _round,
            "set": _set,
            "sorted": _sorted,
            "str": _str,
            "sum": _sum,
            "tuple": _tuple,
            "zip": _zip,
        }
    )


def _scalar(name: str, value: object) -> object:
    if isinstance(value, (*_NUMBERS, str)):
        return value
    raise NotAllowed(f"{name} takes a number, not a {kind_of(value)}")
