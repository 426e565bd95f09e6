"""Functions specialized for shapes and values."""

from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.analysis.tir.specialize import BufferSpec, specialize
from xdsl_tvm.analysis.tir.well_formed import verify_well_formed
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.tir import interpret

SCALE = """
tir.func @scale(%a: !tir.handle, %b: !tir.handle, %m: i32, %s: f32) attributes {
    global_symbol = "scale", param_names = ["a", "b", "m", "s"]} {
  %n = tir.shape_var "n" : i64
  %c2 = tir.const 2 : i64
  %twice = tir.mul %n, %c2 : i64
  %A = tir.match_buffer %a [%n, %m] : !tir.buffer<?x?xf32>
  %B = tir.match_buffer %b [%twice] : !tir.buffer<?xf32>
  %p = tir.allocate [%n, 3] : !tir.ptr<f32>
  %D = tir.decl_buffer %p [%n] strides [%c2] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i64
  %j0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    %x = tir.load %A[%i, %j0] : f32
    %y = tir.mul %x, %s : f32
    tir.store %y, %B[%i] : f32
  }
}"""


def function(text: str = SCALE) -> tir.FuncOp:
    (found,) = parse(text).body.ops
    assert isinstance(found, tir.FuncOp)
    found.detach()
    return found


def specialized(values: dict[Any, Any], text: str = SCALE) -> tir.FuncOp:
    original = function(text)
    before = str(original)
    result = specialize(original, values)
    assert str(original) == before
    module = ModuleOp([result])
    module.verify()
    verify_well_formed(module)
    result.detach()
    return result


def buffers(func: tir.FuncOp) -> list[str]:
    found = (op for op in func.walk() if isinstance(op, tir.BufferDefinition))
    return [str(op.type) for op in found]


@pytest.mark.parametrize("key", [0, "a", "argument"])
def test_a_shape_gives_values_to_its_symbols(key: int | str):
    original = function()
    which = original.args[0] if key == "argument" else key
    func = specialize(original, {which: (8, None)})
    func.verify()
    assert buffers(func) == [
        "!tir.buffer<8x?xf32>",
        "!tir.buffer<16xf32>",
        "!tir.buffer<8xf32>",
    ]
    assert not [op for op in func.walk() if isinstance(op, tir.ShapeVarOp)]
    (allocate,) = [op for op in func.walk() if isinstance(op, tir.AllocateOp)]
    assert allocate.shape == (8, 3)
    (view,) = [op for op in func.walk() if isinstance(op, tir.DeclBufferOp)]
    assert (view.layout_strides, str(view.extent_type)) == ((2,), "i64")


def test_scalars_become_constants_and_no_parameters():
    func = specialized({"s": 2.0, "a": [4, 3]})
    assert [str(arg.type) for arg in func.args] == ["!tir.handle", "!tir.handle"]
    assert str(func.function_type) == "(!tir.handle, !tir.handle) -> ()"
    assert func.param_names is not None
    assert [name.data for name in func.param_names] == ["a", "b"]
    assert buffers(func)[0] == "!tir.buffer<4x3xf32>"
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    b = np.zeros(8, np.float32)
    interpret(ModuleOp([func]))["scale"](a, b)
    assert (b[:4] == a[:, 0] * 2).all()


def test_a_specialized_function_computes_the_same():
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    results: list[Any] = []
    for func, rest in (
        (function(), (3, 1.5)),
        (specialized({"a": (4, 3)}), (1.5,)),
        (specialized({"b": (None,), "m": 3, "s": 1.5}), ()),
    ):
        b = np.zeros(8, np.float32)
        interpret(ModuleOp([func]))["scale"](a, b, *rest)
        results.append(b.tolist())
    assert results[0] == results[1] == results[2]


STRIDED = """
tir.func @f(%a: !tir.handle) {
  %s = tir.shape_var "s" : i32
  %o = tir.shape_var "o" : i32
  %A = tir.match_buffer %a strides [%s, 1] offset %o : !tir.buffer<4x4xf32>
}"""


def test_strides_and_offsets():
    func = specialized({0: BufferSpec((4, 4), (8, 1), 16)}, STRIDED)
    (match,) = func.buffer_map.values()
    assert match.layout_strides == (8, 1)
    assert match.elem_offset is not None
    assert tir.constant_value(match.elem_offset) == 16


@pytest.mark.parametrize(
    ("values", "message", "text"),
    [
        ({7: 1}, "there is no parameter 7, it has 4", SCALE),
        ({"c": 1}, "no parameter 'c'; param_names has a, b, m, s", SCALE),
        ({"a": 1}, "parameter 0 is a !tir.handle; give the shape of its buffer", SCALE),
        ({"s": [1]}, "parameter 3 is matched to no buffer; give it a number", SCALE),
        ({"a": [4]}, "extent of parameter 0: there are 2, but 1 are given", SCALE),
        ({"a": [-1, 2]}, "dimension 0, must not be negative, got -1", SCALE),
        ({"a": [4, 2], "m": 3}, "parameter 2 is 2 by another value, but given as", SCALE),
        ({"a": [4, 2], "b": [9]}, "parameter 1, dimension 0, is 8, not 9", SCALE),
        ({"b": [8]}, "is computed from values that are not known; give them", SCALE),
        ({"m": 1.5}, "1.5 is no constant of dtype int32", SCALE),
        ({"m": 2**31}, "2147483648 is out of range of int32", SCALE),
        ({0: BufferSpec((4, 5))}, "dimension 1, is 4, not 5", STRIDED),
        ({0: BufferSpec((4, 4), (8, 2))}, "stride of .* dimension 1, is 1, not", STRIDED),
        ({"a": BufferSpec((4, 4), (4, 1))}, "has no strides of its own", SCALE),
        ({}, "has no body", "tir.func private @f(!tir.handle)"),
    ],
)
def test_contradictions_are_errors(values: dict[Any, Any], message: str, text: str):
    with pytest.raises(ValueError, match=message):
        specialize(function(text), values)
