"""`from_graph`: the graph of a program becomes a module with the function `main`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm import relax
from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.dialects.relax import PrimType, TensorInfo
from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.dialects.relax.functions import VAR_UPPER_BOUND
from xdsl_tvm.dialects.relax.symbolic import (
    Dim,
    DimLike,
    provably_different,
    provably_equal,
)
from xdsl_tvm.dialects.tir.types import dtype_name
from xdsl_tvm.frontend.torch import operators
from xdsl_tvm.frontend.torch.errors import TorchError
from xdsl_tvm.frontend.torch.graph import (
    COND,
    DTYPES,
    RANDOM,
    SKIPPED,
    Graph,
    GraphNode,
    Input,
    Meta,
    Other,
    Ref,
    TensorMeta,
)
from xdsl_tvm.frontend.torch.node import CONVERTERS, Node, Results
from xdsl_tvm.interpreters.relax.values import Array
from xdsl_tvm.relax.expr import Computed, Expr, Var

__all__ = ["from_graph", "operators", "refuse_unsupported"]

_MOST_PLACES = 8
"""Nodes of one operator that an error names."""

GETITEM = "getitem"
"""The target of what is one of the results of a node."""


def from_graph(
    graph: Graph,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
) -> IRModule:
    """The module of a program, as `from_exported_program` describes it.

    Raises TorchError for what is not converted.
    """
    _refuse_inputs(graph.inputs)
    refuse_unsupported(graph.nodes)
    if not graph.outputs and not graph.mutations:
        raise TorchError("the program returns nothing; return a tensor")
    changed = [name for name, _ in graph.mutations]
    params, kept, values = _parameters(graph.inputs, keep_params_as_input, changed)
    builder = relax.BlockBuilder()
    attributes: dict[str, object] = {}
    if keep_params_as_input or kept:
        attributes["num_input"] = len(params) - len(kept)
    if changed:
        names = {each.name: each.target or each.name for each in graph.inputs}
        attributes["changed"] = [names[name] for name in changed]
    symbols = _symbols_of(params)
    attributes.update(_bounds(graph.ranges, symbols))
    # Branches are in no dataflow block; `relax-convert-to-dataflow` makes some.
    has_branches = any(node.target == COND for node in graph.nodes)
    emit = builder.emit if has_branches else builder.emit_output
    with builder.function("main", params, attrs=attributes):
        with nullcontext() if has_branches else builder.dataflow():
            conversion = _Conversion(builder, graph, values)
            for node in graph.nodes:
                conversion.node(node)
            outputs = [*graph.outputs, *(value for _, value in graph.mutations)]
            results = [conversion.output(each) for each in outputs]
            if len(results) == 1 and unwrap_unit_return_tuple:
                output = emit(results[0])
            elif no_bind_return_tuple:
                output = [emit(each) for each in results]
            else:
                output = emit(relax.Tuple(results))
        builder.emit_func_output(output)
    module = builder.get()
    if keep_params_as_input or kept:
        (func,) = module.body.block.ops
        func.attributes["params"] = ArrayAttr([dense_of(array) for array in kept])
    return module


# ---- what is refused before any work ----


def refuse_unsupported(nodes: Iterable[GraphNode]) -> None:
    """Raise one TorchError that names all operators which are not converted."""
    places: dict[str, list[str]] = {}
    for node in _all_nodes(nodes):
        if (reason := _reason_against(node)) is not None:
            at = f" at {node.where}" if node.where else ""
            places.setdefault(reason, []).append(f"'{node.name}'{at}")
    if not places:
        return
    shown = [f"{what} ({_few(found)})" for what, found in places.items()]
    count = len(places)
    raise TorchError(
        f"{count} operator{'s are' if count > 1 else ' is'} not converted: "
        f"{'; '.join(shown)}; docs/torch.md lists those that are"
    )


def _all_nodes(nodes: Iterable[GraphNode]) -> Iterator[GraphNode]:
    """Nodes, and those of their branches."""
    for node in nodes:
        yield node
        for branch in _branches(node):
            yield from _all_nodes(branch.nodes)


def _branches(node: GraphNode) -> Sequence[Graph]:
    """The graphs of the branches of a node."""
    found = node.arguments.get("branches", ())
    return cast("Sequence[Graph]", found) if node.target == COND else ()


def _few(places: Sequence[str]) -> str:
    """The first places of many."""
    more = len(places) - _MOST_PLACES
    shown = ", ".join(places[:_MOST_PLACES])
    return f"{shown} and {more} more" if more > 0 else shown


def _reason_against(node: GraphNode) -> str | None:
    """What of a node is not converted."""
    if node.target in RANDOM:
        return f"{node.target}, which is random"
    if isinstance(node.result, Dim) and node.target not in CONVERTERS:
        return None
    is_condition = isinstance(node.result, Other) and node.result.kind == "SymBool"
    if node.target in SKIPPED or is_condition:
        return None
    if node.target not in CONVERTERS and node.target not in (GETITEM, COND):
        return node.target
    for meta in _metas(node):
        if isinstance(meta, TensorMeta) and (reason := _reason_against_tensor(meta)):
            return f"{node.target} with {reason}"
        if isinstance(meta, Other):
            return f"{node.target} with a result that is a {meta.kind}"
    return None


def _reason_against_tensor(meta: TensorMeta) -> str | None:
    if meta.dtype not in DTYPES:
        return f"dtype {meta.dtype}"
    return None if meta.layout == "strided" else f"layout {meta.layout}"


def _metas(node: GraphNode) -> Sequence[Meta]:
    return node.result if isinstance(node.result, Sequence) else [node.result]


def _refuse_inputs(inputs: Sequence[Input]) -> None:
    for each in inputs:
        what = f"{each.kind} '{each.target or each.name}'"
        if isinstance(each.meta, TensorMeta):
            if reason := _reason_against_tensor(each.meta):
                raise TorchError(
                    f"{what}: a tensor with {reason} is not converted; dtypes that are: "
                    f"{', '.join(DTYPES)}"
                )
        elif not isinstance(each.meta, Dim):
            kind = each.meta.kind if isinstance(each.meta, Other) else "None"
            raise TorchError(f"{what}: a {kind} is not converted; pass tensors")


# ---- parameters ----


def _parameters(
    inputs: Sequence[Input], keep: bool, changed: Sequence[str]
) -> tuple[list[Var], list[Array], dict[str, object]]:
    """The parameters of the function, the arrays of those kept, and values by name.

    Buffers that are `changed` are kept, before the parameters of the program.
    """
    params: list[Var] = []
    states: dict[str, tuple[Var, Array]] = {}
    kept: list[tuple[Var, Array]] = []
    values: dict[str, object] = {}
    names: set[str] = set()

    def variable(name: str, struct_info: object) -> Var:
        while name in names:
            name += "_"
        names.add(name)
        return Var(name, struct_info)

    for each in inputs:
        is_kept = each.kind == "parameter" and keep
        if each.kind != "user" and each.array is None:
            raise TorchError(f"{each.kind} '{each.target or each.name}': it has no data")
        is_state = each.kind != "user" and each.name in changed
        if each.array is not None and not is_kept and not is_state:
            values[each.name] = relax.const(each.array)
            continue
        name = variable_name(each.name)
        if isinstance(each.meta, TensorMeta):
            dims, dtype = each.meta.dims, each.meta.dtype
            value = variable(name, relax.TensorStructInfo(dims, dtype))
            values[each.name] = value
        else:
            assert isinstance(each.meta, Dim)
            value = variable(name, relax.PrimStructInfo("int64", each.meta))
            values[each.name] = each.meta
        if each.array is None:
            params.append(value)
        elif is_state:
            states[each.name] = value, each.array
        else:
            kept.append((value, each.array))
    kept = [*(states[name] for name in changed if name in states), *kept]
    params += [value for value, _ in kept]
    return params, [array for _, array in kept], values


def _symbols_of(params: Sequence[Var]) -> set[str]:
    """The symbols that parameters define; raises TorchError where one has no definition.

    An expression of symbols in the type of a parameter is checked, and defines none.
    """
    defined: set[str] = set()
    used: dict[str, str] = {}
    for param in params:
        info = TensorInfo.of(param.struct_info)
        if info is None:
            assert isinstance(param.struct_info, PrimType)
            dims: Sequence[Dim | None] = [param.struct_info.dim]
        else:
            dims = info.shape or ()
        for dim in dims:
            if dim is None:
                continue
            if (name := dim.symbol_name) is not None:
                defined.add(name)
            for symbol in dim.symbols():
                used.setdefault(symbol, f"input '{param.name_hint}'")
    for symbol, where in used.items():
        if symbol not in defined:
            raise TorchError(
                f"{where}: no dimension of an input is '{symbol}' alone, so its value is "
                "not known; export the program with such an input"
            )
    return defined


def _bounds(
    ranges: Mapping[str, tuple[int, int | None]], symbols: set[str]
) -> dict[str, object]:
    """The attributes of the ranges that a user gave."""
    largest = {
        name: high
        for name, (_, high) in ranges.items()
        if name in symbols and high is not None and high > 0
    }
    return {VAR_UPPER_BOUND: largest} if largest else {}


def variable_name(name: str) -> str:
    """The name of a variable of Relax for a name of torch."""
    cleaned = re.sub(r"\W", "_", name, flags=re.ASCII)
    return cleaned if cleaned.strip("_") and not cleaned[0].isdigit() else f"v{cleaned}"


# ---- nodes ----


@dataclass
class _Conversion:
    """The values of a graph while its nodes are converted."""

    builder: relax.BlockBuilder
    graph: Graph
    values: dict[str, object]
    """Expressions, dimensions, and lists of them for nodes of several results."""

    def __post_init__(self) -> None:
        self._used = {
            (ref.name, index)
            for node in self.graph.nodes
            if node.target == GETITEM
            and isinstance(ref := node.arguments["self"], Ref)
            and isinstance(index := node.arguments["index"], int)
        }
        metas = [(each.name, each.meta) for each in self.graph.inputs]
        metas += [
            (node.name, next(iter(_metas(node)), None)) for node in self.graph.nodes
        ]
        self._contiguous = {
            name
            for name, meta in metas
            if isinstance(meta, TensorMeta) and meta.is_contiguous
        }

    # ---- what converters ask for ----

    def emit(self, expr: Expr) -> Expr:
        """The value, computed once."""
        return expr if isinstance(expr, Var) else self.builder.emit(expr)

    def declared(self, expr: Expr, dims: Sequence[DimLike]) -> Expr:
        """The value under dimensions that are checked when the program runs."""
        return self.builder.match_cast(
            self.emit(expr), relax.TensorStructInfo(dims, expr.dtype)
        )

    def defined(self, vector: Expr, name: str) -> Dim:
        """The one element of a vector of `int64` as a symbol of this name."""
        shape = self.emit(relax.op.tensor_to_shape(vector))
        self.builder.match_cast(shape, relax.ShapeStructInfo([name]))
        return Dim.symbol(name)

    def is_used(self, name: str, index: int) -> bool:
        """Whether a result of a node is used."""
        return (name, index) in self._used

    def is_contiguous(self, argument: object) -> bool:
        """Whether torch has a tensor's elements in row-major order, without gaps."""
        return isinstance(argument, Ref) and argument.name in self._contiguous

    # ---- nodes ----

    def node(self, node: GraphNode) -> None:
        """Convert a node into values."""
        converter = CONVERTERS.get(node.target)
        if node.target == GETITEM:
            self.values[node.name] = self._part(node)
            return
        if node.target == COND:
            self.values[node.name] = self._branched(node)
            return
        if converter is None:
            # Arithmetic of sizes: torch has computed the expression.
            self.values[node.name] = node.result
            return
        arguments = {
            name: self._resolved(node, each) for name, each in node.arguments.items()
        }
        try:
            results = converter(Node(node, arguments, self))
            self.values[node.name] = self._results(node, results)
        except TorchError:
            raise
        except (VerifyException, ValueError, OverflowError) as error:
            raise TorchError(f"{node}: {str(error).strip()}") from None

    def _branched(self, node: GraphNode) -> list[object]:
        """The results of a branch that the program takes by a condition."""
        condition = self._resolved(node, node.arguments["condition"])
        operands = self._resolved(node, node.arguments["operands"])
        if not isinstance(condition, Expr):
            raise TorchError(f"{node}: a condition about sizes is not converted")
        builder = self.builder
        scalar = self.emit(relax.op.reshape(condition, ()))
        with builder.If(scalar, variable_name(node.name)) as result:
            true, false = _branches(node)
            for branch, enter in ((true, builder.Then), (false, builder.Else)):
                names = [each.name for each in branch.inputs]
                values = cast("list[object]", operands)
                with enter():
                    inner = _Conversion(
                        builder, branch, dict(zip(names, values, strict=True))
                    )
                    for each in branch.nodes:
                        inner.node(each)
                    outputs = [inner.output(each) for each in branch.outputs]
                    builder.emit_branch_output(relax.Tuple(outputs))
        return [
            self._typed(node, self.emit(result[index]), meta)
            for index, meta in enumerate(_metas(node))
        ]

    def _results(self, node: GraphNode, results: Results) -> object:
        """What a converter has made, under the types that torch has found."""
        metas = _metas(node)
        if isinstance(results, Dim):
            return results
        if isinstance(results, Expr):
            return self._typed(node, results, metas[0])
        if len(results) != len(metas):
            raise TorchError(f"{node}: it has {len(metas)} results, not {len(results)}")
        return [
            self._typed(node, each, meta)
            if isinstance(each, Expr) and self.is_used(node.name, index)
            else each
            for index, (each, meta) in enumerate(zip(results, metas, strict=True))
        ]

    def _part(self, node: GraphNode) -> object:
        ref, index = node.arguments["self"], node.arguments["index"]
        assert isinstance(ref, Ref)
        assert isinstance(index, int)
        parts = self.values[ref.name]
        if not isinstance(parts, list):
            raise TorchError(f"{node}: '{ref.name}' has one result")
        value = cast("list[object]", parts)[index]
        if value is None:
            raise TorchError(f"{node}: result {index} of '{ref.name}' is not converted")
        return value

    def _typed(self, node: GraphNode, expr: Expr, meta: Meta) -> Expr:
        """The value under the type that torch has found.

        Where that is not known to hold it is checked when the program runs.
        """
        assert isinstance(meta, TensorMeta)
        info = TensorInfo.of(expr.struct_info)
        assert info is not None
        dtype = None if info.dtype is None else dtype_name(info.dtype)
        dims = info.dims
        if dtype != meta.dtype or (dims is not None and len(dims) != len(meta.dims)):
            raise TorchError(
                f"{node}: it was converted to a {expr.struct_info}, where torch has "
                f"{meta.dtype}{_shown(meta.dims)}"
            )
        pairs = list(zip(dims or [None] * len(meta.dims), meta.dims, strict=True))
        for found, wanted in pairs:
            if found is not None and provably_different(found, wanted):
                raise TorchError(
                    f"{node}: it was converted to a {expr.struct_info}, where torch has "
                    f"{meta.dtype}{_shown(meta.dims)}"
                )
        is_same = all(
            found is not None and provably_equal(found, wanted) for found, wanted in pairs
        )
        if isinstance(expr, Computed):
            expr = self.builder.emit(expr, variable_name(node.name))
        return expr if is_same else self.declared(expr, meta.dims)

    def _resolved(self, node: GraphNode, argument: object) -> object:
        """The argument with values instead of references."""
        if isinstance(argument, Ref):
            if argument.name not in self.values:
                raise TorchError(f"{node}: nothing makes '{argument.name}'")
            value = self.values[argument.name]
            if isinstance(value, list):
                raise TorchError(f"{node}: '{argument.name}' has several results")
            return value
        if isinstance(argument, list | tuple):
            items = cast("Sequence[object]", argument)
            return [self._resolved(node, item) for item in items]
        return argument

    def output(self, argument: object) -> Expr:
        """What the program returns, as an expression."""
        node = GraphNode("output", "output", {}, None)
        value = self._resolved(node, argument)
        if isinstance(value, Expr):
            return value
        if isinstance(value, Dim):
            return relax.PrimValue(value, "int64")
        if isinstance(value, bool | int | float):
            kind = "float64" if isinstance(value, float) else "int64"
            return relax.PrimValue(value, "bool" if isinstance(value, bool) else kind)
        raise TorchError(
            f"output: {value!r} is returned, which is not converted; return tensors and "
            "numbers"
        )


def _shown(dims: Sequence[Dim]) -> str:
    return f"[{', '.join(map(str, dims))}]"
