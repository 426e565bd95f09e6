"""Graphs to bindings: names, values, nodes, and graphs and functions within."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    defs,
    helper,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax import TensorInfo
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike
from xdsl_tvm.dialects.tir.types import dtype_name
from xdsl_tvm.frontend.onnx.collecting import Rows
from xdsl_tvm.frontend.onnx.dtypes import NUMBERS, array_of
from xdsl_tvm.frontend.onnx.errors import OnnxError
from xdsl_tvm.frontend.onnx.folding import folded
from xdsl_tvm.frontend.onnx.loops import Loop, symbols_of
from xdsl_tvm.frontend.onnx.node import Node, Repetition, Results, converter_of
from xdsl_tvm.frontend.onnx.schemas import body_of
from xdsl_tvm.frontend.onnx.values import Known, Value, as_expr
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr, Var

_MOST_INLINED = 64
"""How deep graphs and functions are in each other."""

MOST_NODES = 1 << 18
"""Nodes that are converted: functions that call others twice make any number of them."""

STANDARD = ("", "ai.onnx")
"""The names of the domain of the standard's operators."""

_SKIPPED_ATTRIBUTES = frozenset({"consumed_inputs"})


@dataclass(frozen=True)
class Scope:
    """The names of a graph, or of a function, and what they mean."""

    values: dict[str, Value]
    opsets: Mapping[str, int]
    depth: int = 0

    def inner(self) -> Scope:
        """The scope of a graph within, which sees the names around it."""
        return Scope(dict(self.values), self.opsets, self.depth + 1)


