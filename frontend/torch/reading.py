"""Exported programs of torch as graphs, see `graph.py`.

torch itself is not imported: whoever has a program has imported it.
"""

from __future__ import annotations

import operator
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np

from xdsl_tvm.dialects.relax.symbolic import RESERVED, Dim, ceildiv, maximum, minimum
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
from xdsl_tvm.interpreters.relax.values import Array

_KINDS: Mapping[str, Literal["user", "parameter", "buffer", "constant"]] = {
    "USER_INPUT": "user",
    "PARAMETER": "parameter",
    "BUFFER": "buffer",
    "CONSTANT_TENSOR": "constant",
}

_MUTATIONS = ("BUFFER_MUTATION", "USER_INPUT_MUTATION")

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')

_INFINITY = 1 << 31
"""Bounds from here on are those of torch for symbols without a bound."""


def read(program: object, converted: Iterable[str]) -> Graph:
    """The graph of a program, whose operators are decomposed unless they are converted.

    Raises TorchError for what is no exported program and for what no graph holds.
    """
    exported = _checked(program)
    torch: Any = sys.modules["torch"]
    known = frozenset(converted)
    decomposed = _decomposed(torch, exported, known)
    return _Reader(torch, decomposed).graph()


def _checked(program: object) -> Any:
    """The program; raises TorchError for what is none."""
    torch: Any = sys.modules.get("torch")
    kinds = {each.__name__ for each in type(program).__mro__}
    if torch is not None and isinstance(program, torch.export.ExportedProgram):
        return program
    way = (
        "export it first: torch.export.export(module.eval(), args)"
        if "Module" in kinds
        else "it is made by torch.export.export(module.eval(), args)"
    )
    raise TorchError(
        "from_exported_program: the argument must be a torch.export.ExportedProgram, not "
        f"{type(program).__name__}; {way}"
    )


def _decomposed(torch: Any, program: Any, converted: frozenset[str]) -> Any:
    """The program of core operators, and of others that are converted as they are.

    What is left and not converted is decomposed where torch knows how.
    """
    table = torch.export.default_decompositions()
    for each in list(table):
        if str(each) in converted:
            table.pop(each)
    program = _run(program, table)
    more: Mapping[Any, Any] = _all_decompositions(torch)
    before = _unconverted(program, converted)
    left = {each for each in before if each in more and str(each) not in RANDOM}
    if not left:
        return program
    result = _run(program, {each: more[each] for each in left})
    if _unconverted(result, converted) <= before:
        return result
    # What would become other operators that are not converted is named by the error.
    useful = [
        each
        for each in left
        if _unconverted(_run(program, {each: more[each]}), converted) <= before
    ]
    return _run(program, {each: more[each] for each in useful})


def _unconverted(program: Any, converted: frozenset[str]) -> set[Any]:
    """The operators of a program that are not converted; arithmetic of sizes is none."""
    return {
        node.target
        for node in program.graph.nodes
        if node.op == "call_function"
        and hasattr(node.target, "_schema")
        and str(node.target) not in converted | SKIPPED
        and not str(node.target).startswith("aten.sym_")
    }


def _all_decompositions(torch: Any) -> Mapping[Any, Any]:
    """All decompositions that torch has."""
    return getattr(getattr(torch, "_decomp", None), "decomposition_table", {})


def _run(program: Any, table: Any) -> Any:
    with warnings.catch_warnings():
        # torch copies trees of its own by ways that it warns of.
        warnings.simplefilter("ignore")
        return program.run_decompositions(table)


