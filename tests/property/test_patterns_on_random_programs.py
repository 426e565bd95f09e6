"""Patterns of random programs, fused and rewritten, keep what the programs compute.

The patterns are parts of the programs themselves, so that most of them match, at several
places and across each other. `XDSL_TVM_FUZZ` sets the number of programs.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
from support.relax_modules import EXTERNS, random_relax_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from xdsl_tvm import relax as R
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra import PassContext, module_pass
from xdsl_tvm.passes.relax.convert_to_dataflow import ConvertToDataflow
from xdsl_tvm.passes.relax.fuse_ops_by_pattern import FuseOpsByPattern
from xdsl_tvm.passes.relax.merge_composite_functions import MergeCompositeFunctions
from xdsl_tvm.relax import dpl, expr_functor

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "2"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def pattern_of(value: SSAValue, depth: int, rng: random.Random) -> dpl.DFPattern:
    """A pattern of what computes a value, and of what that is computed of."""
    op = value.owner
    if isinstance(op, relax.OperatorOp) and depth > 0:
        parts = [pattern_of(operand, depth - 1, rng) for operand in op.operands]
        return dpl.is_op(op.name)(*parts)
    if isinstance(op, relax.GetItemOp) and depth > 0:
        whole = pattern_of(op.tuple_value, depth - 1, rng)
        return dpl.is_tuple_get_item(whole, op.index.value.data)
    if isinstance(op, relax.ConstantOp) and rng.random() < 0.5:
        return dpl.is_const()
    return dpl.wildcard()


def patterns_of(module: ModuleOp, rng: random.Random) -> list[tuple[str, dpl.DFPattern]]:
    """Some patterns of calls in dataflow blocks."""
    program = ConvertToDataflow()(module)
    values = [
        op.results[0]
        for op in program.walk()
        if isinstance(op, relax.OperatorOp)
        and isinstance(op.parent_op(), relax.DataflowOp)
    ]
    chosen = rng.sample(values, min(4, len(values)))
    return [
        (f"{rng.choice(('one', 'two'))}.{index}", pattern_of(value, 3, rng))
        for index, value in enumerate(chosen)
    ]


def test_fused_programs_compute_the_same() -> None:
    fused = merged = 0
    for seed in range(FIRST, FIRST + COUNT):
        rng = random.Random(seed)
        program = random_relax_module(seed, impure=seed % 2 == 1)
        patterns = patterns_of(program, rng)
        if not patterns:
            continue
        bind, annotate = (rng.random() < 0.5 for _ in range(2))
        fusions = FuseOpsByPattern(patterns, bind, annotate), FuseOpsByPattern(patterns)
        ways = (fusions[:1], (fusions[1], MergeCompositeFunctions()))
        for way in ways:
            passes: list[ModulePass] = [ConvertToDataflow(), *way]
            report = check_semantics(program.clone(), passes, seed=seed, externs=EXTERNS)
            assert "main" in report.checked
        result = FuseOpsByPattern(patterns)(ConvertToDataflow()(program))
        result.verify()
        fused += _with_attribute(result, "Composite")
        merged += _with_attribute(MergeCompositeFunctions()(result), "Codegen")
    assert fused >= COUNT
    assert merged >= COUNT // 2


def _with_attribute(module: ModuleOp, name: str) -> int:
    return sum(name in op.attributes for op in module.ops)


def _negated(orig: R.Expr, matched: dict[dpl.DFPattern, R.Expr]) -> R.Expr:
    lhs, rhs = (matched[each] for each in (X, Y))
    return R.op.subtract(lhs, R.op.negative(rhs))


X, Y = dpl.wildcard(), dpl.wildcard()


def _rewrite_call(module: ModuleOp) -> ModuleOp:
    return dpl.rewrite_call(dpl.is_op("relax.add")(X, Y), _negated, module)


def _rewrite_field(module: ModuleOp) -> ModuleOp:
    """A field of a tuple becomes what it was made of."""
    fields = [dpl.wildcard() for _ in range(2)]
    pattern = dpl.is_tuple_get_item(dpl.is_tuple(fields), 1)
    return dpl.rewrite_call(pattern, lambda _, matched: matched[fields[1]], module)


def _rewrite_bindings(module: ModuleOp) -> ModuleOp:
    """Two sums that have an operand in common, replaced together."""
    others = [dpl.wildcard() for _ in range(2)]
    with dpl.PatternContext() as context:
        sums = [dpl.is_op("relax.add")(X, other) for other in others]

    def differences(
        matched: dict[dpl.DFPattern, R.Expr], bindings: dict[R.Expr, R.Expr]
    ) -> dict[R.Expr, R.Expr]:
        assert all(matched[each] in bindings for each in sums)
        return {
            matched[total]: R.op.subtract(matched[X], R.op.negative(matched[other]))
            for total, other in zip(sums, others, strict=True)
        }

    return dpl.rewrite_bindings(context, differences, ConvertToDataflow()(module))


def _mutate(module: ModuleOp) -> ModuleOp:
    mutator = expr_functor.PyExprMutator(module)
    for op in module.ops:
        if isinstance(op, relax.FuncOp):
            mutator.builder_.update_func(op.sym_name.data, mutator.visit_expr(op))
    return mutator.builder_.get()


@pytest.mark.parametrize(
    "change", [_rewrite_call, _rewrite_field, _rewrite_bindings, _mutate]
)
def test_rewritten_programs_compute_the_same(
    change: Callable[[ModuleOp], ModuleOp],
) -> None:
    def run(module: ModuleOp, context: PassContext) -> ModuleOp:
        return change(module)

    for seed in range(FIRST, FIRST + COUNT):
        program = random_relax_module(seed, impure=seed % 2 == 1)
        way = [module_pass(run, opt_level=0, name="change")]
        report = check_semantics(program.clone(), way, seed=seed, externs=EXTERNS)
        assert "main" in report.checked


class _Bindings(expr_functor.PyExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found = list[Operation]()

    def visit_var_binding_(self, binding: expr_functor.VarBinding) -> None:
        value = binding.var.value
        if isinstance(value, OpResult):
            self.found.append(value.op)
        super().visit_var_binding_(binding)


def test_a_visitor_sees_every_binding() -> None:
    for seed in range(FIRST, FIRST + COUNT):
        program = random_relax_module(seed)
        visitor = _Bindings()
        wanted = list[Operation]()
        for func in program.ops:
            if isinstance(func, relax.FuncOp):
                visitor.visit_expr(func)
                wanted += [op for op in func.walk() if isinstance(op, relax.OperatorOp)]
        assert {*wanted} <= {*visitor.found}
