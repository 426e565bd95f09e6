"""What follows a matrix product is done on its tiles by the default CPU schedule."""

import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.registry import all_passes, new_context

FUSION = (
    "relax-legalize-ops,relax-annotate-tir-op-pattern,relax-fuse-ops,relax-fuse-tir,"
    "tir-inline-blocks"
)


def fused(rows: int, terms: int, columns: int, bias: str, behind: str) -> ModuleOp:
    """A product with a sum and `after` on `%s`, as one TIR function of blocks."""
    x, w, y = (
        f"tensor<{a}x{b}xf32>"
        for a, b in ((rows, terms), (terms, columns), (rows, columns))
    )
    module = parse(
        f"""
        relax.func @main(%x: {x}, %w: {w}, %b: tensor<{bias}xf32>) -> {y}
            attributes {{global_symbol = "main"}} {{
          %o = relax.dataflow -> ({y}) {{
            %m = relax.matmul %x, %w : ({x}, {w}) -> {y}
            %s = relax.add %m, %b : ({y}, tensor<{bias}xf32>) -> {y}
            %r = {behind.format(y)}
            relax.output %r : {y}
          }}
          relax.return %o : {y}
        }}
        """
    )
    for each in parse_passes(all_passes(), FUSION):
        each.apply(new_context(), module)
    return module


def blocks_around(module: ModuleOp, name: str) -> list[list[str]]:
    """For each block of that name, the names of the blocks around it."""
    return [
        [a.block_name.data for a in ancestors(op) if isinstance(a, tir.BlockOp)]
        for op in module.walk()
        if isinstance(op, tir.BlockOp) and op.block_name.data == name
    ]


def ancestors(op: Operation) -> list[Operation]:
    found = list[Operation]()
    while (parent := op.parent_op()) is not None:
        found.append(parent)
        op = parent
    return found


@pytest.mark.parametrize(
    ("rows", "terms", "columns", "bias"),
    [
        (12, 16, 16, "16"),
        (13, 9, 21, "21"),
        (9, 770, 4, "9x1"),
        (9, 10, 12, "9x12"),
    ],
)
def test_the_map_is_part_of_the_tile(
    rows: int, terms: int, columns: int, bias: str
) -> None:
    module = fused(rows, terms, columns, bias, "relax.nn.relu %s : ({0}) -> {0}")
    schedule = DefaultCPUSchedule(vector_bytes=16)
    check_semantics(module, [schedule], tolerance=1e-4)
    schedule.apply(new_context(), module)
    found = blocks_around(module, "relu")
    assert found
    assert all("tile" in names for names in found)


def test_other_maps_follow_the_product() -> None:
    # A transposition does not store where it reads.
    module = fused(12, 16, 12, "12", "relax.permute_dims %s : ({0}) -> {0}")
    schedule = DefaultCPUSchedule(vector_bytes=16)
    check_semantics(module, [schedule])
    schedule.apply(new_context(), module)
    found = blocks_around(module, "T_transpose")
    assert not any("tile" in names for names in found)
