"""Random graphs of tensor operators compute the same after fusion and combination.

`XDSL_TVM_FUZZ` sets the number of graphs.
"""

import os
from random import Random

import pytest
from support.ir import parse

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.passes.relax import LegalizeOps
from xdsl_tvm.registry import all_passes, new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
FUSION = (
    "relax-annotate-tir-op-pattern,relax-fuse-ops,relax-fuse-tir,tir-inline-blocks,"
    "tir-default-cpu-schedule"
)
BINARY = ("relax.add", "relax.subtract", "relax.multiply")
UNARY = ("relax.nn.relu", "relax.nn.gelu", "relax.permute_dims")


def graph(seed: int) -> str:
    """A function of one dataflow block of operators on square matrices and vectors."""
    random = Random(seed)
    n = "4" if seed % 2 else "n"
    size, dims = ("4", "") if n == "4" else ("?", ", #relax.dims<[n, n]>")
    m = f"tensor<{size}x{size}xf32{dims}>"
    v = f"tensor<{size}xf32{dims.replace('n, n', 'n')}>"
    values = ["%a", "%b"]
    lines = list[str]()
    for index in range(random.randint(4, 14)):
        x, y = random.choice(values), random.choice(values[-3:])
        match random.randrange(8):
            case 0:
                line = f"relax.matmul {x}, {y} : ({m}, {m}) -> {m}"
            case 1:
                line = f"relax.nn.softmax {y} axis -1 : ({m}) -> {m}"
            case 2:
                lines.append(f"%s{index} = relax.sum {x} axis [0] : ({m}) -> {v}")
                line = f"relax.add {y}, %s{index} : ({m}, {v}) -> {m}"
            case 3 | 4:
                line = f"{random.choice(UNARY)} {y} : ({m}) -> {m}"
            case 5:
                line = f"relax.add {y}, %c : ({m}, {v}) -> {m}"
            case _:
                line = f"{random.choice(BINARY)} {x}, {y} : ({m}, {m}) -> {m}"
        lines.append(f"%v{index} = {line}")
        values.append(f"%v{index}")
    outputs = [values[-1], random.choice(values[2:])]
    body = "\n".join(lines)
    symbols = "<n>" if n == "n" else ""
    return f"""
    relax.func @main{symbols}(%a: {m}, %b: {m}, %c: {v}) -> !relax.tuple<{m}, {m}>
        attributes {{global_symbol = "main"}} {{
      %r, %s = relax.dataflow -> ({m}, {m}) {{
        {body}
        relax.output {outputs[0]}, {outputs[1]} : {m}, {m}
      }}
      %t = relax.tuple(%r, %s) : {m}, {m}
      relax.return %t : !relax.tuple<{m}, {m}>
    }}
    """


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_fused_graphs_compute_the_same(seed: int) -> None:
    module = LegalizeOps()(parse(graph(seed)))
    passes = parse_passes(all_passes(), FUSION)
    report = check_semantics(module, passes, seed=seed)
    assert "main" in report.checked


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_combined_products_compute_the_same(seed: int) -> None:
    module = parse(graph(seed))
    passes = parse_passes(
        all_passes(), "relax-fuse-transpose-matmul,relax-combine-parallel-matmul"
    )
    report = check_semantics(module, passes, seed=seed)
    assert "main" in report.checked


def test_graphs_are_fused() -> None:
    passes = parse_passes(all_passes(), FUSION)
    fused = 0
    for seed in range(8):
        module = LegalizeOps()(parse(graph(seed)))
        for each in passes:
            each.apply(new_context(), module)
        names = [op.sym_name.data for op in module.ops if isinstance(op, tir.FuncOp)]
        fused += sum(name.startswith("fused") for name in names)
    assert fused > 8
