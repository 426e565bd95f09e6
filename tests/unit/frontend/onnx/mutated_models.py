"""Converts changed models: `OnnxError` in one line, or a module, within a time.

python mutated_models.py [COUNT [FIRST]]; default: $XDSL_TVM_FUZZ or 45, from seed
$XDSL_TVM_FUZZ_FROM or 0

A model is changed as a message: nodes, names, attributes, types, dimensions, data,
opsets, functions; or its bytes are.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from google.protobuf.message import DecodeError
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, defs, helper
from onnx.parser import parse_model

from xdsl_tvm.frontend.onnx import OnnxError, from_onnx

MOST_SECONDS = 20
MOST_BYTES = 4 << 30

HEAD = '<ir_version: 10, opset_import: ["" : 21, "local" : 1]>\n'
TEXTS = (
    """
g (float[n, 3, 8, 8] x) => (float[n, m] y)
<float[2, 3, 1, 1] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, 2}, int64[2] s = {0, -1}> {
  c = Conv<pads = [0, 0, 1, 1]>(x, w, b)
  p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(c)
  y = Reshape(p, s)
}
""",
    """
g (float[n, t, 4] x, int64[n, t] i) => (float[n, t, 4] y, float[n, k] v)
<float[2, 4] table = {0, 1, 2, 3, 4, 5, 6, 7}, float[4] g = {1, 2, 3, 4},
 int64[1] k = {2}, int64[1] two = {2},
 float[2] sc = {0.1, 0.2}, int8[2] zp = {0, 1}> {
  e = Gather<axis = 0>(table, i)
  a = Add(e, x)
  n = LayerNormalization<axis = -1>(a, g)
  nt = Transpose<perm = [0, 2, 1]>(n)
  s = MatMul(n, nt)
  p = Softmax<axis = -1>(s)
  y = MatMul(p, n)
  shape = Shape(x)
  first = Slice(shape, k, two)
  r = ReduceMean<keepdims = 0>(a, two)
  v, w = TopK(r, k)
}
""",
    """
g (int64 count, float[n, 2] x, bool c) => (float[n, 2] z, float[k, n, 2] all,
 float[n, 2] u) <float half = {0.5}> {
  z, all = Loop <body = body (int64 i, bool going, float[n, 2] a)
    => (bool going_on, float[n, 2] b, float[n, 2] d) {
      going_on = Identity(going)
      b = Add(a, x)
      d = Mul(b, half)
    }> (count, , x)
  u = If (c) <then_branch = t () => (float[n, 2] p) { p = Relu(x) },
    else_branch = e () => (float[n, 2] q) { q = local.twice(x) }>
}
<domain: "local", opset_import: ["" : 21]>
twice (a) => (b) { b = Add(a, a) }
""",
    """
g (float[1, 2, 4, 4] x, float[3, 2] s, float[2] h) => (float[a, b, c, d] y, float[3, 2] z,
  uint8[q] o, float[m] u)