@dataclass
class GraphBuilder:
    """Emits what the nodes of a model's graphs compute."""

    builder: relax.BlockBuilder
    functions: Mapping[tuple[str, str], FunctionProto]
    folder: Path | None
    _declared: int = 0
    _count: int = 0
    _scopes: list[Scope] = field(default_factory=list[Scope])

    def __post_init__(self) -> None:
        self._rows = Rows(self.builder)

    # ---- graphs ----

    def run(self, graph: GraphProto, scope: Scope) -> None:
        """Convert the initializers and nodes of a graph into values of the scope."""
        for tensor in graph.initializer:
            if tensor.name not in scope.values:
                scope.values[tensor.name] = Known(array_of(tensor, self.folder))
        for tensor in graph.sparse_initializer:
            raise OnnxError(
                f"initializer '{tensor.values.name}': sparse tensors are not converted; "
                "store it densely"
            )
        self._nodes(graph.node, scope)

    def _nodes(self, nodes: Sequence[NodeProto], scope: Scope) -> None:
        if scope.depth > _MOST_INLINED:
            raise OnnxError("graphs and functions are nested too deeply")
        self._scopes.append(scope)
        try:
            for node in nodes:
                self._node(node, scope)
        finally:
            self._scopes.pop()

    def outputs(self, graph: GraphProto, scope: Scope) -> list[Value]:
        """The values of a graph's outputs."""
        return [self._lookup(scope, output.name, "output") for output in graph.output]

    def _lookup(self, scope: Scope, name: str, what: str) -> Value:
        if name not in scope.values:
            raise OnnxError(f"{what} '{name}': no node, input or initializer makes it")
        return scope.values[name]

    # ---- nodes ----

    def _node(self, proto: NodeProto, scope: Scope) -> None:
        self._count += 1
        if self._count > MOST_NODES:
            raise OnnxError(
                f"the model has more than {MOST_NODES} nodes with those of functions "
                "and of iterations of loops"
            )
        where = f"node '{node_name(proto)}' ({proto.op_type})"
        inputs = [
            self._lookup(scope, name, f"{where}: input") if name else None
            for name in proto.input
        ]
        while inputs and inputs[-1] is None:
            inputs.pop()
        try:
            results = self._converted(proto, inputs, scope)
        except OnnxError:
            raise
        except (VerifyException, ValueError, OverflowError) as error:
            raise OnnxError(f"{where}: {str(error).strip()}") from None
        except (IndexError, ZeroDivisionError, MemoryError):
            raise OnnxError(
                f"{where}: its inputs or attributes do not have the ranks or sizes that "
                "the operator needs"
            ) from None
        for name, value in zip(proto.output, results, strict=False):
            if not name:
                continue
            if value is None:
                raise OnnxError(f"{where}: its output '{name}' is not converted")
            if isinstance(value, Expr) and not isinstance(value, Var):
                value = self.builder.emit(value, variable_name(name))
            scope.values[name] = value
        if len(proto.output) > len(results) and any(proto.output[len(results) :]):
            raise OnnxError(
                f"{where}: its output '{proto.output[len(results)]}' is not converted"
            )

    def _converted(
        self, proto: NodeProto, inputs: list[Value | None], scope: Scope
    ) -> Sequence[Value | None]:
        where = f"node '{node_name(proto)}' ({proto.op_type})"
        local = self.functions.get((proto.domain, proto.op_type))
        if local is not None:
            return self._called(local, proto, inputs, scope, {})
        if proto.domain not in STANDARD:
            raise OnnxError(
                f"{where}: the domain '{proto.domain}' is not converted; only operators "
                "of the ONNX standard and functions of the model are"
            )
        opset = scope.opsets[""]
        schema = _schema(proto, opset, where)
        node = Node(
            proto.op_type,
            node_name(proto),
            opset,
            inputs,
            self._attributes(proto, schema, scope),
            list(proto.output),
            self,
        )
        if not schema.min_input <= len(inputs) <= schema.max_input:
            raise node.error(
                f"it has {len(inputs)} inputs, not {schema.min_input} to "
                f"{schema.max_input}"
            )
        if (results := folded(node)) is None:
            converter = converter_of(proto.op_type, opset)
            if converter is None:
                body = body_of(schema, proto, [_type_of(value) for value in inputs])
                if body is None:
                    raise OnnxError(
                        f"{where}: the operator is not converted in opset {opset}; "
                        "docs/onnx.md lists those that are"
                    )
                defaults = {
                    name: each.default_value
                    for name, each in schema.attributes.items()
                    if each.default_value.type != AttributeProto.UNDEFINED
                }
                return self._called(body, proto, inputs, scope, defaults)
            results = converter(node)
        return [results] if isinstance(results, Expr | Known) else list(results)

    def _attributes(
        self, proto: NodeProto, schema: defs.OpSchema, scope: Scope
    ) -> dict[str, object]:
        """The attributes of a node, and the defaults of others, as values of Python."""
        given: dict[str, object] = {}
        for name, described in schema.attributes.items():
            default = described.default_value
            if default.type != AttributeProto.UNDEFINED:
                given[name] = _python_value(default)
        for attribute in proto.attribute:
            if attribute.name in schema.attributes:
                given[attribute.name] = _python_value(attribute)
            elif attribute.name not in _SKIPPED_ATTRIBUTES:
                raise OnnxError(
                    f"node '{node_name(proto)}' ({proto.op_type}): the operator has no "
                    f"attribute '{attribute.name}' in opset {scope.opsets['']}"
                )
        return given

    def _called(
        self,
        function: FunctionProto,
        proto: NodeProto,
        inputs: Sequence[Value | None],
        scope: Scope,
        defaults: Mapping[str, AttributeProto],
    ) -> list[Value | None]:
        """The outputs of a function, whose nodes are converted where it is called."""
        given = dict(zip(function.input, inputs, strict=False))
        attributes = {each.name: each for each in function.attribute_proto}
        attributes.update(defaults)
        attributes.update((each.name, each) for each in proto.attribute)
        inner = Scope(
            {name: value for name, value in given.items() if value is not None},
            opsets_of(function.opset_import) or scope.opsets,
            scope.depth + 1,
        )
        nodes: list[NodeProto] = []
        for node in function.node:
            copied = NodeProto()
            copied.CopyFrom(node)
            # An optional input that is not given has no name in the body either.
            copied.input[:] = [
                "" if name in function.input and name not in inner.values else name
                for name in node.input
            ]
            _resolve(copied, attributes)
            nodes.append(copied)
        self._nodes(nodes, inner)
        return [inner.values.get(name) for name in function.output]

    # ---- what converters of nodes with graphs ask for ----

    def emit(self, expr: Expr) -> Expr:
        """The value, computed once."""
        return expr if isinstance(expr, Var) else self.builder.emit(expr)

    def declared(self, expr: Expr, dims: Sequence[DimLike | None]) -> Expr:
        """The value of dimensions, where None is one that nothing else has."""
        found: list[DimLike] = []
        for dim in dims:
            if dim is None:
                self._declared += 1
                # No name of a model begins so, see `_Conversion._symbol`.
                dim = f"_count_{self._declared}"
            found.append(dim)
        return self.builder.match_cast(
            self.builder.emit(expr), relax.TensorStructInfo(found, expr.dtype)
        )

    def branch(self, condition: Expr, then: GraphProto, other: GraphProto) -> Results:
        """The outputs of one of two graphs, by a condition of the running program."""
        count = len(then.output)
        with self.builder.If(condition) as result:
            with self.builder.Then():
                self._branch(then)
            with self.builder.Else():
                self._branch(other)
        if count == 1:
            return result
        return [self.builder.emit(result[index]) for index in range(count)]

    def _branch(self, graph: GraphProto) -> None:
        inner = self._scopes[-1].inner()
        self.run(graph, inner)
        values = [as_expr(value) for value in self.outputs(graph, inner)]
        self.builder.emit_branch_output(values[0] if len(values) == 1 else values)

    def inlined(self, graph: GraphProto, inputs: Sequence[Value]) -> list[Value]:
        """The outputs of a graph on inputs, computed here."""
        inner = self._scopes[-1].inner()
        names = (each.name for each in graph.input)
        inner.values.update(zip(names, inputs, strict=True))
        self.run(graph, inner)
        return self.outputs(graph, inner)

    def is_known(self, graph: GraphProto, inputs: Sequence[Value | None]) -> bool:
        """Whether the first output of a graph, the body of a loop, is always known.

        The first two inputs and outputs are the loop's own; others are carried.
        """
        around = self._scopes[-1].values
        given = zip(graph.input, inputs, strict=False)
        unknown = {each.name for each, value in given if not _is_known(value)}
        local = {each.name for each in graph.input}
        while True:
            found = set(unknown)
            for node in graph.node:
                used = list(_used_names([node]))
                is_unknown = any(
                    name in found
                    or (name not in local and not _is_known(around.get(name)))
                    for name in used
                )
                if is_unknown and node.op_type not in ("Shape", "Size"):
                    found.update(node.output)
                local.update(node.output)
            following = {
                each.name
                for each, output in zip(graph.input[2:], graph.output[1:], strict=False)
                if output.name in found
            }
            if following <= unknown:
                return not graph.output or graph.output[0].name not in found
            unknown |= following

    def repeated(
        self, where: str, graph: GraphProto, repetition: Repetition
    ) -> tuple[list[Expr], list[Expr]]:
        """What a loop over a graph carries at its end, and what it collects."""
        around = self._scopes[-1]
        names = [
            name
            for name in dict.fromkeys(_used_names(graph.node, graph.output))
            if isinstance(around.values.get(name), Expr)
        ]
        captured = [
            *repetition.captured,
            *(as_expr(around.values[name]) for name in names),
        ]
        first, states = len(repetition.captured), len(repetition.carried)
        count, condition = repetition.count, repetition.condition
        found: list[TensorInfo] | None = None

        def step(
            number: Expr, state: Sequence[Expr], parts: Sequence[Expr]
        ) -> tuple[Expr, Expr, list[Expr], list[Expr]]:
            """Whether the loop goes on, the next number, the next state, and rows."""
            nonlocal found
            known: dict[str, Value] = {
                name: value
                for name, value in around.values.items()
                if isinstance(value, Known)
            }
            inner = Scope(known, around.opsets, around.depth + 1)
            inner.values.update(zip(names, parts[first:], strict=False))
            inputs = repetition.inputs(number, state, parts[:first])
            given = (each.name for each in graph.input)
            inner.values.update(zip(given, inputs, strict=True))
            self.run(graph, inner)
            outputs = [self.emit(as_expr(each)) for each in self.outputs(graph, inner)]
            following = self.emit(op.add(number, relax.const(1, "int64")))
            goes_on = None if condition is None else op.reshape(outputs.pop(0), [])
            if count is not None:
                is_left = op.less(following, parts[len(captured)])
                goes_on = is_left if goes_on is None else op.logical_and(goes_on, is_left)
            assert goes_on is not None, "a loop has a condition or a count"
            if found is None:
                found = [self._row(where, each, symbols) for each in outputs[states:]]
                raise _RowsFoundError
            return self.emit(goes_on), following, outputs[:states], outputs[states:]

        def plain(
            carried: Sequence[Expr], parts: Sequence[Expr]
        ) -> tuple[Expr, Sequence[Expr]]:
            goes_on, following, state, _ = step(carried[0], carried[1:], parts)
            return goes_on, [following, *state]

        zero = relax.const(0, "int64")
        symbols = symbols_of([*repetition.carried, *captured])
        symbols += _symbols_of_known(
            around.values[each]
            for each in _used_names(graph.node)
            if each in around.values
        )
        symbols = list(dict.fromkeys(symbols))
        passed = captured if count is None else [*captured, count]
        goes_on = relax.const(True) if condition is None else op.reshape(condition, [])
        if count is not None:
            goes_on = op.logical_and(goes_on, op.greater(count, zero))
        start = [zero, *repetition.carried]
        loop = Loop(self.builder, where, symbols, passed, plain)
        with suppress(_RowsFoundError):
            loop.run(goes_on, start)
        assert found is not None, "the body was converted"
        if found:
            loop = self._rows.collecting(where, symbols, passed, states, len(found), step)
            start = [zero, relax.const(1, "int64"), *repetition.carried]
            start += map(self._rows.first, found)
        result = [self._settled(each) for each in loop.run(goes_on, start)]
        end = len(result) - len(found)
        return result[end - states : end], result[end:]

    def _row(self, where: str, value: Expr, symbols: Sequence[str]) -> TensorInfo:
        info = TensorInfo.of(value.struct_info)
        if info is None or info.shape is None or info.dtype is None:
            raise OnnxError(f"{where}: the shape of what it collects is not known")
        if not all(set(dim.symbols()) <= set(symbols) for dim in info.shape):
            raise OnnxError(f"{where}: the shape of what it collects changes")
        return info

    def _settled(self, value: Expr) -> Expr:
        """A value of which all dimensions have names."""
        info = TensorInfo.of(value.struct_info)
        if info is None or info.dims is None or info.shape is not None:
            return value
        return self.declared(value, info.dims)


