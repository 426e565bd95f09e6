"""The programs of `examples/models` for TVM and for onnxruntime, where installed.

Both are made from the module of the model, operator by operator, so that all compute the
same. Weights are arguments of TVM's function, as of ours; in ONNX they are initializers.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from _tvm import tvm_tir
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm import IRModule
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.signatures import OPERATORS
from xdsl_tvm.dialects.tir.types import dtype_name

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]


def main_of(module: IRModule) -> relax.FuncOp:
    """The function `main`."""
    func = module["main"]
    assert isinstance(func, relax.FuncOp)
    return func


def info_of(value: SSAValue) -> relax.TensorInfo:
    """What is known of a tensor."""
    info = relax.TensorInfo.of(value.type)
    assert info is not None
    assert info.dims is not None
    assert info.dtype is not None
    return info


def dtype_of(value: SSAValue) -> str:
    """TVM's and numpy's name of a tensor's dtype."""
    dtype = info_of(value).dtype
    assert dtype is not None
    return dtype_name(dtype)


def bindings(block: Block) -> list[Operation]:
    """The operations of a block, those of dataflow blocks among them."""
    result: list[Operation] = []
    for op in block.ops:
        if isinstance(op, relax.DataflowOp):
            result += bindings(op.body.block)
        result.append(op)
    return result


def arguments(op: relax.OperatorOp) -> dict[str, Any]:
    """The arguments that TVM's operator takes, without those that are not given."""
    found = OPERATORS[op.name.removeprefix("relax.")].arguments(op)
    return {name: value for name, value in found.items() if value is not None}


# ---- TVM ----


class TVMProgram:
    """A module in TVM's Relax, built with its own BlockBuilder."""

    def __init__(self, module: IRModule) -> None:
        self.tvm: Any = importlib.import_module("tvm")
        self.relax: Any = importlib.import_module("tvm.relax")
        self._values: dict[SSAValue, Any] = {}
        self._symbols: dict[str, Any] = {}
        self.module: Any = self._build(main_of(module))

    def compile(self, arrays: Sequence[Array]) -> Call:
        """The function `main`, by TVM's default pipeline for this processor."""
        executable = self.tvm.compile(self.module, target="llvm")
        machine = self.relax.VirtualMachine(executable, self.tvm.cpu())
        # Copies, since TVM takes only memory that starts at a cache line.
        tensors = [self.tvm.runtime.tensor(array) for array in arrays]
        return lambda: machine["main"](*tensors)

    def _build(self, func: relax.FuncOp) -> Any:
        bb = self.relax.BlockBuilder()
        params = [self._parameter(index, arg) for index, arg in enumerate(func.args)]
        ops = bindings(func.body.block)
        with bb.function("main", params):
            with bb.dataflow():
                for op in ops:
                    self._emit(bb, op)
                output = bb.emit_output(self._values[func.return_op.value])
            bb.emit_func_output(output)
        return bb.get()

    def _parameter(self, index: int, arg: SSAValue) -> Any:
        shape = [self._dim(dim) for dim in info_of(arg).shape or ()]
        # Later versions have types in place of struct infos.
        is_new = not hasattr(self.relax, "TensorStructInfo")
        kind = self.relax.TensorType if is_new else self.relax.TensorStructInfo
        self._values[arg] = self.relax.Var(f"p{index}", kind(shape, dtype_of(arg)))
        return self._values[arg]

    def _dim(self, dim: relax.Dim) -> Any:
        if (value := dim.value) is not None:
            return value
        name = dim.symbol_name
        assert name is not None, "a parameter has no expressions"
        if name not in self._symbols:
            self._symbols[name] = tvm_tir().Var(name, "int64")
        return self._symbols[name]

    def _expression(self, dim: relax.Dim) -> Any:
        def apply(operator: str, lhs: Any, rhs: Any) -> Any:
            assert operator in ("+", "*")
            return lhs + rhs if operator == "+" else lhs * rhs

        return dim.fold(lambda n: n, lambda n: self._symbols[n], apply)

    def _emit(self, bb: Any, op: Operation) -> None:
        if isinstance(op, relax.OutputOp | relax.ReturnOp):
            return
        if isinstance(op, relax.DataflowOp):
            for result, value in zip(op.outputs, op.output_op.values, strict=True):
                self._values[result] = self._values[value]
            return
        made = self._make(op)
        is_leaf = isinstance(op, relax.ConstantOp | relax.ShapeOp | relax.PrimValueOp)
        self._values[op.results[0]] = made if is_leaf else bb.emit(made)

    def _make(self, op: Operation) -> Any:
        match op:
            case relax.ConstantOp():
                return self.relax.const(constant(op))
            case relax.ShapeOp():
                dims = op.values.known or ()
                return self.relax.ShapeExpr([self._expression(dim) for dim in dims])
            case relax.PrimValueOp():
                return self._scalar(op)
            case relax.TupleOp():
                return self.relax.Tuple([self._values[v] for v in op.elements])
            case relax.GetItemOp():
                value = self._values[op.tuple_value]
                return self.relax.TupleGetItem(value, op.index.value.data)
            case relax.OperatorOp():
                return self._call(op)
            case _:
                raise NotImplementedError(f"{op.name}: say what it is in TVM")

    def _scalar(self, op: relax.PrimValueOp) -> Any:
        if isinstance(op.value, relax.DimAttr):
            return self._expression(op.value.data)
        return op.value.value.data

    def _call(self, op: relax.OperatorOp) -> Any:
        # TVM has one function in Python for attention, with bias or without.
        name = op.name.removeprefix("relax.").replace("attention_bias", "attention")
        function = self.relax.op
        for part in name.split("."):
            function = getattr(function, part)
        given = {key: self._argument(value) for key, value in arguments(op).items()}
        return function(*given.values()) if op.name == "relax.clip" else function(**given)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, SSAValue):
            return self._values[value]
        return dtype_name(value) if isinstance(value, Attribute) else value


