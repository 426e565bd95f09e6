"""What a function accepts and returns, as numpy sees it.

A `Signature` is read off a function before it is lowered. It says how the lowered
function is called: with one argument per parameter, one pointer per array of the result,
and one 64-bit integer per symbolic dimension, in this order. Arrays are passed as a
pointer to their first element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    ModuleOp,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import numpy_dtype
from xdsl_tvm.dialects.relax.symbolic import Dim, maximum, minimum
from xdsl_tvm.dialects.tir.annotations import packed_abi
from xdsl_tvm.lowering.runtime_symbols import NOALIAS
from xdsl_tvm.lowering.tir.conversion.calling_convention import (
    bound_symbols,
    may_be_written,
)
from xdsl_tvm.runtime.packed_functions import PackedSignature

Symbols: TypeAlias = Mapping[str, Operation]
Extents: TypeAlias = tuple[Dim | None, ...]
"""One expression per dimension, None for an extent that may be anything."""


@dataclass(frozen=True)
class ArraySpec:
    """An array: a parameter, or a result.

    Strides and offset are in elements; without strides the array is C-contiguous.
    """

    name: str
    dtype: np.dtype[Any]
    shape: Extents
    strides: tuple[Dim, ...] | None = None
    offset: Dim | None = None
    written: bool = True
    form: Literal["array", "scalar", "shape", "object"] = "array"
    """Of a result: one of rank 0 may be given as a number, or as the object that the
    number stands for, one of rank 1 as a shape."""

    @property
    def static_shape(self) -> tuple[int, ...] | None:
        """The shape, if no symbol occurs in it."""
        values = [None if dim is None else dim.value for dim in self.shape]
        known = [value for value in values if value is not None]
        return tuple(known) if len(known) == len(values) else None

    @property
    def is_handed_over(self) -> bool:
        """Of a result: whether the function makes it, since its extents are not known."""
        return None in self.shape

    def __str__(self) -> str:
        if self.form == "object":
            return "object"
        shape = ", ".join("?" if dim is None else str(dim) for dim in self.shape)
        return f"{self.dtype.name}[{shape}]"


@dataclass(frozen=True)
class ScalarSpec:
    """A scalar parameter; `symbol` is its name in the extents of arrays.

    `value` is what it must be, where that is an expression of symbols. An extent is
    never negative.
    """

    name: str
    dtype: np.dtype[Any]
    symbol: str | None = None
    value: Dim | None = None
    is_extent: bool = False

    def __str__(self) -> str:
        return self.dtype.name


@dataclass(frozen=True)
class ShapeSpec:
    """A shape as parameter: a tuple of integers."""

    name: str
    shape: Extents

    def __str__(self) -> str:
        return "(" + ", ".join("?" if d is None else str(d) for d in self.shape) + ")"


@dataclass(frozen=True)
class ObjectSpec:
    """A value of Python as parameter."""

    name: str

    def __str__(self) -> str:
        return "object"


PlainSpec: TypeAlias = ArraySpec | ScalarSpec | ShapeSpec
"""A parameter that code without Python can pass."""
Spec: TypeAlias = PlainSpec | ObjectSpec
ParamTree: TypeAlias = "str | tuple[ParamTree, ...]"
"""A parameter, by name, or a tuple of such."""
ResultTree: TypeAlias = "ArraySpec | tuple[ResultTree, ...]"
"""The result of a Relax function: an array, or a tuple of such."""


@dataclass(frozen=True)
class Signature:
    """How a function is called.

    `result` is set for functions that make their results, which are Relax functions;
    others write to arrays they are given, and give `scalar_result` or nothing. `symbols`
    are passed after all arrays, in order; `symbol_types` are the dtypes they must fit.
    `params` are flat; where some are given in tuples, `tuples` says which, by name.
    """

    function: str
    params: tuple[Spec, ...]
    symbols: tuple[str, ...] = ()
    symbol_types: tuple[np.dtype[Any], ...] = ()
    result: ResultTree | None = None
    scalar_result: np.dtype[Any] | None = None
    noalias: bool = False
    tuples: tuple[ParamTree, ...] | None = None

    def __str__(self) -> str:
        """`@f(x: float32[n], y: out float32[n]) -> float32[n]`; `out` may be written."""
        params = ", ".join(map(_shown, self.params))
        if self.result is not None:
            return f"@{self.function}({params}) -> {_shown_result(self.result)}"
        result = "" if self.scalar_result is None else f" -> {self.scalar_result.name}"
        return f"@{self.function}({params}){result}"

    @property
    def results(self) -> tuple[ArraySpec, ...]:
        """The arrays of the result, from left to right."""
        return () if self.result is None else tuple(_leaves(self.result))

    @property
    def has_objects(self) -> bool:
        """Whether values of Python are passed or returned."""
        return any(isinstance(spec, ObjectSpec) for spec in self.params) or any(
            spec.form == "object" for spec in self.results
        )

    def plain_params(self) -> tuple[PlainSpec, ...]:
        """The parameters, for code that cannot pass values of Python.

        Raises PassFailedException for a function that takes or returns such.
        """
        if self.has_objects:
            raise PassFailedException(
                f"@{self.function} takes or returns objects, which are values of Python; "
                "call it from Python, by compile"
            )
        return tuple(spec for spec in self.params if not isinstance(spec, ObjectSpec))


def _shown(spec: Spec) -> str:
    out = "out " if isinstance(spec, ArraySpec) and spec.written else ""
    return f"{spec.name}: {out}{spec}"


def _shown_result(tree: ResultTree) -> str:
    if isinstance(tree, ArraySpec):
        return str(tree)
    return f"({', '.join(map(_shown_result, tree))})"


def _leaves(tree: ResultTree) -> Iterator[ArraySpec]:
    if isinstance(tree, ArraySpec):
        yield tree
    else:
        for branch in tree:
            yield from _leaves(branch)


def _fail(function: str, reason: str) -> PassFailedException:
    return PassFailedException(f"@{function} cannot be called from Python: {reason}")


# ---- TIR ----


def signature_of_tir(source: tir.FuncOp) -> Signature:
    """The signature of a TIR function: arrays are written in place.

    Raises PassFailedException if Python cannot call it.
    """
    return _TirReader(source).read()


class _TirReader:
    def __init__(self, source: tir.FuncOp) -> None:
        self.source = source
        self.name = source.sym_name.data
        self.symbols: dict[SSAValue, str] = {}
        self.used: set[str] = set()

    def read(self) -> Signature:
        bound = bound_symbols(self.source)
        for symbol in bound:
            assert isinstance(symbol.owner, tir.ShapeVarOp)
            self.symbols[symbol] = self._unique(symbol.owner.var_name.data)
        scalars = [arg for arg in self.source.args if not tir.is_handle(arg.type)]
        for arg in scalars:
            self.symbols[arg] = self._unique(self._param_name(arg))
        buffers = self.source.buffer_map
        params = tuple(self._param(arg, buffers.get(arg)) for arg in self.source.args)
        outputs = self.source.function_type.outputs.data
        return Signature(
            self.name,
            params,
            tuple(self.symbols[symbol] for symbol in bound),
            tuple(self._dtype(symbol.type) for symbol in bound),
            scalar_result=self._dtype(outputs[0]) if outputs else None,
            noalias=_is_set(self.source.attributes.get("tir.noalias")),
        )

    def _unique(self, name: str) -> str:
        stem = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
        if not stem.isidentifier():
            stem = f"_{stem}"
        found, number = stem, 0
        while found in self.used or found in ("floordiv", "floormod", "min", "max"):
            number += 1
            found = f"{stem}_{number}"
        self.used.add(found)
        return found

    def _param_name(self, arg: BlockArgument) -> str:
        names = self.source.param_names
        if names is not None:
            return names.data[arg.index].data
        return arg.name_hint or f"argument_{arg.index}"

    def _dtype(self, dtype: Attribute) -> np.dtype[Any]:
        try:
            return numpy_dtype(dtype)
        except ValueError as error:
            raise _fail(self.name, str(error)) from None

    def _param(self, arg: BlockArgument, buffer: tir.MatchBufferOp | None) -> Spec:
        if buffer is not None:
            return self._array(arg, buffer)
        if tir.is_handle(arg.type):
            raise _fail(
                self.name,
                f"parameter {arg.index} is a pointer; match a buffer with a handle",
            )
        return ScalarSpec(self._param_name(arg), self._dtype(arg.type), self.symbols[arg])

    def _array(self, arg: BlockArgument, buffer: tir.MatchBufferOp) -> ArraySpec:
        element = buffer.type.element_type
        shape = [self.dim(extent) for extent in buffer.shape]
        strides = [self.dim(stride) for stride in buffer.layout_strides]
        lanes = tir.lanes_of(element)
        if lanes != 1:
            shape.append(Dim.constant(lanes))
            strides = [stride * lanes for stride in strides]
            strides = [*strides, Dim.constant(1)] if strides else []
        name = buffer.buffer_name
        return ArraySpec(
            self._param_name(arg) if name is None else name.data,
            self._dtype(tir.element_of(element)),
            tuple(shape),
            tuple(strides) if strides else None,
            None if buffer.elem_offset is None else self.dim(buffer.elem_offset),
            may_be_written(buffer.buffer),
        )

    def dim(self, value: int | SSAValue) -> Dim:
        """The expression that an extent is of symbols and scalar parameters."""
        if isinstance(value, int):
            return Dim.constant(value)
        number = tir.constant_value(value)
        if number is not None:
            return Dim.constant(int(number))
        if (symbol := self.symbols.get(value)) is not None:
            return Dim.symbol(symbol)
        owner = value.owner
        if isinstance(owner, tir.ShapeVarOp):
            raise _fail(
                self.name,
                f"the symbolic extent '{owner.var_name.data}' is bound by no buffer; let "
                "it be an extent of a parameter by itself, or a scalar parameter",
            )
        if isinstance(owner, tir.CastOp | tir.LetOp):
            return self.dim(owner.value)
        build = _DIMS.get(type(owner))
        if build is None or not isinstance(owner, tir.BinaryOp):
            kind = owner.name if isinstance(owner, Operation) else "a block argument"
            raise _fail(self.name, f"an extent of a parameter is computed by {kind}")
        return build(self.dim(owner.lhs), self.dim(owner.rhs))


_DIMS: dict[type[Any], Callable[[Dim, Dim], Dim]] = {
    tir.AddOp: lambda a, b: a + b,
    tir.SubOp: lambda a, b: a - b,
    tir.MulOp: lambda a, b: a * b,
    tir.FloorDivOp: lambda a, b: a // b,
    tir.FloorModOp: lambda a, b: a % b,
    tir.MinOp: minimum,
    tir.MaxOp: maximum,
}


def _is_set(value: Attribute | None) -> bool:
    number = getattr(getattr(value, "value", None), "data", None)
    return value is not None and number != 0


# ---- Relax ----


def signature_of_relax(source: Operation, symbols: Symbols | None = None) -> Signature:
    """The signature of a Relax function: it makes its results.

    `symbols` are those of its module, where they are available.

    Raises PassFailedException if Python cannot call it.
    """
    from xdsl_tvm.dialects import relax
    from xdsl_tvm.lowering.relax.conversion.calling_convention import convention_of
    from xdsl_tvm.lowering.relax.conversion.written import WrittenValues

    assert isinstance(source, relax.FuncOp)
    name = source.sym_name.data
    convention = convention_of(source)
    found = module_symbols(source.parent_op()) if symbols is None else symbols
    lookup = WrittenValues(lambda callee: found.get(callee.root_reference.data))
    written = lookup.of(source)
    trees = [_relax_names(_relax_name(arg), arg.type) for arg in source.args]
    owners = [(t, arg in written) for t, arg in zip(trees, source.args, strict=True)]
    flat = [(n, is_written) for tree, is_written in owners for n in _names(tree)]
    scalars: set[str] = set()
    params = tuple(
        _relax_param(name, param, leaf, scalars, is_written)
        for (param, is_written), leaf in zip(flat, convention.params, strict=True)
    )
    has_tuples = any(isinstance(tree, tuple) for tree in trees)
    tuples = tuple(trees) if has_tuples else None
    extents = convention.symbols
    types = tuple(np.dtype(np.int64) for _ in extents)
    if convention.scalar is not None:
        dtype = _relax_dtype(name, "the result", convention.scalar.dtype)
        return Signature(name, params, extents, types, scalar_result=dtype, tuples=tuples)
    result = _relax_result(name, "result", source.output_type)
    return Signature(name, params, extents, types, result=result, tuples=tuples)


def _relax_name(arg: BlockArgument) -> str:
    return arg.name_hint or f"argument_{arg.index}"


def _relax_names(name: str, type_: Attribute) -> ParamTree:
    """The name of a parameter, or those of the fields of one that is a tuple."""
    from xdsl_tvm.dialects import relax

    if not isinstance(type_, relax.TupleType):
        return name
    fields = enumerate(type_.fields.data)
    return tuple(_relax_names(f"{name}[{index}]", field) for index, field in fields)


def _names(tree: ParamTree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    else:
        for branch in tree:
            yield from _names(branch)


def _relax_param(
    function: str, name: str, leaf: Any, scalars: set[str], is_written: bool
) -> Spec:
    from xdsl_tvm.dialects import relax

    what = f"parameter '{name}'"
    if isinstance(leaf, relax.TensorInfo):
        spec = _relax_array(function, what, name, leaf.type)
        return ArraySpec(name, spec.dtype, spec.shape, written=is_written)
    if isinstance(leaf, relax.ShapeType):
        return ShapeSpec(name, tuple(leaf.values or ()))
    if isinstance(leaf, relax.ObjectType):
        return ObjectSpec(name)
    dtype = _relax_dtype(function, what, leaf.dtype)
    symbol = None if leaf.dim is None else leaf.dim.symbol_name
    if symbol is None or symbol in scalars:
        return ScalarSpec(name, dtype, value=leaf.dim)
    scalars.add(symbol)
    return ScalarSpec(name, dtype, symbol, is_extent=True)


def _relax_dtype(function: str, what: str, dtype: Attribute) -> np.dtype[Any]:
    try:
        return numpy_dtype(dtype)
    except ValueError as error:
        raise _fail(function, f"{what}: {error}") from None


def _relax_result(function: str, name: str, dtype: Attribute) -> ResultTree:
    from xdsl_tvm.dialects import relax

    if isinstance(dtype, relax.TupleType):
        return tuple(
            _relax_result(function, f"{name}[{position}]", field)
            for position, field in enumerate(dtype.fields)
        )
    if isinstance(dtype, relax.PrimType):
        element = _relax_dtype(function, name, dtype.dtype)
        return ArraySpec(name, element, (), form="scalar")
    if isinstance(dtype, relax.ObjectType):
        return ArraySpec(name, np.dtype(np.int64), (), form="object")
    if isinstance(dtype, relax.ShapeType):
        rank = Dim.constant(len(dtype.values or ()))
        return ArraySpec(name, np.dtype(np.int64), (rank,), form="shape")
    return _relax_array(function, name, name, dtype)


def _relax_array(function: str, what: str, name: str, dtype: Attribute) -> ArraySpec:
    from xdsl_tvm.dialects import relax

    info = relax.TensorInfo.of(dtype)
    if info is None or info.dims is None or info.dtype is None:
        raise _fail(
            function, f"{what} of type {dtype} is no tensor of known rank and dtype"
        )
    return ArraySpec(name, _relax_dtype(function, what, info.dtype), info.dims)


# ---- functions on memrefs ----


def signature_of_func(source: func.FuncOp) -> Signature:
    """The signature of a function on memrefs, whose dynamic extents are not checked.

    Raises PassFailedException if Python cannot call it.
    """
    name = source.sym_name.data
    outputs = source.function_type.outputs.data
    try:
        return Signature(
            name,
            tuple(
                _memref_param(f"argument_{position}", dtype)
                for position, dtype in enumerate(source.function_type.inputs)
            ),
            scalar_result=numpy_dtype(outputs[0]) if outputs else None,
            noalias=any(
                NOALIAS in attributes.data for attributes in source.arg_attrs or ()
            ),
        )
    except ValueError as error:
        raise _fail(name, str(error)) from None


def _memref_param(name: str, dtype: Attribute) -> Spec:
    if not isinstance(dtype, MemRefType):
        return ScalarSpec(name, numpy_dtype(dtype))
    memref = cast("MemRefType[Attribute]", dtype)
    shape = tuple(
        None if extent == DYNAMIC_INDEX else Dim.constant(extent)
        for extent in memref.get_shape()
    )
    return ArraySpec(name, numpy_dtype(memref.element_type), shape)


def module_symbols(module: Operation | None) -> Symbols:
    """What the symbols of a module name; no symbols for no module."""
    ops = () if module is None else module.regions[0].block.ops
    return {
        _text(op.properties["sym_name"]): op for op in ops if "sym_name" in op.properties
    }


Found: TypeAlias = Signature | PackedSignature | PassFailedException
"""How a function is called, or why Python cannot call it."""

NO_PUBLIC_FUNCTION = (
    "the module has no public function; a function is public if it has the attribute "
    "global_symbol"
)


def signatures(module: ModuleOp) -> dict[str, Found]:
    """The signature of every public function of a module, by name.

    Functions that Python cannot call are given with the reason. A TIR or Relax function
    is public if it has a `global_symbol`, by which it is called, too.
    """
    found: dict[str, Found] = {}
    symbols = module_symbols(module)
    readers: Mapping[str, Callable[[Any], Signature | PackedSignature]] = {
        "tir.func": _signature_of_tir,
        "relax.func": lambda op: signature_of_relax(op, symbols),
        "func.func": signature_of_func,
    }
    for op in module.body.ops:
        reader = readers.get(op.name)
        if reader is None or not any(region.blocks for region in op.regions):
            continue
        for name in _public_names(op):
            owner = symbols.get(name, op)
            if owner is not op and owner.name in readers and _public_names(owner):
                # A function's own name comes before the symbol of another.
                continue
            if name in found:
                found[name] = _ambiguous(name)
                continue
            try:
                found[name] = reader(cast(Any, op))
            except PassFailedException as error:
                found[name] = error
    return found


def _signature_of_tir(op: tir.FuncOp) -> Signature | PackedSignature:
    abi = packed_abi(op)
    if abi is not None:
        return PackedSignature(op.sym_name.data, abi)
    return signature_of_tir(op)


def _ambiguous(name: str) -> PassFailedException:
    return PassFailedException(
        f"several functions have the global_symbol '{name}'; give each one of its own"
    )


def _public_names(op: Operation) -> list[str]:
    name = op.properties["sym_name"]
    symbol = op.attributes.get("global_symbol")
    if op.name == "func.func":
        visibility = op.properties.get("sym_visibility")
        return [] if getattr(visibility, "data", None) == "private" else [_text(name)]
    if symbol is None:
        return []
    return list(dict.fromkeys((_text(name), _text(symbol))))


def _text(attribute: Attribute) -> str:
    return str(getattr(attribute, "data", attribute))