class _RowsFoundError(Exception):
    """Raised where the shapes of what a loop collects are found."""


def _symbols_of_known(values: Iterable[Value]) -> list[str]:
    """The symbols of dimensions that are known."""
    found = [value.array.ravel() for value in values if isinstance(value, Known)]
    elements = [each for array in found if array.dtype == object for each in array]
    return [name for each in elements if isinstance(each, Dim) for name in each.symbols()]


def _is_known(value: Value | None) -> bool:
    return value is None or isinstance(value, Known)


def _used_names(
    nodes: Iterable[NodeProto], outputs: Iterable[ValueInfoProto] = ()
) -> Iterator[str]:
    """The names that nodes use, and graphs in them, with those of their own."""
    for node in nodes:
        yield from node.input
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _used_names(inner.node, inner.output)
    for output in outputs:
        yield output.name


def _resolve(node: NodeProto, attributes: Mapping[str, AttributeProto]) -> None:
    """Replace what a node of a function, or of graphs in it, refers to."""
    kept: list[AttributeProto] = []
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            for graph in (attribute.g, *attribute.graphs):
                for inner in graph.node:
                    _resolve(inner, attributes)
            kept.append(attribute)
        elif attribute.ref_attr_name in attributes:
            copied = AttributeProto()
            copied.CopyFrom(attributes[attribute.ref_attr_name])
            copied.name = attribute.name
            kept.append(copied)
    copies = NodeProto()
    copies.attribute.extend(kept)
    del node.attribute[:]
    node.attribute.extend(copies.attribute)


