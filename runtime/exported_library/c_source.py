"""The C source of exported functions: arguments are checked, and the code is called.

Each function `f` becomes a symbol `__tvm_ffi_f` of the convention of `tvm-ffi`. An array
is passed as a Tensor or a DLTensor, a number as itself, a shape as a Shape or a tuple of
integers, a tuple as an Array. Results of Relax functions are new Tensors, numbers and
Shapes, several of them an Array. Checks are those of `runtime/_arguments.py`, with its
texts; `support.c` has what functions have in common.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import FLOATS, FLOATS_BY_NAME
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.tir.data_types import Abi, DataType, data_type
from xdsl_tvm.lowering.runtime_symbols import ASSERT_FAIL, FAILED_ASSERT, OUT_OF_MEMORY
from xdsl_tvm.runtime.packed_functions import PackedSignature
from xdsl_tvm.runtime.signature import (
    ArraySpec,
    ParamTree,
    ResultTree,
    ScalarSpec,
    ShapeSpec,
    Signature,
)

PREFIX = "__tvm_ffi_"
"""What the symbols of exported functions begin with."""
DESCRIPTION = "xdsl_tvm_exported_functions"
"""The text, a global of the library, that says how its functions are called."""

_MOST_DIMENSIONS = 64
_INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
_C_TYPES = {
    "bool": "_Bool",
    "float32": "float",
    "float64": "double",
    **{name: f"{name}_t" for name in _INTEGERS},
}
_PLAIN = frozenset(string.ascii_letters + string.digits + " _.,:;+-*/()[]={}<>@'")
_C_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Failures:
    """The globals in which code says that it failed: the numbers of messages by name."""

    numbers: Sequence[str]


def c_source(
    functions: Mapping[str, Signature | PackedSignature],
    failures: Failures | None,
    description: str,
) -> str:
    """The source of a library of functions, by the names that they are exported under.

    `failures` is None for code that cannot fail. Raises PassFailedException for a
    function that the convention cannot call.
    """
    support = resources.files(__package__ or "") / "support.c"
    parts = [support.read_text(encoding="utf-8"), _globals(failures, description)]
    for name, signature in functions.items():
        if not _C_NAME.fullmatch(name):
            raise _fail(name, "its name is no identifier of C; rename it")
        if any(spec.is_handed_over for spec in _results(signature)):
            raise _fail(
                name,
                "only the call finds the extents of a result; declare its dimensions",
            )
        if isinstance(signature, PackedSignature):
            parts.append(_packed(name, signature, failures))
        else:
            parts.append(_Function(name, signature, failures).source())
    return "\n".join(parts)


def _results(signature: Signature | PackedSignature) -> tuple[ArraySpec, ...]:
    return signature.results if isinstance(signature, Signature) else ()


def _fail(function: str, reason: str) -> PassFailedException:
    return PassFailedException(f"@{function} cannot be exported: {reason}")


def c_string(text: str) -> str:
    """A string of C with this text, in UTF-8."""
    # Octal numbers end after three digits, whatever follows.
    shown = "".join(
        chr(byte) if chr(byte) in _PLAIN else f"\\{byte:03o}" for byte in text.encode()
    )
    return f'"{shown}"'


def _globals(failures: Failures | None, description: str) -> str:
    lines = [f"XT_EXPORT const char {DESCRIPTION}[] = {c_string(description)};"]
    if failures is not None:
        lines.append(
            "extern _Thread_local int64_t xt_message "
            f"XT_SYMBOL({c_string(FAILED_ASSERT)});"
        )
        for place, name in enumerate(failures.numbers):
            lines.append(f"extern int64_t xt_number_{place} XT_SYMBOL({c_string(name)});")
        names = [c_string(f"{{{name}}}") for name in failures.numbers] or ["0"]
        places = [f"&xt_number_{i}" for i in range(len(failures.numbers))] or ["0"]
        lines += [
            "static int xt_ended(int64_t message) {",
            f"  static const char *const names[] = {{{', '.join(names)}}};",
            f"  static const int64_t *const numbers[] = {{{', '.join(places)}}};",
            f"  return xt_failed(message, {c_string(OUT_OF_MEMORY)}, "
            f"{c_string(ASSERT_FAIL)}, {len(failures.numbers)}, names, numbers);",
            "}",
        ]
    return "\n".join(lines) + "\n"


def _packed(name: str, signature: PackedSignature, failures: Failures | None) -> str:
    """A function whose code follows the convention already; errors are set here."""
    if signature.abi is not Abi.FFI:
        raise _fail(
            name,
            "it has the convention of TVM 0.20; lower it by tir-make-packed-api{abi=ffi}",
        )
    before, after = _around(failures)
    lines = [
        f"extern int32_t xt_code_{name}(void *, const Any *, int32_t, Any *) "
        f"XT_SYMBOL({c_string(signature.function)});",
        f"XT_EXPORT int {PREFIX}{name}(void *self, const Any *args, int32_t count, "
        "Any *result) {",
        *before,
        f"  int32_t status = xt_code_{name}(self, args, count, result);",
        *[line for line in after if line],
        "  return status;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _around(failures: Failures | None) -> tuple[list[str], list[str]]:
    """What comes before and after a call of the code: -1 is returned if it failed.

    A function that the code calls may call the library again.
    """
    if failures is None:
        return [], []
    before = ["  xt_message = 0;"]
    after = [
        "  int64_t message = xt_message;",
        "  xt_message = 0;",
        "  if (xt_ended(message)) status = -1;",
    ]
    return before, after


class _Function:
    """Writes the source of one function."""

    def __init__(
        self, name: str, signature: Signature, failures: Failures | None
    ) -> None:
        self._name = name
        self._signature = signature
        self._failures = failures
        self._lines: list[str] = []
        self._symbols = {s: f"s{i}" for i, s in enumerate(_all_symbols(signature))}
        self._function = c_string(signature.function)

    def _emit(self, line: str) -> None:
        self._lines.append(f"  {line}")

    def _check(self, call: str) -> None:
        self._emit(f"if ({call}) goto done;")

    def source(self) -> str:
        """The tables, the declaration of the code, and the function."""
        signature = self._signature
        for index, spec in enumerate(signature.plain_params()):
            if isinstance(spec, ArraySpec):
                self._table(f"p{index}", spec, f"{spec}")
        for index, spec in enumerate(signature.results):
            self._table(f"r{index}", spec, f"{spec}")
        for symbol in self._symbols.values():
            self._emit(f"int64_t {symbol} = 0;")
        self._variables()
        values = self._flatten()
        self._convert(values)
        self._check_extents()
        self._check_types_of_symbols()
        self._check_overlap()
        self._call()
        head = (
            f"XT_EXPORT int {PREFIX}{self._name}(void *self, const Any *args, "
            "int32_t count, Any *result) {"
        )
        return "\n".join([self._declaration(), head, *self._lines, "}"]) + "\n"

    # ---- declarations ----

    def _declaration(self) -> str:
        result = self._signature.scalar_result
        kind = "void" if result is None else self._c_type("the result", result)
        types: list[str] = []
        for spec in self._signature.plain_params():
            match spec:
                case ArraySpec():
                    types.append("void *")
                case ScalarSpec():
                    types.append(self._c_type(f"parameter '{spec.name}'", spec.dtype))
                case ShapeSpec():
                    types += ["int64_t"] * len(spec.shape)
        types += ["void *"] * len(self._signature.results)
        types += ["int64_t"] * len(self._signature.symbols)
        return (
            f"extern {kind} xt_code_{self._name}({', '.join(types) or 'void'}) "
            f"XT_SYMBOL({self._function});"
        )

    def _c_type(self, what: str, dtype: np.dtype[Any]) -> str:
        found = _C_TYPES.get(dtype.name)
        if found is None:
            raise _fail(
                self._name,
                f"{what} is a number of type {dtype.name}, which C does not have; use an "
                "array of one element",
            )
        return found

    def _data_type(self, spec: ArraySpec) -> DataType:
        try:
            return data_type(tir.parse_dtype(spec.dtype.name), Abi.FFI)
        except ValueError as error:
            raise _fail(self._name, f"'{spec.name}': {error}") from None

    def _table(self, name: str, spec: ArraySpec, shown: str) -> None:
        code, bits, lanes = self._data_type(spec)
        rank = len(spec.shape)
        if rank > _MOST_DIMENSIONS:
            raise _fail(self._name, f"'{spec.name}' has more than 64 dimensions")
        self._emit(
            f"static const Parameter {name} = {{{self._function}, {c_string(spec.name)}, "
            f"{c_string(shown)}, {c_string(spec.dtype.name)}, "
            f"{{{code}, {bits}, {lanes}}}, {rank}, {spec.dtype.itemsize}, "
            f"{int(spec.strides is None)}}};"
        )

    def _variables(self) -> None:
        signature = self._signature
        for index, spec in enumerate(signature.plain_params()):
            match spec:
                case ArraySpec():
                    self._emit(f"Array a{index};")
                case ShapeSpec():
                    self._emit(f"int64_t a{index}[{max(1, len(spec.shape))}];")
                case ScalarSpec():
                    kind = "double" if spec.dtype.kind not in "iub" else "int64_t"
                    self._emit(f"{kind} a{index} = 0;")
        count = len(signature.results)
        if count:
            self._emit(f"Managed *made[{count}] = {{0}};")
        self._emit("int32_t status = -1;")
        self._emit("int fault = 0;")
        self._emit("(void)self; (void)args; (void)fault;")

    # ---- arguments ----

    def _flatten(self) -> list[str]:
        """Expressions for the values of the parameters."""
        trees = self._signature.tuples
        count = len(self._signature.plain_params() if trees is None else trees)
        self._check(f"xt_count({self._function}, count, {count})")
        if trees is None:
            return [f"args + {index}" for index in range(count)]
        found: list[str] = []
        for index, tree in enumerate(trees):
            self._fields(tree, f"args + {index}", f"args[{index}]", found)
        return found

    def _fields(self, tree: ParamTree, value: str, name: str, found: list[str]) -> None:
        if isinstance(tree, str):
            found.append(value)
            return
        if not tree:
            raise _fail(self._name, "a parameter is an empty tuple; leave it out")
        for index, branch in enumerate(tree):
            field = f"f{len(self._lines)}"
            self._emit(f"Any {field};")
            self._check(
                f"xt_field({self._function}, {c_string(_stem(tree))}, {value}, {index}, "
                f"{len(tree)}, &{field})"
            )
            self._fields(branch, f"&{field}", f"{name}[{index}]", found)

    def _convert(self, values: Sequence[str]) -> None:
        """Check each argument by itself, and bind symbols: arrays come last."""
        params = self._signature.plain_params()
        bound = {
            p.symbol for p in params if isinstance(p, ScalarSpec) and p.symbol is not None
        }
        binders = [list(self._binders(i, p, bound)) for i, p in enumerate(params)]
        order = sorted(range(len(params)), key=lambda i: isinstance(params[i], ArraySpec))
        for index in order:
            spec, value = params[index], values[index]
            match spec:
                case ArraySpec():
                    self._check(f"xt_array(&p{index}, {value}, &a{index})")
                    for axis, dim in enumerate(spec.shape):
                        if dim is not None and dim.value is not None:
                            self._check(
                                f"xt_extent(&p{index}, a{index}.shape, "
                                f"{len(spec.shape)}, {axis}, {_literal(dim.value)}, 0)"
                            )
                case ScalarSpec():
                    self._number(index, spec, value)
                case ShapeSpec():
                    name = c_string(spec.name)
                    self._check(
                        f"xt_shape({self._function}, {name}, {value}, "
                        f"{len(spec.shape)}, a{index})"
                    )
            for binder in binders[index]:
                self._emit(binder)

    def _binders(self, index: int, spec: Any, bound: set[str]) -> Iterator[str]:
        """Assignments to the symbols that a parameter defines."""
        if isinstance(spec, ScalarSpec):
            if spec.symbol is not None:
                found = f"a{index}"
                if spec.dtype.kind not in "iub":
                    # No extent is made of such a number.
                    found = "0"
                yield f"{self._symbols[spec.symbol]} = {found};"
            return
        places: list[tuple[Dim | None, str]] = []
        if isinstance(spec, ShapeSpec):
            places = [(dim, f"a{index}[{axis}]") for axis, dim in enumerate(spec.shape)]
        else:
            assert isinstance(spec, ArraySpec)
            places += [(d, f"a{index}.shape[{i}]") for i, d in enumerate(spec.shape)]
            strides = enumerate(spec.strides or ())
            places += [(d, f"a{index}.strides[{i}]") for i, d in strides]
            places.append((spec.offset, "0"))
        for dim, place in places:
            name = None if dim is None else dim.symbol_name
            if name is not None and name not in bound:
                bound.add(name)
                yield f"{self._symbols[name]} = {place};"

    def _number(self, index: int, spec: ScalarSpec, value: str) -> None:
        where = f"{self._function}, {c_string(spec.name)}"
        dtype = c_string(spec.dtype.name)
        if spec.dtype.kind in "iu":
            info = np.iinfo(spec.dtype)
            low = 0 if spec.is_extent else int(info.min)
            self._check(
                f"xt_integer({where}, {dtype}, {value}, {_literal(low)}, "
                f"UINT64_C({info.max}), &a{index})"
            )
        elif spec.dtype.kind == "b":
            self._check(f"xt_bool({where}, {value}, &a{index})")
        else:
            limit = FLOATS[FLOATS_BY_NAME[spec.dtype.name]].largest
            self._check(f"xt_number({where}, {dtype}, {value}, {limit.hex()}, &a{index})")

    # ---- extents ----

    def _dim(self, dim: Dim) -> str:
        """The C expression of an extent, which notes in `fault` what it meets."""
        names = {"+": "xt_add", "*": "xt_mul", "min": "xt_min", "max": "xt_max"}
        return dim.fold(
            _literal,
            lambda name: self._symbols[name],
            lambda operator, a, b: (
                f"{names.get(operator, f'xt_{operator}')}(&fault, {a}, {b})"
            ),
        )

    def _computed(self, dim: Dim) -> str:
        """A variable for an extent that is computed without a fault."""
        if dim.value is not None:
            return _literal(dim.value)
        if dim.symbol_name is not None:
            return self._symbols[dim.symbol_name]
        name = f"d{len(self._lines)}"
        self._emit(f"int64_t {name} = {self._dim(dim)};")
        self._check(f"xt_fault({self._function}, {c_string(str(dim))}, fault)")
        return name

    def _check_extents(self) -> None:
        for index, spec in enumerate(self._signature.plain_params()):
            match spec:
                case ArraySpec():
                    self._check_shape(index, spec.shape, f"a{index}.shape")
                    for axis, dim in enumerate(spec.strides or ()):
                        stride = self._computed(dim)
                        self._check(f"xt_stride(&p{index}, &a{index}, {axis}, {stride})")
                    if spec.offset is not None and spec.offset.symbol_name is None:
                        found = self._computed(spec.offset)
                        self._check(
                            f"xt_value({self._function}, "
                            f"{c_string(f'{spec.name}.elem_offset')}, 0, {found}, "
                            f"{c_string(str(spec.offset))})"
                        )
                case ShapeSpec():
                    self._check_dims(index, spec)
                case ScalarSpec() if spec.value is not None:
                    found = self._computed(spec.value)
                    self._check(
                        f"xt_value({self._function}, {c_string(spec.name)}, a{index}, "
                        f"{found}, {_shown(spec.value)})"
                    )
                case _:
                    pass

    def _check_shape(self, index: int, dims: Iterable[Dim | None], shape: str) -> None:
        dims = list(dims)
        for axis, dim in enumerate(dims):
            if dim is not None and dim.value is None:
                wanted = self._computed(dim)
                self._check(
                    f"xt_extent(&p{index}, {shape}, {len(dims)}, {axis}, {wanted}, "
                    f"{_shown(dim)})"
                )

    def _check_dims(self, index: int, spec: ShapeSpec) -> None:
        for axis, dim in enumerate(spec.shape):
            if dim is not None:
                name = f"{spec.name}[{axis}]"
                self._check(
                    f"xt_value({self._function}, {c_string(name)}, a{index}[{axis}], "
                    f"{self._computed(dim)}, {_shown(dim)})"
                )

    def _check_types_of_symbols(self) -> None:
        signature = self._signature
        for name, dtype in zip(signature.symbols, signature.symbol_types, strict=True):
            if dtype.itemsize < 8:
                limit = int(np.iinfo(dtype).max)
                self._check(
                    f"xt_fits({self._function}, {c_string(name)}, {self._symbols[name]}, "
                    f"{limit})"
                )

    def _check_overlap(self) -> None:
        params = enumerate(self._signature.plain_params())
        arrays = [(i, spec) for i, spec in params if isinstance(spec, ArraySpec)]
        for place, (first, a) in enumerate(arrays):
            for second, b in arrays[place + 1 :]:
                if a.written or b.written:
                    self._check(f"xt_apart(&p{first}, &a{first}, &p{second}, &a{second})")

    # ---- the call ----

    def _call(self) -> None:
        signature = self._signature
        for index, spec in enumerate(signature.results):
            dims = [self._computed(d or Dim.constant(0)) for d in spec.shape]
            shape = ", ".join(dims) or "0"
            self._emit(f"const int64_t shape{index}[] = {{{shape}}};")
            self._check(f"xt_make(&r{index}, shape{index}, &made[{index}])")
        before, after = _around(self._failures)
        self._lines += before
        call = f"xt_code_{self._name}({', '.join(self._passed())})"
        scalar = signature.scalar_result
        if scalar is not None:
            call = f"{self._c_type('the result', scalar)} value = {call}"
        self._emit(f"{call};")
        self._emit("status = 0;")
        self._lines += after
        self._emit("if (status) goto done;")
        if scalar is not None:
            self._give_number("value", scalar, "result")
        elif signature.result is not None:
            self._give(signature.result)
        else:
            self._emit("xt_give_integer(XT_NONE, 0, result);")
        self._lines.append("done:")
        if signature.results:
            count = len(signature.results)
            self._emit(f"for (int i = 0; i < {count}; ++i) free(made[i]);")
        self._emit("return status;")

    def _passed(self) -> Iterator[str]:
        for index, spec in enumerate(self._signature.plain_params()):
            match spec:
                case ArraySpec():
                    yield f"a{index}.data"
                case ScalarSpec():
                    kind = self._c_type(f"parameter '{spec.name}'", spec.dtype)
                    yield f"({kind})a{index}"
                case ShapeSpec():
                    yield from (f"a{index}[{axis}]" for axis in range(len(spec.shape)))
        yield from (
            f"made[{i}]->tensor.data" for i in range(len(self._signature.results))
        )
        yield from (self._symbols[name] for name in self._signature.symbols)

    def _give_number(self, value: str, dtype: np.dtype[Any], to: str) -> None:
        if dtype.kind == "b":
            self._emit(f"xt_give_integer(XT_BOOL, {value}, {to});")
        elif dtype.kind in "iu":
            self._emit(f"xt_give_integer(XT_INT, (int64_t){value}, {to});")
        else:
            self._emit(f"xt_give_number({value}, {to});")

    def _give(self, tree: ResultTree) -> None:
        self._emit("status = -1;")
        leaves = iter(range(len(self._signature.results)))
        self._give_tree(tree, leaves, "result", [])
        self._emit("status = 0;")

    def _give_tree(
        self, tree: ResultTree, leaves: Iterator[int], to: str, held: list[str]
    ) -> None:
        """Write a result to the value `to`; `held` are values to release on failure."""
        if isinstance(tree, ArraySpec):
            self._give_leaf(tree, next(leaves), to, held)
            return
        fields = f"t{len(self._lines)}"
        self._emit(f"Any {fields}[{max(1, len(tree))}] = {{{{0, 0, {{0}}}}}};")
        for index, branch in enumerate(tree):
            place = f"&{fields}[{index}]"
            self._give_tree(branch, leaves, place, held)
            held.append(place)
        # The container takes the fields over, or releases them.
        del held[len(held) - len(tree) :]
        self._give_checked(f"xt_give_tuple({fields}, {len(tree)}, {to})", held)

    def _give_leaf(self, spec: ArraySpec, index: int, to: str, held: list[str]) -> None:
        data = f"made[{index}]->tensor.data"
        if spec.form == "array":
            self._give_checked(f"xt_give(&made[{index}], {to})", held)
        elif spec.form == "shape":
            rank = f"(int32_t)shape{index}[0]"
            self._give_checked(f"xt_give_shape({data}, {rank}, {to})", held)
        else:
            kind = self._c_type(f"'{spec.name}'", spec.dtype)
            self._give_number(f"*({kind} *){data}", spec.dtype, to)

    def _give_checked(self, call: str, held: Sequence[str]) -> None:
        release = "".join(f"xt_release({value}); " for value in held)
        self._emit(f"if ({call}) {{ {release}goto done; }}")


def _literal(value: int) -> str:
    if value == -(2**63):
        return "INT64_MIN"
    return f"INT64_C({value})" if value >= 0 else f"(-INT64_C({-value}))"


def _shown(dim: Dim) -> str:
    return "0" if dim.value is not None else c_string(str(dim))


def _stem(tree: ParamTree) -> str:
    while not isinstance(tree, str):
        tree = tree[0]
    return tree.partition("[")[0]


def _all_symbols(signature: Signature) -> list[str]:
    """All symbols, of extents and of what is passed, each once."""
    found = dict.fromkeys(signature.symbols)
    for spec in signature.plain_params():
        dims: list[Dim | None] = []
        match spec:
            case ArraySpec():
                dims = [*spec.shape, *(spec.strides or ()), spec.offset]
            case ShapeSpec():
                dims = [*spec.shape]
            case ScalarSpec():
                dims = [spec.value]
                if spec.symbol is not None:
                    found[spec.symbol] = None
        for dim in dims:
            found.update(dict.fromkeys(() if dim is None else dim.symbols()))
    return list(found)
