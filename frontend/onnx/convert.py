"""`from_onnx`: a model becomes a module with the function `main`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TensorShapeProto,
    ValueInfoProto,
)
from xdsl.dialects.builtin import ArrayAttr
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm import relax
from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.dialects.relax.symbolic import RESERVED
from xdsl_tvm.frontend.onnx import operators
from xdsl_tvm.frontend.onnx.dtypes import array_of, dtype_name_of
from xdsl_tvm.frontend.onnx.errors import OnnxError
from xdsl_tvm.frontend.onnx.graph import (
    GraphBuilder,
    Scope,
    functions_of,
    opsets_of,
    variable_name,
)
from xdsl_tvm.frontend.onnx.model import checked, load
from xdsl_tvm.frontend.onnx.values import Array, Value, as_expr
from xdsl_tvm.frontend.params import detach_params
from xdsl_tvm.relax.expr import Var

__all__ = ["detach_params", "from_onnx", "operators"]

Model = ModelProto | str | PathLike[str]
"""A model, or its file, whose folder external data is below."""


def from_onnx(
    model: Model,
    shape_dict: Mapping[str, Sequence[int | str]] | None = None,
    dtype_dict: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    keep_params_in_input: bool = False,
) -> IRModule:
    """The module of a model, with the function `main` of its graph.

    `shape_dict` holds shapes of inputs, of numbers and names of symbols, that replace
    those of the model. `dtype_dict` is the dtype of inputs whose dtype the model does not
    say, one of all or by name. `opset` replaces the version of the standard's operators
    that the model says. With `keep_params_in_input` initializers are parameters after
    the inputs, and their arrays are in the attribute `params` of the function, which
    `detach_params` takes off; otherwise they are constants. The attribute `num_input` is
    the number of inputs.

    A dimension without a number is a symbol by the model's name for it. Raises OnnxError
    for a model that is not valid, and for what is not converted.
    """
    proto, folder = load(model)
    checked(proto)
    return _Conversion(
        proto, folder, dict(shape_dict or {}), dtype_dict, opset, keep_params_in_input
    ).module()


class _Conversion:
    """One call of `from_onnx`."""

    def __init__(
        self,
        model: ModelProto,
        folder: Path | None,
        shapes: dict[str, Sequence[int | str]],
        dtypes: str | Mapping[str, str],
        opset: int | None,
        keep_params: bool,
    ) -> None:
        self.model = model
        self.folder = folder
        self.shapes = shapes
        self.dtypes = dtypes
        self.keep_params = keep_params
        self.opsets = opsets_of(model.opset_import)
        if opset is not None:
            self.opsets[""] = opset
        self.opsets.setdefault("", 1)
        self._symbols: dict[str, str] = {}
        self._names: set[str] = set()

    def module(self) -> IRModule:
        """The module of the model."""
        graph = self.model.graph
        weights = {tensor.name: tensor for tensor in graph.initializer}
        inputs = [each for each in graph.input if each.name not in weights]
        names = [each.name for each in inputs]
        for name in self.shapes:
            if name not in names:
                raise OnnxError(
                    f"shape_dict: the model has no input '{name}'; its inputs are "
                    f"{', '.join(names) or 'none'}"
                )
        values: dict[str, Value] = {each.name: self._parameter(each) for each in inputs}
        kept: list[Array] = []
        if self.keep_params:
            for name, tensor in weights.items():
                array = array_of(tensor, self.folder)
                if _is_weight(array):
                    kept.append(array)
                    values[name] = self._variable(
                        name, array.shape, array.dtype.name, "initializer"
                    )
        params = [value for value in values.values() if isinstance(value, Var)]
        builder = relax.BlockBuilder()
        has_branches = any(_has_branches(graph, self.model))
        graphs = GraphBuilder(builder, functions_of(self.model), self.folder)
        scope = Scope(values, self.opsets)
        with builder.function("main", params, attrs={"num_input": len(inputs)}):
            if has_branches:
                graphs.run(graph, scope)
                results = [as_expr(value) for value in graphs.outputs(graph, scope)]
                _refuse_no_outputs(results)
                output = builder.emit(results[0] if len(results) == 1 else results)
            else:
                with builder.dataflow():
                    graphs.run(graph, scope)
                    results = [as_expr(value) for value in graphs.outputs(graph, scope)]
                    _refuse_no_outputs(results)
                    output = builder.emit_output(
                        results[0] if len(results) == 1 else relax.Tuple(results)
                    )
            builder.emit_func_output(output)
        module = builder.get()
        if self.keep_params:
            func = module["main"]
            func.attributes["params"] = ArrayAttr([dense_of(array) for array in kept])
        return module

    # ---- parameters ----

    def _parameter(self, given: ValueInfoProto) -> Var:
        what = f"input '{given.name}'"
        kind = given.type.WhichOneof("value")
        if kind not in (None, "tensor_type"):
            raise OnnxError(
                f"{what}: a {str(kind).removesuffix('_type')} is not converted; only "
                "tensors are"
            )
        tensor = given.type.tensor_type
        if tensor.elem_type != TensorProto.UNDEFINED:
            dtype = dtype_name_of(tensor.elem_type, what)
        elif isinstance(self.dtypes, str):
            dtype = self.dtypes
        else:
            dtype = self.dtypes.get(given.name, "float32")
        if given.name in self.shapes:
            dims = [
                self._symbol(each) if isinstance(each, str) else int(each)
                for each in self.shapes[given.name]
            ]
        elif not tensor.HasField("shape"):
            raise OnnxError(
                f"{what}: the model does not say its shape; give it with shape_dict"
            )
        else:
            dims = [
                self._dim(given.name, index, each)
                for index, each in enumerate(tensor.shape.dim)
            ]
        return self._variable(given.name, dims, dtype, "input")

    def _variable(
        self, name: str, dims: Sequence[int | str], dtype: str, what: str
    ) -> Var:
        free = variable_name(name)
        while free in self._names:
            free += "_"
        self._names.add(free)
        try:
            return Var(free, relax.TensorStructInfo(dims, dtype))
        except VerifyException as error:
            raise OnnxError(f"{what} '{name}': {error}") from None

    def _dim(self, name: str, index: int, dim: TensorShapeProto.Dimension) -> int | str:
        kind = dim.WhichOneof("value")
        if kind == "dim_value":
            return dim.dim_value
        return self._symbol(dim.dim_param or f"{name}_dim{index}")

    def _symbol(self, name: str) -> str:
        """The symbol of a name of the model; different names are different symbols."""
        if name not in self._symbols:
            cleaned = re.sub(r"\W", "_", name, flags=re.ASCII)
            if not cleaned.isidentifier() or cleaned in RESERVED or cleaned[0] == "_":
                cleaned = f"n_{cleaned}"
            while cleaned in self._symbols.values():
                cleaned += "_"
            self._symbols[name] = cleaned
        return self._symbols[name]


def _is_weight(array: Array) -> bool:
    """Whether an initializer may be a parameter: shapes and axes stay constants."""
    return array.dtype.kind not in "iub" or array.size > 64


def _refuse_no_outputs(results: Sequence[object]) -> None:
    if not results:
        raise OnnxError("the graph has no outputs")


def _has_branches(graph: GraphProto, model: ModelProto) -> Iterator[bool]:
    """True for each node that may become a `relax.if`, of functions of the model too."""
    nodes: list[NodeProto] = [*graph.node]
    for function in model.functions:
        nodes += function.node
    while nodes:
        node = nodes.pop()
        if node.op_type == "If":
            yield True
        for attribute in node.attribute:
            nodes += attribute.g.node
            for each in attribute.graphs:
                nodes += each.node
