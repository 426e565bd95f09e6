"""The suites of tests that the package `onnx` holds, as models, inputs and outputs."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx.backend.test
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    load_model_from_string,
    load_tensor_from_string,
    numpy_helper,
)
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from xdsl_tvm.frontend.onnx.dtypes import DTYPES
from xdsl_tvm.frontend.onnx.graph import STANDARD

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")
"""The names of the suites; `light` is that of networks with constant weights."""

_DATA = Path(onnx.backend.test.__file__).parent / "data"

_OPERATORS_OF_OTHER_TYPES = re.compile(r"(?<!Reverse)Sequence|Optional|^String|^Regex")


def suite(kind: str = "node", pattern: str = "") -> list[TestCase]:
    """The tests of a suite whose names match, in the order of names.

    Those of other domains than the standard's are left out.
    """
    chosen: list[TestCase] = []
    for case in _light() if kind == "light" else _loaded(kind):
        if re.search(pattern, case.name) and case.model is not None:
            domains = {each.domain for each in case.model.opset_import}
            if domains <= set(STANDARD):
                chosen.append(case)
    return sorted(chosen, key=lambda case: case.name)


def _loaded(kind: str) -> Iterator[TestCase]:
    with warnings.catch_warnings():
        # What computes the expected results warns about overflows.
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind=kind)
    for case in cases:
        if case.model is not None:
            yield case
            continue
        assert case.model_dir is not None
        folder = Path(case.model_dir)
        model = load_model_from_string((folder / "model.onnx").read_bytes())
        graph = model.graph
        data = [
            (_values(each, "input", graph.input), _values(each, "output", graph.output))
            for each in sorted(folder.glob("test_data_set_*"))
        ]
        yield replace(case, model=model, data_sets=data)


def _values(folder: Path, what: str, described: Iterable[Any]) -> list[Any]:
    """The tensors of a folder; None for values of other types."""
    found: list[Any] = []
    for index, each in enumerate(described):
        path = folder / f"{what}_{index}.pb"
        if not path.exists():
            break
        is_tensor = each.type.WhichOneof("value") == "tensor_type"
        found.append(load_tensor_from_string(path.read_bytes()) if is_tensor else None)
    return found


def _light() -> Iterator[TestCase]:
    """Networks whose weights are constant, on numbers that rise from 0 to 1."""
    for path in sorted((_DATA / "light").glob("light_*.onnx")):
        model = load_model_from_string(path.read_bytes())
        weights = {tensor.name for tensor in model.graph.initializer}
        inputs: list[Any] = []
        for given in model.graph.input:
            if given.name not in weights:
                shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
                count = int(np.prod(shape))
                rising = (np.arange(count).reshape(shape) / count).astype(np.float32)
                inputs.append(numpy_helper.from_array(rising, given.name))
        outputs: list[Any] = [
            load_tensor_from_string(
                path.with_name(f"{path.stem}_output_{index}.pb").read_bytes()
            )
            for index in range(len(model.graph.output))
        ]
        yield TestCase(
            name=path.stem,
            model_name=path.stem,
            url=None,
            model_dir=None,
            model=model,
            data_sets=[(inputs, outputs)],
            kind="light",
            rtol=1e-3,
            atol=1e-7,
        )


def with_random_weights(model: ModelProto) -> ModelProto:
    """A light model with random numbers in place of weights that are all one number.

    Scales and variances of normalizations are near 1.
    """
    rng = np.random.default_rng(5)
    result = ModelProto()
    result.CopyFrom(model)
    # From 4 on initializers are no inputs.
    result.ir_version = 8
    weights = {each.name: each for each in result.graph.initializer}
    nodes = list(result.graph.node)
    near_one = {
        node.input[index]
        for node in nodes
        if node.op_type == "BatchNormalization"
        for index in (1, 4)
    }
    kept: list[NodeProto] = []
    for node in nodes:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = [int(each) for each in numpy_helper.to_array(weights[node.input[0]])]
        scale = math.sqrt(2 / math.prod(shape[1:])) if len(shape) > 1 else 0.1
        values = (rng.standard_normal(shape) * scale).astype(np.float32)
        values += np.float32(node.output[0] in near_one)
        result.graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
    del result.graph.node[:]
    result.graph.node.extend(kept)
    used = {name for node in kept for name in node.input}
    initializers = [each for each in result.graph.initializer if each.name in used]
    copies = ModelProto()
    copies.graph.initializer.extend(initializers)
    del result.graph.initializer[:]
    result.graph.initializer.extend(copies.graph.initializer)
    names = {each.name for each in result.graph.initializer}
    inputs = [each for each in result.graph.input if each.name in used - names]
    del result.graph.input[:]
    result.graph.input.extend(inputs)
    return result


# ---- types ----


def has_supported_types(model: ModelProto) -> bool:
    """Whether a model has tensors of the converted element types only, and no training.

    Models of sequences, optional values and text are those of other types.
    """
    graph = model.graph
    types = [each.type for each in (*graph.input, *graph.output, *graph.value_info)]
    return all(map(_is_supported_type, types)) and all(
        map(_is_supported_node, _nodes(graph))
    )


def _is_supported_type(described: TypeProto) -> bool:
    kind = described.WhichOneof("value")
    number = described.tensor_type.elem_type
    return kind is None or (
        kind == "tensor_type" and (number in DTYPES or number == TensorProto.UNDEFINED)
    )


def _is_supported_node(node: NodeProto) -> bool:
    if _OPERATORS_OF_OTHER_TYPES.search(node.op_type):
        return False
    # The third input of Dropout switches training on.
    if node.op_type == "Dropout" and len(node.input) > 2:
        return False
    for attribute in node.attribute:
        if attribute.name == "training_mode" and attribute.i:
            return False
        if attribute.type in (AttributeProto.STRINGS, AttributeProto.STRING):
            continue
        if attribute.HasField("t") and attribute.t.data_type not in DTYPES:
            return False
        is_type = attribute.name in ("to", "dtype", "output_dtype")
        if is_type and attribute.i and attribute.i not in DTYPES:
            return False
    return True


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _nodes(inner)
