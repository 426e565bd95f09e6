"""The registry of tensor intrinsics."""

from collections.abc import Iterator

import pytest
from support.ir import parse
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir import FuncOp, TensorIntrin

DESC = """
tir.func @desc(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32, "shared">
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
}"""


def function(text: str) -> FuncOp:
    (found,) = parse(text).body.ops
    assert isinstance(found, FuncOp)
    found.detach()
    return found


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    for name in TensorIntrin.registered():
        TensorIntrin.unregister(name)


def test_registry():
    desc, impl = function(DESC), function(DESC.replace("@desc", "@impl"))
    added = TensorIntrin.register("copy", desc, impl)
    assert TensorIntrin.get("copy") is added
    assert (added.desc, added.impl) == (desc, impl)
    with pytest.raises(ValueError, match="'copy' is registered already; give another"):
        TensorIntrin.register("copy", desc, impl)
    assert TensorIntrin.register("copy", desc, impl, override=True) is not added
    assert TensorIntrin.registered() == ("copy",)
    with pytest.raises(ValueError, match=r"'cop' \(did you mean 'copy'\?\)"):
        TensorIntrin.get("cop")
    TensorIntrin.unregister("copy")
    assert TensorIntrin.registered() == ()


@pytest.mark.parametrize(
    ("impl", "message"),
    [
        ("tir.func @impl() {\n}", "@desc has 2 parameters, but @impl has 0"),
        (DESC.replace("4xf32>", "4xf16>"), "parameter 1 has element type f32"),
        (DESC.replace("shared", "local"), "parameter 0 has scope shared in @desc, but"),
        (DESC.replace("<4x", "<4x4x"), "parameter 0 has rank 1 in @desc, but 2"),
        ("tir.func @impl(%n: i32) {\n}", "parameter 0 of @impl must be a handle that"),
        ("tir.func @impl(%a: !tir.handle) {\n}", "parameter 0 of @impl must be a handle"),
        ("tir.func private @impl(!tir.handle)", "@impl must have a body"),
    ],
)
def test_description_and_implementation_must_fit(impl: str, message: str):
    with pytest.raises(VerifyException, match=f"tensor intrinsic: .*{message}"):
        TensorIntrin.register("copy", function(DESC), function(impl))
    assert TensorIntrin.registered() == ()
