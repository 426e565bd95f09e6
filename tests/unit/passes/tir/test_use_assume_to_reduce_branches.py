"""Padding in several dimensions, which UseAssumeToReduceBranches finds to be neutral."""

from __future__ import annotations

import pytest

from xdsl_tvm import tvmscript
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir import UseAssumeToReduceBranches

# What is stored is zero, which only the assumption says.
KERNEL = """
@T.prim_func
def main(X: T.Buffer((2, 24), "int32"), Z: T.Buffer((2, 24), "int32")):
    T.func_attr({{"op_pattern": {pattern}, "tir.noalias": T.bool({noalias})}})
    for i, j in T.grid(2, 24):
        if {padding}:
            X[i, j] = X[i, j] % 2 * ((X[i, j] + 1) % 2)
    for i, j in T.grid(2, 24):
        {block}
            {axes}
            T.assume({assumed} or X[i, j] == 0)
    for i, j in T.grid(2, 24):
        {block}
            {axes}
            Z[i, j] = T.if_then_else({padding}, 0, X[i, j] * 4)
"""
CASES = [
    ("j < 20", "20 <= j"),
    ("not (20 <= j)", "20 <= j"),
    ("not (i == 1 and 20 <= j)", "i == 1 and 20 <= j"),
    ("(i < 1 or j < 20)", "1 <= i and 20 <= j"),
    ("(i != 1 or j < 20)", "i == 1 and 20 <= j"),
    ("not (1 <= i and 2 <= j and j < 10)", "1 <= i and 2 <= j and j < 10"),
    ("not (i == 1 and j % 4 == 3)", "i == 1 and j % 4 == 3"),
    ("not (i == 1 or 20 <= j)", "i == 1 or 20 <= j"),
    ("(i < 1 and j < 20)", "1 <= i or 20 <= j"),
]
"""What is assumed of elements that are not zero, and where the choice takes zero."""


def kernel(
    assumed: str,
    padding: str,
    *,
    in_blocks: bool,
    pattern: int = 0,
    noalias: bool = True,
) -> str:
    text = KERNEL.format(
        assumed=assumed,
        padding=padding,
        block="with T.block():" if in_blocks else "if True:",
        axes='vi, vj = T.axis.remap("SS", [i, j])' if in_blocks else "pass",
        pattern=pattern,
        noalias=noalias,
    )
    if not in_blocks:
        return text.replace("            pass\n", "")
    head, *nests = text.split("with T.block():")
    nests = [
        nest.replace("i, j]", "vi, vj]")
        .replace("[vi, vj])\n", "[i, j])\n")
        .replace(assumed, _of_axes(assumed))
        .replace(f"({padding},", f"({_of_axes(padding)},")
        for nest in nests
    ]
    return "with T.block():".join([head, *nests])


def _of_axes(condition: str) -> str:
    return " ".join(
        word.replace("i", "vi") if word.strip("(") == "i" else word
        for word in condition.replace("j", "vj").split()
    )


def choices(text: str) -> int:
    """How many choices are left; what they compute is compared, too."""
    module = tvmscript.parse(text)
    reduce = UseAssumeToReduceBranches()
    report = check_semantics(module, (reduce,), runs=2, tolerance=0.0)
    assert report.checked
    return sum(isinstance(op, tir.IfThenElseOp) for op in reduce(module).walk())


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize(("assumed", "padding"), CASES)
def test_conditions_of_padding(assumed: str, padding: str, *, in_blocks: bool) -> None:
    assert choices(kernel(assumed, padding, in_blocks=in_blocks)) == 0
    assert choices(kernel(assumed, padding, in_blocks=in_blocks, pattern=1)) == 0


@pytest.mark.parametrize("in_blocks", [False, True])
def test_what_is_assumed_of_less_is_not_enough(*, in_blocks: bool) -> None:
    """One condition of a conjunction says nothing without the other one."""
    text = kernel("not (i == 1 and 20 <= j)", "20 <= j", in_blocks=in_blocks)
    assert choices(text) == 1
    text = kernel("not (i == 1 and 20 <= j)", "i == 1 or 20 <= j", in_blocks=in_blocks)
    assert choices(text) == 1


@pytest.mark.parametrize("in_blocks", [False, True])
def test_without_noalias_the_result_may_be_the_padding(*, in_blocks: bool) -> None:
    """An earlier iteration may write an assumed element through the other parameter."""
    text = kernel("j < 20", "20 <= j", in_blocks=in_blocks, noalias=False)
    assert choices(text) == 1
