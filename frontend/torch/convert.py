"""`from_graph`: the graph of a program becomes a module with the function `main`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
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
    PARTS,
    SKIPPED,
    Graph,
    GraphNode,
    Input,
    Meta,
    Other,
    Ref,
    TensorMeta,
)
from xdsl_tvm.frontend.torch.node import (
    COMPLEX,
    CONVERTERS,
    Converter,
    Node,
    Results,
)
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
    seed: int | None = None,
) -> IRModule:
    """The module of a program, as `from_exported_program` describes it.

    Raises TorchError for what is not converted.
    """
    _refuse_inputs(graph.inputs)
    refuse_unsupported(graph.nodes, has_seed=seed is not None)
    if seed is not None:
        graph = _with_random_state(graph, seed)
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
            conversion.finish_random_state()
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


def refuse_unsupported(nodes: Iterable[GraphNode], *, has_seed: bool = False) -> None:
    """Raise one TorchError that names all operators which are not converted.

    Random operators are converted where there is a seed.
    """
    places: dict[str, list[str]] = {}
    complex_names: set[str] = set()
    for node in _all_nodes(nodes):
        if any(map(_is_complex, _metas(node))):
            complex_names.add(node.name)
        if (reason := _reason_against(node, complex_names, has_seed)) is not None:
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


def _is_complex(meta: Meta) -> bool:
    return isinstance(meta, TensorMeta) and meta.dtype in PARTS


def _converter_of(node: GraphNode, complex_names: AbstractSet[str]) -> Converter | None:
    """The converter of a node, by whether complex numbers are among its values."""
    used = [node.name] + [
        each.name for each in _flat(node.arguments.values()) if isinstance(each, Ref)
    ]
    is_complex = not complex_names.isdisjoint(used)
    return (COMPLEX if is_complex else CONVERTERS).get(node.target)


def _flat(arguments: Iterable[object]) -> Iterator[object]:
    """Arguments, and the elements of lists of them."""
    for each in arguments:
        if isinstance(each, list | tuple):
            yield from _flat(cast("Sequence[object]", each))
        else:
            yield each


def _reason_against(
    node: GraphNode, complex_names: AbstractSet[str], has_seed: bool
) -> str | None:
    """What of a node is not converted."""
    if node.is_random and not has_seed:
        return f"{node.target}, which is random and needs the option seed"
    converter = _converter_of(node, complex_names)
    if isinstance(node.result, Dim) and converter is None:
        return None
    is_condition = isinstance(node.result, Other) and node.result.kind == "SymBool"
    if node.target in SKIPPED or is_condition:
        return None
    if converter is None and node.target not in (GETITEM, COND):
        is_known = node.target in CONVERTERS
        return f"{node.target} of complex numbers" if is_known else node.target
    for meta in _metas(node):
        if _is_complex(meta) and converter is not None:
            continue
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


# ---- random numbers ----

_STATE, _NEXT_STATE = "random_state", "random_state.next"
"""The state of random numbers, and the one after the program; no name of torch has a
dot."""


def _with_random_state(graph: Graph, seed: int) -> Graph:
    """The graph with a buffer that it changes, where it has random numbers.

    Raises TorchError for a seed of more than 64 bits.
    """
    if not 0 <= seed < 1 << 64:
        raise TorchError(f"the seed must be from 0 to 2^64 - 1, not {seed}")
    if not any(node.is_random for node in _all_nodes(graph.nodes)):
        return graph
    array = np.array([seed & 0xFFFFFFFF, seed >> 32, 0], np.uint32)
    meta = TensorMeta((Dim.constant(3),), "uint32")
    state = Input(_STATE, "buffer", meta, _STATE, array)
    if any(each.name == _STATE for each in graph.inputs):
        raise TorchError(f"input '{_STATE}': the name is that of the state of seed")
    return replace(
        graph,
        inputs=[*graph.inputs, state],
        mutations=[*graph.mutations, (_STATE, Ref(_NEXT_STATE))],
    )


# ---- nodes ----


@dataclass
class _Calls:
    """The random numbers of a program, with its branches."""

    state: Expr
    count: int = 0


@dataclass
class _Conversion:
    """The values of a graph while its nodes are converted."""

    builder: relax.BlockBuilder
    graph: Graph
    values: dict[str, object]
    """Expressions, dimensions, and lists of them for nodes of several results."""
    calls: _Calls | None = None

    def __post_init__(self) -> None:
        self._used = {
            (ref.name, index)
            for node in self.graph.nodes
            if node.target == GETITEM
            and isinstance(ref := node.arguments["self"], Ref)
            and isinstance(index := node.arguments["index"], int)
        }
        if self.calls is None and isinstance(state := self.values.get(_STATE), Expr):
            self.calls = _Calls(state)
        metas = [(each.name, each.meta) for each in self.graph.inputs]
        metas += [
            (node.name, next(iter(_metas(node)), None)) for node in self.graph.nodes
        ]
        self._complex = {name for name, meta in metas if _is_complex(meta)}
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

    def is_complex(self, argument: object) -> bool:
        """Whether an argument is a tensor of complex numbers."""
        return isinstance(argument, Ref) and argument.name in self._complex

    def random_state(self) -> tuple[Expr, int]:
        """The state of random numbers, and how many calls the program made before."""
        calls = self.calls
        assert calls is not None
        calls.count += 1
        return calls.state, calls.count - 1

    def finish_random_state(self) -> None:
        """The state for the next run: its calls are those after the ones of this."""
        if self.calls is None:
            return
        made = np.array([0, 0, self.calls.count], np.uint32)
        self.values[_NEXT_STATE] = relax.op.add(self.calls.state, relax.const(made))

    # ---- nodes ----

    def node(self, node: GraphNode) -> None:
        """Convert a node into values."""
        converter = _converter_of(node, self._complex)
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
                        builder,
                        branch,
                        dict(zip(names, values, strict=True)),
                        self.calls,
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
        if meta.dtype in PARTS:
            dims = (*meta.dims, Dim.constant(2))
            meta = replace(meta, dims=dims, dtype=PARTS[meta.dtype])
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
        if self.is_complex(argument):
            raise TorchError(
                "output: complex numbers are not returned; return torch.view_as_real of "
                "them"
            )
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
