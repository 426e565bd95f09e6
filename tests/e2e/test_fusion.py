"""Graphs that are fused, compiled and run: they give what the interpreter gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp

import xdsl_tvm
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.registry import all_passes, new_context

pytest.importorskip("llvmlite")

FUSION = (
    "relax-legalize-ops,relax-annotate-tir-op-pattern,relax-fuse-ops,relax-fuse-tir,"
    "tir-inline-blocks"
)


@dataclass(frozen=True)
class Graph:
    """Operators on `%a`, `%b`… of some shapes; the last one is `%r`."""

    lines: str
    operands: tuple[str, ...]
    result: str
    functions: int
    """How many TIR functions there are after fusion."""
    buffers: int = 0
    """How many buffers they allocate after blocks are inlined."""


def tensor(shape: str) -> str:
    dims = shape.split("x")
    sizes = "x".join(dim if dim.isdigit() else "?" for dim in dims)
    if all(dim.isdigit() for dim in dims):
        return f"tensor<{sizes}xf32>"
    return f"tensor<{sizes}xf32, #relax.dims<[{', '.join(dims)}]>>"


CONV = (
    'strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW" '
    'kernel "OIHW"'
)
GRAPHS = {
    "conv2d + bias + relu": Graph(
        f"""%c = relax.nn.conv2d %a, %b {CONV} : (!0, !1) -> !r
        %d = relax.add %c, %c0 : (!r, !2) -> !r
        %r = relax.nn.relu %d : (!r) -> !r""",
        ("1x3x8x10", "4x3x3x3", "1x4x1x1"),
        "1x4x8x10",
        1,
        buffers=1,
    ),
    "matmul + bias + gelu": Graph(
        """%c = relax.matmul %a, %b : (!0, !1) -> !r
        %d = relax.add %c, %c0 : (!r, !2) -> !r
        %r = relax.nn.gelu %d : (!r) -> !r""",
        ("nx16", "16x20", "20"),
        "nx20",
        1,
    ),
    "masked softmax": Graph(
        """%c = relax.add %a, %b : (!0, !1) -> !r
        %d = relax.nn.softmax %c axis -1 : (!r) -> !r
        %r = relax.multiply %d, %c0 : (!r, !2) -> !r""",
        ("2x5xn", "5xn", "n"),
        "2x5xn",
        2,
        buffers=2,
    ),
    "chain": Graph(
        """%c = relax.add %a, %b : (!0, !1) -> !r
        %d = relax.tanh %c : (!r) -> !r
        %e = relax.multiply %d, %c : (!r, !r) -> !r
        %f = relax.subtract %e, %c0 : (!r, !2) -> !r
        %r = relax.exp %f : (!r) -> !r""",
        ("4x33", "33", "4x1"),
        "4x33",
        1,
    ),
    "residual": Graph(
        """%c = relax.nn.relu %a : (!0) -> !0
        %d = relax.matmul %c, %b : (!0, !1) -> !0
        %e = relax.add %d, %c : (!0, !0) -> !0
        %f = relax.nn.relu %e : (!0) -> !0
        %g = relax.matmul %f, %b : (!0, !1) -> !0
        %h = relax.add %g, %c0 : (!0, !2) -> !0
        %r = relax.add %h, %f : (!0, !0) -> !r""",
        ("12x16", "16x16", "16"),
        "12x16",
        3,
    ),
    "reduction of a map": Graph(
        """%c = relax.exp %a : (!0) -> !0
        %d = relax.multiply %c, %b : (!0, !1) -> !0
        %e = relax.add %d, %c0 : (!0, !2) -> !0
        %r = relax.sum %e axis [1] : (!0) -> !r""",
        ("nx24", "24", "nx1"),
        "n",
        1,
    ),
}


def module_of(graph: Graph) -> ModuleOp:
    types = {f"!{number}": tensor(s) for number, s in enumerate(graph.operands)}
    types["!r"] = tensor(graph.result)
    aliases = "\n".join(f"!t{key[1:]} = {type_}" for key, type_ in types.items())
    lines = graph.lines
    for key in types:
        lines = lines.replace(key, f"!t{key[1:]}")
    symbols = "<n>" if any("n" in shape for shape in graph.operands) else ""
    return parse(
        f"""
        {aliases}
        relax.func @main{symbols}(%a: !t0, %b: !t1, %c0: !t2) -> !tr
            attributes {{global_symbol = "main"}} {{
          %o = relax.dataflow -> (!tr) {{
            {lines}
            relax.output %r : !tr
          }}
          relax.return %o : !tr
        }}
        """
    )


@pytest.mark.parametrize("name", GRAPHS)
def test_fused_graphs_run(name: str) -> None:
    graph = GRAPHS[name]
    module = module_of(graph)
    generator = np.random.default_rng(0)
    operands = [
        generator.standard_normal(
            [7 if dim == "n" else int(dim) for dim in shape.split("x")]
        ).astype(np.float32)
        for shape in graph.operands
    ]
    expected = interpret(module.clone())["main"](*operands)
    for each in parse_passes(all_passes(), FUSION):
        each.apply(new_context(), module)
    module.verify()
    functions = [op for op in module.ops if isinstance(op, tir.FuncOp)]
    buffers = [op for op in module.walk() if isinstance(op, tir.AllocBufferOp)]
    assert (len(functions), len(buffers)) == (graph.functions, graph.buffers)
    result = xdsl_tvm.compile(module)["main"](*operands)
    np.testing.assert_allclose(np.asarray(result), expected, rtol=2e-5, atol=2e-5)
