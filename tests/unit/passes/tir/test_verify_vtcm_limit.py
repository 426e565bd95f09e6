"""How much VTCM functions allocate at a time, and the check of it."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.tir.allocated_bytes import (
    allocated_bytes,
    allocated_bytes_of_functions,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir import VerifyVTCMLimit
from xdsl_tvm.registry import new_context


def parsed(text: str) -> ModuleOp:
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def scaled(attributes: str = "") -> ModuleOp:
    """int8[8192] in 8 parts, each of which is cached in VTCM."""
    return parsed(f"""
        tir.func @main() {attributes} {{
          %c0 = tir.const 0 : i32
          %c8 = tir.const 8 : i32
          tir.for %i = %c0 to %c8 {{
            %p = tir.allocate [1024] : !tir.ptr<i8, "global.vtcm">
          }}
        }}""")


def is_refused(module: ModuleOp, limit: str | None = None) -> bool:
    try:
        VerifyVTCMLimit(limit)(module)
    except PassFailedException as error:
        return "allocated: 1024" in str(error)
    return False


@pytest.mark.parametrize(
    ("limit", "refused"), [(8192, False), (1024, False), (128, True)]
)
def test_limit_of_the_target(limit: int, refused: bool):
    # CASE: VerifyVTCMLimit.1
    text = f'#tir.target<"hexagon", "vtcm-capacity" = {limit}>'
    own = scaled(f"attributes {{target = {text}}}")
    assert is_refused(own) is refused
    assert is_refused(own, "hexagon -vtcm-capacity=1") is refused
    assert is_refused(scaled(), f"hexagon -vtcm-capacity={limit}") is refused
    with PassContext(config={"tir.vtcm_capacity": limit}):
        assert is_refused(scaled(), "hexagon -vtcm-capacity=0") is refused
        assert is_refused(scaled(), "llvm") is refused
        assert not is_refused(scaled())


def test_without_a_capacity_nothing_is_checked():
    assert not is_refused(scaled(), "llvm")
    assert not is_refused(scaled(), "hexagon -vtcm-capacity=0")


def test_a_target_must_parse():
    with pytest.raises(PassFailedException, match=r"tir-verify-vtcm-limit: .*nonsense"):
        VerifyVTCMLimit("nonsense")(scaled())


def bytes_of(body: str) -> dict[str, int]:
    (func,) = (
        op
        for op in parsed(f"tir.func @f(%n: i32) {{{body}}}").walk()
        if isinstance(op, tir.FuncOp)
    )
    return allocated_bytes(func)


def test_bytes_at_a_time():
    # CASE: VerifyVTCMLimit.2
    cached = '%p = tir.allocate [128] : !tir.ptr<i8, "global.vtcm">'
    assert bytes_of(cached) == {"global.vtcm": 128}
    own = '%q = tir.alloc_buffer : !tir.buffer<128xi8, "global.vtcm">'
    assert bytes_of(f"{cached}\n{own}") == {"global.vtcm": 256}


def test_bytes_by_scope():
    # CASE: VerifyVTCMLimit.3
    texture = '%{} = tir.allocate [128, 128] : !tir.ptr<f32, "global.texture">'
    found = bytes_of(f"""
        %g = tir.allocate [128, 128] : !tir.ptr<f32>
        tir.scope {{
          {texture.format("s")}
          tir.scope {{
            {texture.format("t")}
          }}
          tir.scope {{
            {texture.format("u")}
          }}
        }}""")
    assert found == {"global": 65536, "global.texture": 131072}
    assert found.get("global.vtcm", 0) == 0


def test_bytes_of_symbolic_sizes_and_vectors():
    found = bytes_of("""
        %p = tir.allocate [%n] : !tir.ptr<f32, "shared">
        %q = tir.allocate [3] : !tir.ptr<vector<4xi1>>""")
    assert found == {"shared": 0, "global": 12}


def test_bytes_of_a_module():
    # CASE: VerifyVTCMLimit.4
    module = parsed("""
        tir.func @a() {
          %p = tir.allocate [2] : !tir.ptr<i64>
        }
        tir.func @b() {
        }""")
    assert allocated_bytes_of_functions(module) == {"a": {"global": 16}, "b": {}}


@pytest.mark.parametrize(("limit", "refused"), [(75000, False), (70000, True)])
def test_convolution(limit: int, refused: bool):
    """Input, weights and result of a convolution, as compaction leaves them."""
    # CASE: VerifyVTCMLimit.5
    module = parsed("""
        tir.func @conv2d() {
          %x = tir.allocate [1, 16, 20, 128] : !tir.ptr<i8, "global.vtcm">
          %w = tir.allocate [3, 3, 128, 16] : !tir.ptr<i8, "global.vtcm">
          tir.scope {
            %y = tir.allocate [14, 14, 16] : !tir.ptr<i32, "global.vtcm">
          }
          tir.scope {
            %z = tir.allocate [14, 14, 16] : !tir.ptr<i32, "global.vtcm">
          }
        }""")
    if not refused:
        VerifyVTCMLimit(f"hexagon -vtcm-capacity={limit}")(module)
        return
    with pytest.raises(PassFailedException, match="allocated: 71936, limit: 70000"):
        VerifyVTCMLimit(f"hexagon -vtcm-capacity={limit}")(module)