class _Reader:
    """One program, and the names of its symbols."""

    def __init__(self, torch: Any, program: Any) -> None:
        self.torch = torch
        self.program = program
        self._names: dict[str, str] = {}

    def graph(self) -> Graph:
        """The graph of the program."""
        placeholders = {
            node.name: node
            for node in self.program.graph.nodes
            if node.op == "placeholder"
        }
        inputs = [
            each
            for spec in self.program.graph_signature.input_specs
            if (each := self._input(spec, placeholders)) is not None
        ]
        nodes, outputs = self._body(self.program.graph)
        names = self._changed()
        mutations = [
            (name, value)
            for name, value in zip(names, outputs, strict=True)
            if name is not None
        ]
        results = [
            value for name, value in zip(names, outputs, strict=True) if name is None
        ]
        return Graph(inputs, nodes, results, self._ranges(), mutations)

    def _body(self, graph: Any) -> tuple[list[GraphNode], list[object]]:
        """The nodes of a graph, and what it returns."""
        nodes: list[GraphNode] = []
        outputs: list[object] = []
        for node in graph.nodes:
            if node.op == "call_function":
                nodes.append(self._node(node))
            elif node.op == "output":
                returned: object = node.args[0]
                is_one = not isinstance(returned, list | tuple)
                items = [returned] if is_one else cast("Sequence[object]", returned)
                outputs = [self._argument(each, "output") for each in items]
        return nodes, outputs

    def _branch(self, node: Any) -> Graph:
        """The graph of a branch, which a node refers to; its inputs are the user's."""
        module = node.graph.owning_module.get_submodule(node.target)
        inputs = [
            Input(each.name, "user", self._meta(each.meta.get("val")))
            for each in module.graph.nodes
            if each.op == "placeholder"
        ]
        return Graph(inputs, *self._body(module.graph))

    def _changed(self) -> list[str | None]:
        """For each output the input that it is the new value of, None for a result.

        Raises TorchError for an output of another kind.
        """
        signature = self.program.graph_signature
        buffers = {
            spec.target: spec.arg.name
            for spec in signature.input_specs
            if spec.kind.name == "BUFFER"
        }
        found: list[str | None] = []
        for spec in signature.output_specs:
            kind = spec.kind.name
            if kind == "USER_OUTPUT":
                found.append(None)
            elif kind in _MUTATIONS:
                # An input is changed under its own name.
                found.append(buffers.get(spec.target, spec.target))
            elif kind == "PARAMETER_MUTATION":
                raise TorchError(
                    f"parameter '{spec.target}': the program changes it, which is not "
                    "converted; export module.eval(), or return the new value"
                )
            else:
                raise TorchError(f"output '{spec.arg.name}': a {kind} is not converted")
        return found

    # ---- inputs ----

    def _input(self, spec: Any, placeholders: Mapping[str, Any]) -> Input | None:
        """An input; None for one that is a constant of the program."""
        name: str = spec.arg.name
        kind = spec.kind.name
        if kind not in _KINDS:
            raise TorchError(f"input '{name}': a {kind} is not converted; pass tensors")
        if type(spec.arg).__name__ == "ConstantArgument":
            return None
        meta = self._meta(placeholders[name].meta.get("val"))
        array: Array | None = None
        if kind != "USER_INPUT":
            tensor = self._held(spec.target)
            what = f"{_KINDS[kind]} '{spec.target}'"
            array = self._array(tensor, what) if _is_readable(meta) else None
        return Input(name, _KINDS[kind], meta, spec.target or "", array)

    def _held(self, target: str) -> Any:
        state, constants = self.program.state_dict, self.program.constants
        return state[target] if target in state else constants[target]

    def _array(self, tensor: Any, what: str) -> Array:
        """The elements of a tensor that the program holds."""
        dtype = _name(tensor.dtype)
        if tensor.device.type == "meta" or "FakeTensor" in type(tensor).__name__:
            raise TorchError(f"{what}: it has no data; export a module that has weights")
        tensor = tensor.detach().cpu().contiguous()
        if dtype in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
            import ml_dtypes  # numpy has no such dtypes

            bits = self.torch.int16 if dtype == "bfloat16" else self.torch.int8
            array: Array = tensor.reshape(-1).view(bits).numpy()
            return array.view(getattr(ml_dtypes, dtype)).reshape(tuple(tensor.shape))
        return np.array(tensor.numpy())

    # ---- nodes ----

    def _node(self, node: Any) -> GraphNode:
        where = _where(node)
        value = node.meta.get("val")
        if isinstance(value, list | tuple):
            result: Meta | Sequence[Meta] = [
                self._meta(each) for each in cast("Sequence[object]", value)
            ]
        else:
            result = self._meta(value)
        name: str = node.name
        if node.target is operator.getitem:
            arguments = {"self": Ref(node.args[0].name), "index": node.args[1]}
            return GraphNode(name, "getitem", arguments, result, where)
        if getattr(node.target, "__name__", "") == COND and len(node.args) == 4:
            condition, *branches, operands = node.args
            what = f"node '{name}' ({COND})"
            arguments = {
                "condition": self._argument(condition, what),
                "branches": [self._branch(each) for each in branches],
                "operands": self._argument(operands, what),
            }
            return GraphNode(name, COND, arguments, result, where)
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            # Arithmetic of sizes, whose value torch has computed.
            target = getattr(node.target, "__name__", str(node.target))
            return GraphNode(name, target, {}, result, where)
        what = f"node '{name}' ({node.target})"
        given: dict[str, object] = {}
        for index, parameter in enumerate(schema.arguments):
            if index < len(node.args):
                argument = node.args[index]
            else:
                default = (
                    parameter.default_value if parameter.has_default_value() else None
                )
                argument = node.kwargs.get(parameter.name, default)
            given[parameter.name] = self._argument(argument, what)
        return GraphNode(name, str(node.target), given, result, where)

    def _argument(self, value: Any, what: str) -> object:
        torch = self.torch
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, torch.fx.Node):
            return Ref(value.name)
        if isinstance(value, torch.dtype):
            return _name(value)
        if isinstance(value, list | tuple):
            items = cast("Sequence[object]", value)
            return [self._argument(item, what) for item in items]
        if isinstance(value, torch.SymInt):
            return self._dim(value.node.expr)
        if isinstance(value, torch.device | torch.memory_format | torch.layout):
            return str(value)
        raise TorchError(f"{what}: a {type(value).__name__} is not converted: {value!r}")

    # ---- what torch knows of values ----

    def _meta(self, value: Any) -> Meta:
        torch = self.torch
        if value is None:
            return None
        if isinstance(value, torch.Tensor):
            dims = tuple(
                self._dim(size.node.expr)
                if isinstance(size, torch.SymInt)
                else Dim.constant(int(size))
                for size in value.shape
            )
            layout = str(value.layout).removeprefix("torch.")
            # Of symbolic sizes torch would have to assume something.
            is_known = layout == "strided" and all(dim.value is not None for dim in dims)
            is_contiguous = is_known and bool(value.is_contiguous())
            if value.is_quantized:
                layout = "quantized"
            return TensorMeta(dims, _name(value.dtype), is_contiguous, layout)
        if isinstance(value, torch.SymInt):
            return self._dim(value.node.expr)
        if isinstance(value, int) and not isinstance(value, bool):
            return Dim.constant(value)
        return Other(type(value).__name__)

    def _dim(self, expr: Any) -> Dim:
        """The dimension of an expression of sympy."""
        if expr.is_Integer:
            return Dim.constant(int(expr))
        if expr.is_Symbol:
            return Dim.symbol(self._symbol(str(expr)))
        kind = type(expr).__name__
        parts = [self._dim(each) for each in expr.args]
        function = _FUNCTIONS.get(kind)
        if kind == "Pow" and parts[1].value is not None and parts[1].value >= 0:
            parts, function = [parts[0]] * parts[1].value, _FUNCTIONS["Mul"]
        if function is None:
            raise TorchError(f"the size {expr}: a {kind} is not converted")
        if not parts:
            return Dim.constant(1)
        result = parts[0]
        for part in parts[1:]:
            result = function(result, part)
        return result

    def _symbol(self, name: str) -> str:
        """The name that the user gave to a symbol, or torch's own."""
        if not self._names:
            self._names = self._symbol_names()
        return self._names.setdefault(name, name)

    def _symbol_names(self) -> dict[str, str]:
        """The names of `torch.export.Dim` by torch's symbols, where they are kept."""
        env = self._shape_env()
        sources: Mapping[Any, Any] = getattr(env, "var_to_sources", {})
        given: Mapping[str, str] = getattr(env, "source_name_to_debug_name", {})
        found: dict[str, str] = {}
        for symbol, places in sources.items():
            for place in places:
                source: Any = getattr(place, "name", "")
                name = given.get(str(source() if callable(source) else source), "")
                is_free = name.isidentifier() and name not in RESERVED
                if is_free and name[0] != "_" and name not in found.values():
                    found.setdefault(str(symbol), name)
        return found

    def _shape_env(self) -> Any:
        for node in self.program.graph.nodes:
            value = node.meta.get("val")
            for size in getattr(value, "shape", ()):
                if isinstance(size, self.torch.SymInt):
                    return size.node.shape_env
        return None

    def _ranges(self) -> dict[str, tuple[int, int | None]]:
        found: dict[str, tuple[int, int | None]] = {}
        for symbol, values in self.program.range_constraints.items():
            low, high = values.lower, values.upper
            is_bound = high.is_Integer and int(high) < _INFINITY
            least = int(low) if low.is_Integer else 0
            found[self._symbol(str(symbol))] = (least, int(high) if is_bound else None)
        return found


_FUNCTIONS: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "Add": Dim.__add__,
    "Mul": Dim.__mul__,
    "FloorDiv": Dim.__floordiv__,
    "CleanDiv": Dim.__floordiv__,
    "CeilDiv": ceildiv,
    "Mod": Dim.__mod__,
    "PythonMod": Dim.__mod__,
    "Max": maximum,
    "Min": minimum,
}
"""Functions of sympy, and those that torch adds, on dimensions."""


def _is_readable(meta: Meta) -> bool:
    return isinstance(meta, TensorMeta) and (
        meta.dtype in DTYPES and meta.layout == "strided"
    )


def _name(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


def _where(node: Any) -> str:
    """File and line of the user's call of a node."""
    frames: list[tuple[str, str]] = _FRAME.findall(node.meta.get("stack_trace") or "")
    users = [
        (path, line)
        for path, line in frames
        if "/torch/" not in path.replace("\\", "/")
        and not path.startswith(("torch/", "<"))
    ]
    return ":".join((users or frames)[-1]) if frames else ""
