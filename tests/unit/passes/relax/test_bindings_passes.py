"""Passes over the bindings of Relax functions: options, effort, and TVM's call form."""

from __future__ import annotations

import os

import pytest
from support.effort import calls
from support.ir import parse
from support.relax_modules import random_relax_module
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass, PassContext, Sequential
from xdsl_tvm.passes.relax import (
    CanonicalizeBindings,
    CanonicalizeRelaxBindings,
    CanonicalizeTIRVariables,
    ConvertToDataflow,
    DeadCodeElimination,
    EliminateCommonSubexpr,
    Normalize,
    ToNonDataflow,
    TopologicalSort,
)
from xdsl_tvm.registry import new_context

COUNT = 12 if "XDSL_TVM_FUZZ" in os.environ else 3
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
SEEDS = range(FIRST, FIRST + COUNT)
"""Of the random modules."""

CHAIN = """
%a{i} = relax.alias %b{j} : !t -> !t
%c{i} = relax.nn.relu %a{i} : (!t) -> !t
%d{i} = relax.nn.relu %a{i} : (!t) -> !t
%t{i} = relax.tuple(%c{i}, %d{i}) : !t, !t
%e{i} = relax.get_item %t{i}[1] : !relax.tuple<!t, !t> -> !t
%b{i} = relax.dataflow -> (!t) {{
  %f{i} = relax.add %e{i}, %x : (!t, !t) -> !t
  %g{i} = relax.add %f{i}, %f{i} : (!t, !t) -> !t
  relax.output %f{i} : !t
}}
"""


def chain(count: int) -> str:
    body = "".join(CHAIN.format(i=i + 1, j=i) for i in range(count))
    return (
        "!t = tensor<4xf32>\nrelax.func @main(%x: !t) -> !t "
        'attributes {global_symbol = "main"} {\n'
        f"%b0 = relax.nn.relu %x : (!t) -> !t\n{body}relax.return %b{count} : !t }}"
    )


@pytest.mark.parametrize(
    "one",
    [
        CanonicalizeBindings(),
        ConvertToDataflow(),
        EliminateCommonSubexpr(),
        Normalize(),
        TopologicalSort(),
        Sequential([ConvertToDataflow(), TopologicalSort("breadth-first")]),
    ],
    ids=str,
)
def test_time_is_linear(one: ModulePass) -> None:
    context = new_context()

    def effort(count: int) -> int:
        module = parse(chain(count))
        return calls(lambda: one.apply(context, module))

    assert effort(40) < 4.5 * effort(10)


@pytest.mark.parametrize(
    "one",
    [CanonicalizeBindings(), CanonicalizeRelaxBindings(), CanonicalizeTIRVariables()],
    ids=str,
)
def test_what_is_canonical_stays(one: CompilerPass) -> None:
    for seed in SEEDS:
        once = one(random_relax_module(seed))
        once.verify()
        assert str(one(once)) == str(once), seed


def test_canonical_bindings_have_no_names() -> None:
    """Nothing is left of what the pass removes."""
    for seed in SEEDS:
        result = CanonicalizeBindings()(random_relax_module(seed))
        for op in result.walk():
            if isinstance(op, relax.AliasOp | relax.MatchCastOp):
                assert op.result.type != op.value.type
            if isinstance(op, relax.DataflowOp):
                values = op.output_op.values
                assert len(set(values)) == len(values)
                assert all(output.first_use is not None for output in op.outputs)
                for value in values:
                    assert isinstance(value.owner, Operation)
                    assert value.owner.parent is op.body.block


def test_equal_bindings_are_gone_after_one_run() -> None:
    one = EliminateCommonSubexpr()
    for seed in SEEDS:
        once = one(random_relax_module(seed))
        assert str(one(once)) == str(once), seed


def test_a_dataflow_block_holds_all_of_a_pure_function() -> None:
    """What is there before makes no difference for the bindings."""
    for seed in SEEDS:
        module = random_relax_module(seed, impure=False)
        blocks = ConvertToDataflow(1)(module)
        flat = ConvertToDataflow(1)(ToNonDataflow()(module))
        clean = Sequential([DeadCodeElimination(), ToNonDataflow()])
        assert str(clean(blocks)) == str(clean(flat)), seed
        for op in blocks.walk():
            following = op.next_op
            if isinstance(op, relax.DataflowOp):
                assert not isinstance(following, relax.DataflowOp)


def test_no_dataflow_block_is_beside_or_in_another() -> None:
    for seed in SEEDS:
        result = Normalize()(random_relax_module(seed))
        for op in result.walk():
            if isinstance(op, relax.DataflowOp):
                assert not isinstance(op.next_op, relax.DataflowOp)
                assert not isinstance(op.parent_op(), relax.DataflowOp)
                assert op.body.block.first_op is not op.output_op
        assert str(Normalize()(result)) == str(result)


def test_sorting_twice_is_sorting_once() -> None:
    one = TopologicalSort(direction="from-outputs")
    for seed in SEEDS:
        once = one(random_relax_module(seed))
        assert str(one(once)) == str(once)


def test_bad_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="order must be one of depth-first, breadth-f"):
        TopologicalSort("sideways")
    with pytest.raises(ValueError, match="direction must be one of from-inputs, from-"):
        TopologicalSort("depth-first", "from-above")


def test_levels() -> None:
    """As in TVM, canonical forms and common subexpressions are of level 1."""
    module = parse(chain(2))
    passes = (EliminateCommonSubexpr(), CanonicalizeBindings())
    with PassContext(opt_level=0):
        assert str(Sequential(passes)(module)) == str(module)
    assert str(Sequential(passes)(module)) != str(module)
