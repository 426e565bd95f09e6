"""StaticPlanBlockMemory: plans of written and of random functions are safe and small."""

from __future__ import annotations

import os
import random
from itertools import combinations

import pytest
from support import paths
from support.effort import calls
from support.ir import parse
from support.relax_memory_programs import BOUND, check_plan, kernel, random_function
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import maximum, minimum
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes import relax as transforms
from xdsl_tvm.passes.infra import Sequential
from xdsl_tvm.passes.relax import (
    CallTIRRewrite,
    KillAfterLastUse,
    LegalizeOps,
    LowerAllocTensor,
    ToNonDataflow,
    VerifyMemoryPlan,
)
from xdsl_tvm.passes.relax._memory_plan.packing import Block, pack
from xdsl_tvm.passes.relax._memory_plan.sizes import UpperBounds
from xdsl_tvm.passes.relax.report_memory_plan import MemoryReport, memory_reports
from xdsl_tvm.passes.relax.static_plan_block_memory import StaticPlanBlockMemory
from xdsl_tvm.runtime.executable import load_module

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "2"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
DIGITS = paths.EXAMPLES / "digits" / "model.mlir"


def function(module: ModuleOp) -> relax.FuncOp:
    (found,) = (op for op in module.ops if isinstance(op, relax.FuncOp))
    return found


STRATEGIES = (
    StaticPlanBlockMemory(),
    StaticPlanBlockMemory(strategy="arena"),
    StaticPlanBlockMemory(strategy="arena", alignment=1),
    StaticPlanBlockMemory(strategy="one-arena", alignment=256),
    StaticPlanBlockMemory(strategy="arena", alignment=1, share_results=True),
)
VERIFY = VerifyMemoryPlan()


@pytest.mark.parametrize("plan", STRATEGIES, ids=str)
@pytest.mark.parametrize("is_bounded", [False, True])
def test_plans_of_random_functions_are_safe(
    plan: StaticPlanBlockMemory, is_bounded: bool
):
    shared = 0
    for seed in range(FIRST, FIRST + COUNT):
        planned = plan(random_function(seed, is_bounded=is_bounded))
        planned.verify()
        VERIFY(LowerAllocTensor()(planned))
        for way in range(4):
            shared += check_plan(function(planned), random.Random(way))
        assert str(plan(planned)) == str(planned)
    assert shared > COUNT


@pytest.mark.parametrize("plan", [STRATEGIES[0], *STRATEGIES[3:]], ids=str)
def test_random_functions_compute_the_same(plan: StaticPlanBlockMemory):
    passes = [plan, ToNonDataflow(), LowerAllocTensor(), KillAfterLastUse(), VERIFY]
    for seed in range(FIRST, FIRST + COUNT):
        module = random_function(seed, is_bounded=True)
        report = check_semantics(module, passes, externs={"kernel": kernel}, runs=1)
        assert report.checked == ["main"]


def test_lives_may_end_before_memory_is_planned():
    """As good a plan as otherwise, which computes the same."""
    last = (STRATEGIES[1], LowerAllocTensor(), VERIFY, KillAfterLastUse())
    other = Sequential([ToNonDataflow(), *last])
    ended = Sequential([ToNonDataflow(), KillAfterLastUse(), *last])
    for seed in range(FIRST, FIRST + COUNT):
        module = random_function(seed, is_bounded=True)
        report = check_semantics(module, [ended], externs={"kernel": kernel}, runs=1)
        assert report.checked == ["main"]
        assert memory_reports(ended(module)) == memory_reports(other(module))


def bytes_at_most(report: MemoryReport) -> int:
    return report.planned.evaluate({"n": BOUND})


def test_arenas_are_never_larger():
    """Nor smaller than what is alive at once; on the whole they are clearly smaller."""
    strategies = (*STRATEGIES[:3], STRATEGIES[4])
    totals = [0] * len(strategies)
    for seed in range(FIRST, FIRST + COUNT):
        module = random_function(seed, is_bounded=seed % 2 == 0)
        plans = [plan(module) for plan in strategies]
        reports = [memory_reports(planned)[0] for planned in plans]
        sizes = [bytes_at_most(report) for report in reports]
        assert max(sizes[1:]) <= sizes[0]
        alive = reports[0].alive
        assert alive is None or alive <= min(sizes)
        totals = [total + size for total, size in zip(totals, sizes, strict=True)]
    assert totals[3] <= totals[2] < totals[0]