def node_name(node: NodeProto) -> str:
    """The name of a node, that of its first output for a node without one."""
    return node.name or next(iter(node.output), "")


def variable_name(name: str) -> str:
    """The name of a variable of Relax for a name of ONNX."""
    cleaned = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not cleaned.strip("_") or cleaned[0].isdigit():
        cleaned = f"v{cleaned}"
    return cleaned


def opsets_of(imports: Sequence[object]) -> dict[str, int]:
    """Versions by domain; that of the standard's operators is `""`."""
    found: dict[str, int] = {}
    for each in imports:
        domain, version = getattr(each, "domain", ""), getattr(each, "version", 0)
        found["" if domain in STANDARD else domain] = version
    return found


def functions_of(model: ModelProto) -> dict[tuple[str, str], FunctionProto]:
    """The functions that a model defines."""
    return {(each.domain, each.name): each for each in model.functions}


def _schema(proto: NodeProto, opset: int, where: str) -> defs.OpSchema:
    try:
        schema = defs.get_schema(proto.op_type, opset, "")
    except defs.SchemaError:
        raise OnnxError(
            f"{where}: opset {opset} of the ONNX standard has no such operator"
        ) from None
    if schema.deprecated:
        raise OnnxError(f"{where}: opset {opset} has removed the operator")
    return schema


def _python_value(attribute: AttributeProto) -> object:
    value: object = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = cast("Sequence[object]", value)
        return [
            item.decode(errors="replace") if isinstance(item, bytes) else item
            for item in items
        ]
    return value


def _type_of(value: Value | None) -> TypeProto | None:
    if value is None:
        return TypeProto()
    if isinstance(value, Known):
        return helper.make_tensor_type_proto(NUMBERS[value.dtype], value.array.shape)
    info = TensorInfo.of(value.struct_info)
    if info is None or info.dtype is None or info.dims is None:
        return None
    dims = [None if dim is None else dim.value for dim in info.dims]
    number = NUMBERS.get(dtype_name(info.dtype), TensorProto.UNDEFINED)
    return helper.make_tensor_type_proto(number, dims)