def constant(op: relax.ConstantOp) -> Array:
    """The elements of a constant."""
    data = cast(Any, op.value).data.data
    array = np.frombuffer(data, dtype_of(op.result))
    return array.reshape([dim.value or 0 for dim in info_of(op.result).shape or ()])


# ---- onnxruntime ----

_SAME = {
    "add": "Add",
    "concat": "Concat",
    "divide": "Div",
    "matmul": "MatMul",
    "multiply": "Mul",
    "nn.relu": "Relu",
    "nn.softmax": "Softmax",
    "subtract": "Sub",
    "take": "Gather",
}
"""Operators whose operands and axis ONNX has, too, by its name of them."""


@dataclass
class ONNXProgram:
    """A module as a graph of ONNX; parameters after the inputs are initializers."""

    module: IRModule
    parameters: Mapping[str, Array]
    inputs: int
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    nodes: list[Any] = field(default_factory=list[Any])
    initializers: list[Any] = field(default_factory=list[Any])

    def compile(self, arrays: Sequence[Array], threads: int) -> Call:
        """A call of `main` on the inputs."""
        runtime: Any = importlib.import_module("onnxruntime")
        model = self.model()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        session = runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        names = [f"input{index}" for index in range(self.inputs)]
        feed = dict(zip(names, arrays, strict=True))
        return lambda: session.run(None, feed)

    def model(self) -> Any:
        """The graph. ImportError where the package onnx is not installed."""
        self.helper: Any = importlib.import_module("onnx.helper")
        self.numpy: Any = importlib.import_module("onnx.numpy_helper")
        func = main_of(self.module)
        graph_inputs: list[Any] = []
        for index, arg in enumerate(func.args[: self.inputs]):
            self.names[arg] = f"input{index}"
            graph_inputs.append(self._value_info(f"input{index}", arg))
        rest = func.args[self.inputs :]
        for arg, array in zip(rest, self.parameters.values(), strict=True):
            self.names[arg] = self._initializer(array)
        for op in bindings(func.body.block):
            self._add(op)
        outputs = [
            self.helper.make_tensor_value_info(name, 1, None)
            for name in self.names[func.return_op.value].split()
        ]
        graph = self.helper.make_graph(
            self.nodes, "main", graph_inputs, outputs, self.initializers
        )
        opset = self.helper.make_opsetid("", 20)
        return self.helper.make_model(graph, opset_imports=[opset], ir_version=10)

    def _value_info(self, name: str, value: SSAValue) -> Any:
        dtype = self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype_of(value)))
        shape = [dim.value or str(dim) for dim in info_of(value).shape or ()]
        return self.helper.make_tensor_value_info(name, dtype, shape)

    def _initializer(self, array: Array) -> str:
        name = f"constant{len(self.initializers)}"
        self.initializers.append(self.numpy.from_array(np.asarray(array), name))
        return name

    def _node(self, kind: str, inputs: Sequence[str], outputs: int = 1, **kw: Any) -> str:
        names = [f"v{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(self.helper.make_node(kind, list(inputs), names, **kw))
        return " ".join(names)

    def _add(self, op: Operation) -> None:
        """Name what the operation makes; a tuple has the names of its fields."""
        match op:
            case relax.OutputOp() | relax.ReturnOp():
                return
            case relax.DataflowOp():
                for result, value in zip(op.outputs, op.output_op.values, strict=True):
                    self.names[result] = self.names[value]
                return
            case relax.ConstantOp():
                name = self._initializer(constant(op))
            case relax.ShapeOp():
                # Of at most one unknown dimension, which is computed.
                dims = [-1 if d.value is None else d.value for d in op.values.known or ()]
                name = self._initializer(np.array(dims, np.int64))
            case relax.PrimValueOp():
                number = cast(Any, op.value).value.data
                name = self._initializer(np.array(number, np.float32))
            case relax.TupleOp():
                name = " ".join(self.names[value] for value in op.elements)
            case relax.GetItemOp():
                name = self.names[op.tuple_value].split()[op.index.value.data]
            case relax.OperatorOp():
                name = self._operator(op)
            case _:
                raise NotImplementedError(f"{op.name}: say what it is in ONNX")
        self.names[op.results[0]] = name

    def _operator(self, op: relax.OperatorOp) -> str:
        kind = op.name.removeprefix("relax.")
        given = arguments(op)
        names = [n for v in op.operands for n in self.names[v].split()]
        if kind in _SAME:
            axis = {"axis": given["axis"]} if "axis" in given else {}
            return self._node(_SAME[kind], names, **axis)
        method = getattr(self, f"_{kind.replace('.', '_')}", None)
        if method is None:
            raise NotImplementedError(f"{op.name}: say what it is in ONNX")
        return method(op, names, given)

    def _window(self, given: Mapping[str, Any], size: Sequence[int]) -> dict[str, Any]:
        rank = len(size)
        padding = given["padding"]
        return {
            "kernel_shape": size,
            "strides": _each(given["strides"], rank),
            "dilations": _each(given["dilation"], rank),
            "pads": padding if len(padding) == 2 * rank else _each(padding, rank) * 2,
        }

    def _nn_conv2d(self, op: relax.Conv2DOp, names: list[str], given: Any) -> str:
        size = [dim.value for dim in (info_of(op.weight).shape or ())[2:]]
        window = self._window(given, cast("list[int]", size))
        return self._node("Conv", names, group=given["groups"], **window)

    def _nn_max_pool2d(self, op: Operation, names: list[str], given: Any) -> str:
        window = self._window(given, _each(given["pool_size"], 2))
        return self._node("MaxPool", names, **window)

    def _nn_batch_norm(self, op: Operation, names: list[str], given: Any) -> str:
        result = self._node("BatchNormalization", names, epsilon=given["epsilon"])
        return f"{result} {names[3]} {names[4]}"

    def _nn_layer_norm(self, op: Operation, names: list[str], given: Any) -> str:
        (axis,) = given["axes"]
        epsilon = given["epsilon"]
        return self._node("LayerNormalization", names, axis=axis, epsilon=epsilon)

    def _nn_gelu(self, op: Operation, names: list[str], given: Any) -> str:
        return self._node("Gelu", names)

    def _nn_gelu_tanh(self, op: Operation, names: list[str], given: Any) -> str:
        return self._node("Gelu", names, approximate="tanh")

    def _clip(self, op: Operation, names: list[str], given: Any) -> str:
        return self._node("Clip", names)

    def _mean(self, op: Operation, names: list[str], given: Any) -> str:
        axes = self._initializer(np.array(given["axis"], np.int64))
        return self._node("ReduceMean", [*names, axes], keepdims=int(given["keepdims"]))

    def _reshape(self, op: Operation, names: list[str], given: Any) -> str:
        return self._node("Reshape", names)

    def _permute_dims(self, op: relax.PermuteDimsOp, names: list[str], given: Any) -> str:
        axes = given.get("axes") or list(
            reversed(range(len(info_of(op.data).dims or ())))
        )
        return self._node("Transpose", names, perm=axes)

    def _split(self, op: Operation, names: list[str], given: Any) -> str:
        count = given["indices_or_sections"]
        axis = given["axis"]
        return self._node("Split", names, outputs=count, axis=axis, num_outputs=count)

    def _nn_attention_bias(
        self, op: relax.AttentionBiasOp, names: list[str], given: Any
    ) -> str:
        query, key, value, bias = names
        shape = info_of(op.query).shape
        assert shape is not None
        width = shape[3].value
        assert width is not None
        query, value = (
            self._node("Transpose", [each], perm=[0, 2, 1, 3]) for each in (query, value)
        )
        key = self._node("Transpose", [key], perm=[0, 2, 3, 1])
        scale = self._initializer(np.array(width**-0.5, np.float32))
        scores = self._node("Mul", [self._node("MatMul", [query, key]), scale])
        weights = self._node("Softmax", [self._node("Add", [scores, bias])], axis=-1)
        found = self._node("MatMul", [weights, value])
        return self._node("Transpose", [found], perm=[0, 2, 1, 3])


def _each(values: Sequence[int], rank: int) -> list[int]:
    return list(values) * rank if len(values) == 1 else list(values)