def test_one_arena_is_aligned():
    """Whatever values symbols have: offsets are multiples of the alignment."""
    for seed in range(COUNT):
        planned = STRATEGIES[3](random_function(seed, is_bounded=False))
        for op in planned.walk():
            if isinstance(op, relax.AllocTensorFromStorageOp):
                offset = op.offset.data
                for value in (1, 7, 64):
                    names = offset.symbols()
                    assert not offset.evaluate(dict.fromkeys(names, value)) % 256


def random_blocks(rng: random.Random) -> list[Block]:
    starts = [rng.randrange(40) for _ in range(rng.randrange(1, 14))]
    return [
        Block(
            start, start + rng.randrange(12), rng.randrange(0, 200), rng.choice((1, 64))
        )
        for start in starts
    ]


def test_packed_blocks_are_apart():
    rng = random.Random(0)
    for _ in range(COUNT * 10):
        blocks = random_blocks(rng)
        offsets = pack(blocks)
        assert offsets is not None
        assert offsets.keys() == set(blocks)
        assert all(offset % block.alignment == 0 for block, offset in offsets.items())
        for one, other in combinations(blocks, 2):
            if one.start <= other.end and other.start <= one.end:
                assert (
                    offsets[one] + one.size <= offsets[other]
                    or offsets[other] + other.size <= offsets[one]
                )


def test_packed_blocks_stay_within_ranges():
    rng = random.Random(0)
    ranges = [(100, 128), (300, 320)]
    for _ in range(COUNT * 10):
        blocks = random_blocks(rng)
        offsets = pack([*blocks, Block(30, 99, 172, 1, place=128)], ranges)
        assert offsets is not None
        for block in blocks:
            low, high = offsets[block], offsets[block] + block.size
            assert high <= 100 or (low >= 128 and high <= 300) or low >= 320
            if block.end >= 30 and block.size:
                assert high <= 128 or low >= 300


def test_too_many_at_once_are_not_packed():
    assert pack([Block(0, 9, 4, 1) for _ in range(600)]) is None


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (StaticPlanBlockMemory(strategy="best"), "no strategy 'best'; choose one of"),
        (StaticPlanBlockMemory(alignment=48), "alignment 48 is no power of two"),
        (StaticPlanBlockMemory(alignment=0), "alignment 0 is no power of two"),
    ],
)
def test_options_are_checked(plan: StaticPlanBlockMemory, message: str):
    with pytest.raises(PassFailedException, match=message):
        plan(random_function(0, is_bounded=False))


def test_verification_finds_what_is_moved():
    """Tensors of packed plans are moved; what is not safe any more is found."""
    rng = random.Random(0)
    found = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = random_function(seed, is_bounded=True)
        planned = StaticPlanBlockMemory(strategy="arena", alignment=1)(module)
        allocs = [
            op for op in planned.walk() if isinstance(op, relax.AllocTensorFromStorageOp)
        ]
        for alloc in rng.sample(allocs, 3):
            before = alloc.offset
            alloc.offset = relax.DimAttr(relax.Dim.constant(rng.randrange(0, 400, 4)))
            if not is_safe(planned):
                found += 1
                with pytest.raises(PassFailedException, match=r"may overlap|make the"):
                    VERIFY(planned)
            alloc.offset = before
    assert found > COUNT // 2


def is_safe(module: ModuleOp) -> bool:
    try:
        for way in range(8):
            check_plan(function(module), random.Random(way))
    except AssertionError:
        return False
    return True


def test_checker_finds_lives_that_overlap():
    module = parse(
        "func.func private @use()\n"
        "relax.func impure @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        '%s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : '
        "!relax.object\n"
        "%a = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<4xf32>\n"
        "%b = relax.alias %a : tensor<4xf32> -> tensor<4xf32>\n"
        "%c = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<4xf32>\n"
        "relax.call impure @use(%b) : (tensor<4xf32>) -> ()\n"
        "relax.return %x : tensor<4xf32>\n}"
    )
    with pytest.raises(AssertionError, match="two tensors are alive on the same bytes"):
        check_plan(function(module), random.Random(0))


def random_dim(rng: random.Random, depth: int) -> relax.Dim:
    if depth == 0:
        return relax.Dim.of(rng.choice(("n", "m", "k", 1, 2, 5)))
    lhs, rhs = random_dim(rng, depth - 1), random_dim(rng, depth - 1)
    match rng.randrange(7):
        case 0 | 1:
            return lhs + rhs
        case 2:
            return lhs * rhs
        case 3:
            return lhs - rhs
        case 4:
            return lhs // rng.randrange(1, 5)
        case 5:
            return minimum(lhs, rhs)
        case _:
            return maximum(lhs, rhs)


