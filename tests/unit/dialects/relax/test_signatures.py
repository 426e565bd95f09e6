"""The table of how operators are called: complete, and the inverse of what it reads."""

from __future__ import annotations

import inspect

import pytest
from support.relax_examples import example_of, parse
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.dialects.relax.operators import InferredResultOp, OperatorOp
from xdsl_tvm.dialects.relax.signatures import OPERATORS, Device, Signature
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TensorInfo


class Inserted(list[Operation]):
    """What a call made besides its operation."""

    def __call__(self, op: Operation) -> SSAValue:
        self.append(op)
        return op.results[0]


def tensor(*dims: int | str, dtype: str = "float32") -> SSAValue:
    return create_ssa_value(TensorInfo.shaped(dims, tir.parse_dtype(dtype)).type)


def make(name: str, *args: object, **kwargs: object) -> OperatorOp:
    return OPERATORS[name].make(args, kwargs, Inserted())


def test_table_is_complete():
    operators = {
        op.name.removeprefix("relax.")
        for op in relax.Relax.operations
        if issubclass(op, OperatorOp)
    }
    assert set(OPERATORS) == operators


def test_result_types_have_one_rule():
    """Whatever infers a type does it by the method that reads the operation."""
    for op in relax.Relax.operations:
        assert not hasattr(op, "infer")
        if hasattr(op, "infer_result_type"):
            assert issubclass(op, InferredResultOp)


def _constructor(signature: Signature) -> list[inspect.Parameter]:
    parameters = list(inspect.signature(signature.op_class.__init__).parameters.values())
    return [p for p in parameters[1:] if p.name not in ("result_type", "properties")]


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_parameters_are_those_of_the_constructor(name: str):
    signature = OPERATORS[name]
    ours = [p for p in signature.parameters if (name, p.name) != ("nn.attention", "bias")]
    constructor = _constructor(signature)
    assert len(ours) == len(constructor)
    for parameter, expected in zip(ours, constructor, strict=True):
        if parameter.is_operand:
            continue
        assert parameter.name == expected.name
        if expected.default is inspect.Parameter.empty:
            assert parameter.is_required
        elif expected.default is not None and parameter.kind != "dtype":
            assert parameter.default == expected.default


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_arguments_make_the_same_operation(name: str):
    signature = OPERATORS[name]
    module = parse(example_of(signature.op_class))
    (op,) = (op for op in module.walk() if isinstance(op, signature.op_class))
    again = signature.make([], signature.arguments(op), Inserted())
    assert tuple(again.operands) == tuple(op.operands)
    assert again.properties == op.properties
    again.verify()


def test_plain_shapes_scalars_and_tuples_become_operations():
    x = tensor("n", 6)
    inserted = Inserted()
    op = OPERATORS["reshape"].make([x, (0, 2, -1)], {}, inserted)
    assert [str(i) for i in inserted] == ["%0 = relax.shape [n, 2, 3]"]
    assert op.result.type == TensorInfo.shaped(["n", 2, 3], f32).type
    sliced = make("strided_slice", x, [0], [0], [Dim.symbol("n")])
    assert sliced.result.type == TensorInfo.shaped(["n", 6], f32).type
    joined = make("concat", [x, x], axis=1)
    assert joined.result.type == TensorInfo.shaped(["n", 12], f32).type


def test_defaults_that_depend_on_other_arguments():
    assert make("arange", 4).result.type == TensorInfo.shaped([4], i64).type
    assert make("arange", 1, 4).result.type == TensorInfo.shaped([3], i64).type
    assert make("eye", 3).result.type == TensorInfo.shaped([3, 3], f32).type
    q, bias = tensor(1, 4, 2, 8), tensor(1, 2, 4, 4)
    assert make("nn.attention", q, q, q).name == "relax.nn.attention"
    biased = make("nn.attention", q, q, q, bias, scale=0.5)
    assert biased.name == "relax.nn.attention_bias"
    assert OPERATORS["nn.attention_bias"].arguments(biased)["scale"] == 0.5
    plain = OPERATORS["nn.attention"].arguments(make("nn.attention", q, q, q))
    assert "bias" not in plain
    assert make("nn.attention_bias", q, q, q).name == "relax.nn.attention"
    starts, longest = tensor(3, dtype="int32"), tensor(dtype="int32")
    ragged = make("nn.attention_var_len", q, q, q, starts, longest)
    assert tuple(ragged.operands)[3:] == (starts, starts, longest, longest)