<float[4] scales = {1, 1, 2, 2}, float[1] lo = {-1}, float[1] hi = {1},
 int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}> {
  y = Resize<mode = "linear">(x, , scales)
  last, z = Scan <num_scan_inputs = 1, body = body (float[2] a, float[2] b)
    => (float[2] c, float[2] d) { c = Add(a, b)
      d = Sub(a, b) }> (h, s)
  f = Flatten(x)
  o, os, oz = DynamicQuantizeLinear(f)
  t = Greater(lo, hi)
  w = Where(t, lo, hi)
  u, i0, i1, i2 = Unique(f)
  zz = Clip(x, lo, hi)
  pd = Pad(x, pads)
  ei = Einsum<equation = "ij,kj->ik">(s, s)
}
""",
)
"""Models of common networks, of graphs within, and of nodes with many inputs."""

OPERATORS = sorted({each.name for each in defs.get_all_schemas() if not each.domain})
NUMBERS = (0, 1, -1, 2, 3, 7, 64, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63))
NAMES = (
    "",
    "x",
    "y",
    "nowhere",
    "a b",
    "0",
    "é",
    "n" * 300,
    "../../etc/passwd",
    "/dev/zero",
)
FLOATS = (0.0, -1.0, 0.5, 1e30, float("inf"), float("nan"))


def models() -> list[ModelProto]:
    """The models, which are converted as they are."""
    found: list[ModelProto] = [parse_model(HEAD + text) for text in TEXTS]
    for model in found:
        from_onnx(model)
    return found


# ---- changes of messages ----


def changed(model: ModelProto, rng: random.Random) -> ModelProto:
    """A copy with one to three changes, in most cases one."""
    result = ModelProto()
    result.CopyFrom(model)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        graph = rng.choice(_graphs(result))
        rng.choice(CHANGES)(result, graph, rng)
    return result


def _graphs(model: ModelProto) -> list[Any]:
    """All graphs, and functions, which have nodes as well."""
    found: list[Any] = [model.graph, *model.functions]
    for graph in found:
        for node in graph.node:
            found += [each.g for each in node.attribute if each.HasField("g")]
            if len(found) > 50:
                return found
    return found


def _nodes(_: ModelProto, graph: Any, rng: random.Random) -> None:
    nodes = list(graph.node)
    if not nodes:
        return
    place = rng.randrange(len(nodes))
    match rng.randrange(4):
        case 0:
            del nodes[place]
        case 1:
            nodes.insert(rng.randrange(len(nodes) + 1), nodes[place])
        case 2:
            rng.shuffle(nodes)
        case _:
            other = rng.randrange(len(nodes))
            nodes[place], nodes[other] = nodes[other], nodes[place]
    copies = [NodeProto.FromString(each.SerializeToString()) for each in nodes]
    del graph.node[:]
    graph.node.extend(copies)


def _operator(_: ModelProto, graph: Any, rng: random.Random) -> None:
    if graph.node:
        node = rng.choice(graph.node)
        if rng.random() < 0.9:
            node.op_type = rng.choice(OPERATORS)
        else:
            node.domain = rng.choice(("local", "ai.onnx.ml", "nowhere", "ai.onnx"))


def _names(_: ModelProto, graph: Any, rng: random.Random) -> None:
    known = [name for node in graph.node for name in (*node.input, *node.output)]
    node = rng.choice(graph.node) if graph.node else None
    if node is None:
        return
    names = rng.choice((node.input, node.output))
    new = rng.choice([*known, *NAMES])
    match rng.randrange(4):
        case 0:
            names.append(new)
        case 1 if names:
            del names[rng.randrange(len(names))]
        case _:
            if names:
                names[rng.randrange(len(names))] = new


def _attribute(_: ModelProto, graph: Any, rng: random.Random) -> None:
    node = rng.choice(graph.node) if graph.node else None
    if node is None:
        return
    schema = defs.get_schema(node.op_type) if node.op_type in OPERATORS else None
    known = [*(schema.attributes if schema else ()), *(a.name for a in node.attribute)]
    name = rng.choice([*known, "axis", "nowhere"])
    kept = [each for each in node.attribute if each.name != name]
    copies = [AttributeProto.FromString(each.SerializeToString()) for each in kept]
    del node.attribute[:]
    node.attribute.extend(copies)
    if rng.random() < 0.8:
        node.attribute.append(helper.make_attribute(name, _value(graph, rng)))
        if rng.random() < 0.1:
            node.attribute[-1].type = rng.randrange(15)


def _value(graph: Any, rng: random.Random) -> Any:
    tensor = helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0])
    _changed_tensor(tensor, rng)
    return rng.choice(
        (
            rng.choice(NUMBERS),
            rng.choice(FLOATS),
            rng.choice((*NAMES, "SAME_UPPER", "linear", "constant", "reflect")),
            [rng.choice(NUMBERS) for _ in range(rng.randint(1, 6))],
            [rng.choice(FLOATS) for _ in range(rng.randint(1, 4))],
            [rng.choice(NAMES)],
            tensor,
            helper.make_graph(list(graph.node)[:2], "inner", [], []),
        )
    )


def _changed_tensor(tensor: TensorProto, rng: random.Random) -> None:
    match rng.randrange(7):
        case 0:
            tensor.dims[:] = [rng.choice(NUMBERS) for _ in range(rng.randint(0, 4))]
        case 1:
            tensor.data_type = rng.randrange(-1, 30)
        case 2:
            tensor.raw_data = bytes(rng.randrange(40))
        case 3:
            tensor.data_location = TensorProto.EXTERNAL
            entry = tensor.external_data.add()
            entry.key = rng.choice(("location", "offset", "length", "nothing"))
            entry.value = rng.choice((*NAMES, "-1", "99999999999999999999", ".", ".."))
        case 4:
            tensor.name = rng.choice(NAMES)
        case 5:
            del tensor.float_data[:]
        case _:
            tensor.dims.append(rng.choice(NUMBERS))


def _tensor(model: ModelProto, _: Any, rng: random.Random) -> None:
    if model.graph.initializer:
        _changed_tensor(rng.choice(model.graph.initializer), rng)


def _type(model: ModelProto, graph: Any, rng: random.Random) -> None:
    given = graph if hasattr(graph, "value_info") and hasattr(graph, "name") else None
    values = [*model.graph.input, *model.graph.output]
    if given is not None and rng.random() < 0.5:
        values = [each for each in (*graph.input, *graph.output) if hasattr(each, "type")]
    if not values:
        return
    value = rng.choice(values)
    tensor = value.type.tensor_type
    match rng.randrange(6):
        case 0:
            tensor.elem_type = rng.randrange(-1, 30)
        case 1:
            dim = tensor.shape.dim.add()
            dim.dim_value = rng.choice(NUMBERS)
        case 2 if tensor.shape.dim:
            rng.choice(tensor.shape.dim).dim_value = rng.choice(NUMBERS)
        case 3 if tensor.shape.dim:
            rng.choice(tensor.shape.dim).dim_param = rng.choice(NAMES)
        case 4:
            value.name = rng.choice(NAMES)
        case _:
            value.ClearField("type")
            if rng.random() < 0.3:
                value.type.sequence_type.elem_type.tensor_type.elem_type = 1


def _lists(model: ModelProto, _: Any, rng: random.Random) -> None:
    graph = model.graph
    values: Any = rng.choice((graph.input, graph.output, graph.initializer))
    if not values:
        return
    place = rng.randrange(len(values))
    if rng.random() < 0.5:
        del values[place]
    else:
        values.append(values[place])


def _header(model: ModelProto, _: Any, rng: random.Random) -> None:
    match rng.randrange(4):
        case 0:
            model.ir_version = rng.choice(NUMBERS)
        case 1 if model.opset_import:
            each = rng.choice(model.opset_import)
            each.version = rng.choice([*NUMBERS, *range(1, 28)])
        case 2 if model.opset_import:
            rng.choice(model.opset_import).domain = rng.choice(("", "local", "ai.onnx"))
        case _:
            for function in model.functions:
                # It may call itself, and have the name of an operator.
                function.node.add(op_type=function.name, domain="local", input=["a"])
                function.name = rng.choice((function.name, "Relu", ""))


Change = Callable[[ModelProto, Any, random.Random], None]
CHANGES: tuple[Change, ...] = (
    _nodes,
    _operator,
    _names,
    _names,
    _attribute,
    _attribute,
    _attribute,
    _tensor,
    _type,
    _type,
    _lists,
    _header,
)


# ---- changes of bytes ----


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes with a few changed, left out, doubled or cut off."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(found))
        match rng.randrange(5):
            case 0:
                found[place] = rng.randrange(256)
            case 1:
                found[place] ^= 1 << rng.randrange(8)
            case 2:
                del found[place : place + rng.randint(1, 8)]
            case 3:
                found[place:place] = found[place : place + rng.randint(1, 8)]
            case _:
                if rng.random() < 0.2:
                    del found[place + 1 :]
        if not found:
            return b"\0"
    return bytes(found)


def case(originals: list[ModelProto], seed: int) -> ModelProto | None:
    """The model of a seed; None for bytes that protobuf refuses, as of files."""
    rng = random.Random(seed)
    model = rng.choice(originals)
    if rng.random() < 0.8:
        try:
            return changed(model, rng)
        except ValueError:  # a field of protobuf that does not hold the value
            return None
    proto = ModelProto()
    try:
        proto.ParseFromString(mutated(model.SerializeToString(), rng))
    except DecodeError:
        return None
    return proto


def _too_slow(_: int, __: FrameType | None) -> None:
    raise TimeoutError(f"it takes more than {MOST_SECONDS} seconds")


def main(count: int, first: int) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    signal.signal(signal.SIGPROF, _too_slow)
    originals = models()
    converted = refused = 0
    slowest = (0.0, -1)
    for seed in range(first, first + count):
        proto = case(originals, seed)
        if proto is None:
            continue
        start = time.process_time()
        # Of the processor's time: others may have it.
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        try:
            from_onnx(proto)
            converted += 1
        except OnnxError as error:
            refused += 1
            if "\n" in str(error):
                print(f"seed {seed}: several lines: {error}")
                return 1
        except BaseException as error:
            print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
            if "KEEP_GOING" not in os.environ:
                raise
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        slowest = max(slowest, (time.process_time() - start, seed))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{converted} converted, {refused} refused; the slowest, seed {slowest[1]}, took "
        f"{slowest[0]:.2f} s; {peak} MiB at most"
    )
    return 0


if __name__ == "__main__":
    default = os.environ.get("XDSL_TVM_FUZZ", "45")
    first = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
    arguments = [int(each) for each in sys.argv[1:]] or [int(default)]
    sys.exit(main(arguments[0], arguments[1] if len(arguments) > 1 else first))