def test_upper_bounds_hold():
    rng = random.Random(0)
    for _ in range(300):
        dim = random_dim(rng, 3)
        bound = UpperBounds({"n": 4, "m": 7}).of(dim)
        for _ in range(20):
            values = {"n": rng.randrange(5), "m": rng.randrange(8), "k": rng.randrange(9)}
            extent = dim.evaluate(values)
            # An extent is not negative; other values do not occur.
            assert extent < 0 or extent <= bound.evaluate(values), (dim, bound, values)


def test_bounds_are_constants_where_all_symbols_have_one():
    rng = random.Random(1)
    upper = UpperBounds({"n": 4, "m": 7, "k": 9})
    assert all(upper.of(random_dim(rng, 3)).value is not None for _ in range(100))


def planned_bytes(module: ModuleOp) -> int:
    storages = [op for op in module.walk() if isinstance(op, relax.AllocStorageOp)]
    return sum(storage.size.data.evaluate({"batch": 1, "n": 1}) for storage in storages)


def test_model_runs_on_less_memory():
    to_calls = (LegalizeOps(), ToNonDataflow(), CallTIRRewrite())
    calls = Sequential([*to_calls])(load_module(DIGITS))
    check_semantics(calls, [StaticPlanBlockMemory(), LowerAllocTensor()])
    planned = Sequential([StaticPlanBlockMemory(), LowerAllocTensor()])(calls)
    assert planned_bytes(planned) < planned_bytes(LowerAllocTensor()(calls))


def test_functions_are_planned_for_their_own_bounds():
    text = "".join(
        f"relax.func @f{bound}<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> "
        f"tensor<?xf32> attributes {{tir_var_upper_bound = {{n = {bound} : i64}}}} {{\n"
        '%a = relax.builtin.alloc_tensor on 0 scope "global" : '
        "tensor<?xf32, #relax.dims<[n]>>\n"
        "relax.return %x : tensor<?xf32, #relax.dims<[n]>>\n}\n"
        for bound in (3, BOUND)
    )
    planned = StaticPlanBlockMemory()(parse(text))
    sizes = [
        op.size.data for op in planned.walk() if isinstance(op, relax.AllocStorageOp)
    ]
    assert [size.value for size in sizes] == [12, 4 * BOUND]


def test_operators_that_are_not_lowered_hold_nothing_to_plan(
    capsys: pytest.CaptureFixture[str],
):
    # The example of the pass's page: there is no allocation yet.
    mod = parse(
        "relax.func @main(%x: tensor<1x64x56x56xf32>) -> tensor<1x2x56x56xf32> {\n"
        "%weight = relax.constant dense<0.5> : tensor<2x64x1x1xf32>\n"
        "%conv1 = relax.nn.conv2d %x, %weight strides [1, 1] padding [0, 0, 0, 0] "
        'dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : '
        "(tensor<1x64x56x56xf32>, tensor<2x64x1x1xf32>) -> tensor<1x2x56x56xf32>\n"
        "%relu1 = relax.nn.relu %conv1 : "
        "(tensor<1x2x56x56xf32>) -> tensor<1x2x56x56xf32>\n"
        "relax.return %relu1 : tensor<1x2x56x56xf32>\n}"
    )
    mod_optimized = transforms.StaticPlanBlockMemory()(mod)
    print(mod_optimized)
    assert "relax.nn.conv2d" in capsys.readouterr().out
    assert mod.is_structurally_equivalent(mod_optimized)


def chain_of(count: int) -> ModuleOp:
    t = "tensor<4xf32>"
    lines = [f"relax.func impure @main(%v0: {t}) -> {t} {{"]
    for index in range(1, count):
        lines += [
            f'%v{index} = relax.builtin.alloc_tensor on 0 scope "global" : {t}',
            f'relax.call_packed "kernel"(%v{index - 1}, %v{index}) : ({t}, {t}) -> ()',
        ]
    return parse("\n".join([*lines, f"relax.return %v0 : {t}", "}"]))


def test_effort_is_linear():
    plan = Sequential([StaticPlanBlockMemory(strategy="arena"), VERIFY])
    short, long = (
        calls(lambda module=module: plan(module)) for module in map(chain_of, (50, 200))
    )
    assert long < short * 5