def test_numbers_that_stand_for_several():
    image = tensor(1, 3, 8, "n")
    resized = TensorInfo.shaped([1, 3, 4, 4], f32).type
    for size in (4, [4], [4, 4]):
        assert make("image.resize2d", image, size, roi=0.5).result.type == resized
    symbolic = make("image.resize2d", image, Dim.symbol("n"))
    assert symbolic.result.type == TensorInfo.shaped([1, 3, "n", "n"], f32).type


def test_index_maps_are_functions_too():
    def tiles(i: AffineExpr) -> tuple[AffineExpr, AffineExpr]:
        return i // 4, i % 4

    inserted = Inserted()
    op = OPERATORS["layout_transform"].make([tensor(7), tiles, 2], {}, inserted)
    assert op.result.type == TensorInfo.shaped([2, 4], f32).type
    assert [str(i) for i in inserted] == ["%0 = relax.prim_value 2.000000e+00 : f32"]
    whole = make("layout_transform", tensor(8, dtype="int64"), tiles, pad_value=-1)
    assert whole.result.type == TensorInfo.shaped([2, 4], i64).type


def test_a_device_is_two_numbers():
    x = tensor(4)
    for given in ((Device(2, 1),), (Device(2, 1), "global"), (2, 1)):
        op = make("hint_on_device", x, *given)
        assert OPERATORS["hint_on_device"].arguments(op) == {
            "data": x,
            "dev_type": 2,
            "dev_id": 1,
        }
    with pytest.raises(VerifyException, match='scope can be "global" only'):
        make("hint_on_device", x, Device(2), "shared")


def test_texts_of_virtual_devices():
    for text, device in (
        ("cuda", VDeviceAttr.of("cuda")),
        ("cuda:1", VDeviceAttr.of("cuda", 1)),
        ("cuda:1:shared", VDeviceAttr.of("cuda", 1, "shared")),
    ):
        op = make("to_vdevice", tensor(4), text)
        assert op.result.type == TensorInfo.shaped([4], f32, device).type
    with pytest.raises(VerifyException, match="must be a virtual device, not 'cuda:x'"):
        make("to_vdevice", tensor(4), "cuda:x")


def test_none_is_no_other_word_for_an_axis():
    x = tensor(4)
    op = make("concat", [x, x], axis=None)
    assert OPERATORS["concat"].arguments(op)["axis"] is None
    with pytest.raises(VerifyException, match="rank 2 needs an axis"):
        make("concat", [tensor(4, 4)], axis=None)


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "message"),
    [
        ("exp", (), {}, "relax.exp: the argument 'x' is missing"),
        ("exp", (1, 2), {}, "relax.exp: takes 1 arguments, 2 are given"),
        ("exp", (1,), {"x": 1}, "relax.exp: the argument 'x' is given twice"),
        ("exp", (1.5,), {}, "relax.exp: the argument 'x' must be a value, not 1.5"),
        ("sum", (), {"axes": 1}, "there is no parameter 'axes' in sum"),
        ("zeros", ([2], None), {}, "the argument 'dtype' cannot be None"),
        ("zeros", ([2], "void"), {}, "the argument 'dtype' must be a dtype"),
        ("zeros", ([2], "float33"), {}, "unknown dtype 'float33'"),
        ("zeros", ([2], 4), {}, "a dtype is a name as 'float32' or a type, not 4"),
        ("zeros", (["2 x"], "int8"), {}, "must be a shape or a list of dimensions"),
        ("zeros", (2.5, "int8"), {}, "must be a shape or a list of dimensions"),
        ("eye", ("n",), {}, "'n' must be a scalar or a number, not 'n'"),
    ],
)
def test_errors(
    name: str, args: tuple[object, ...], kwargs: dict[str, object], message: str
):
    with pytest.raises(VerifyException) as error:
        make(name, *args, **kwargs)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_attributes_of_other_types_are_refused():
    x = tensor(2, 3)
    for name, kwargs, kind in (
        ("sum", {"axis": "all"}, "an integer or a list of integers"),
        ("sum", {"keepdims": "yes"}, "a bool"),
        ("flip", {"axis": True}, "an integer"),
        ("nn.leakyrelu", {"alpha": "x"}, "a number"),
        ("einsum", {"subscripts": 3}, "a string"),
        ("layout_transform", {"index_map": 3}, "an index map"),
        ("to_vdevice", {"dst_vdevice": "moon"}, "a virtual device"),
        ("concat", {"tensors": 3}, "a tuple or a list of tensors"),
    ):
        first: list[object] = [[x]] if name == "einsum" else [x]
        with pytest.raises(VerifyException, match=f"must be {kind}"):
            make(name, *([] if name == "concat" else first), **kwargs)
