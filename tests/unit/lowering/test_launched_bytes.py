"""Shared memory that launches add to kernels, as `xdsl-tvm estimate` counts it."""

from __future__ import annotations

from support.ir import parse

from xdsl_tvm.lowering.llvm_ir import launched_bytes

LAUNCH = """
  "gpu.launch_func"({dims}{size}) <{{
    kernel = @kernels::@{name},
    operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, {count}, 0, 0>
  }}> : ({types}) -> ()
"""
PROGRAM = """
func.func @main(%size: i32) {{
  %one = arith.constant 1 : index
  %few = arith.constant 1024 : i32
  %many = arith.constant 65536 : i32
  {launches}
  func.return
}}
"""


def launch(name: str, size: str) -> str:
    dims, types = ", ".join(["%one"] * 6), ", ".join(["index"] * 6)
    types += ", i32" if size else ""
    count = int(bool(size))
    return LAUNCH.format(
        dims=dims, size=size and f", {size}", name=name, count=count, types=types
    )


def test_constants_of_launches() -> None:
    """The most of each kernel; not what is known in the call only."""
    launches = ("a", "%many"), ("a", "%few"), ("b", "%size"), ("b", "")
    text = PROGRAM.format(launches="".join(launch(*each) for each in launches))
    assert launched_bytes(parse(text)) == {"a": 65536}
