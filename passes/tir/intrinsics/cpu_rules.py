"""The rules of `llvm` and `hexagon`: intrinsics of LLVM."""

from __future__ import annotations

import math
from typing import Final

from xdsl.dialects.builtin import i1

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Const, Expr
from xdsl_tvm.passes.tir.intrinsics.common_rules import (
    add_rules,
    exp,
    sigmoid,
    sine_by_cosine,
    stable_tanh,
)
from xdsl_tvm.passes.tir.intrinsics.registry import (
    LEGALIZE,
    LOWER,
    IntrinsicCall,
    Rule,
    add_rule,
)

_UNARY: Final = "floor ceil trunc fabs round nearbyint exp log sqrt cos sin"


def register() -> None:
    """Add the rules of the targets for CPUs."""
    table = f"llvm.{LOWER}"
    add_rules(table, f"{_UNARY} exp2 log2 log10", llvm_intrinsic(1))
    add_rule(table, "popcount", llvm_intrinsic(1, "ctpop"))
    add_rule(table, "pow", llvm_intrinsic(2))
    add_rule(table, "fma", llvm_intrinsic(3, "fmuladd"))
    add_rule(table, "prefetch", _prefetch)
    add_rule(table, "tanh", stable_tanh)
    table = f"llvm.{LEGALIZE}"
    add_rule(table, "exp10", _exp10)
    add_rule(table, "tan", sine_by_cosine)
    add_rule(table, "cosh", _cosh)
    add_rule(table, "sinh", _sinh)
    add_rule(table, "clz", _clz)
    table = f"hexagon.{LOWER}"
    add_rules(table, _UNARY, llvm_intrinsic(1))
    add_rule(table, "pow", llvm_intrinsic(2))
    add_rule(table, "fma", llvm_intrinsic(3))
    add_rule(table, "tanh", stable_tanh)
    add_rule(table, "tan", sine_by_cosine)
    add_rule(table, "sigmoid", sigmoid)


def llvm_intrinsic(signature: int, name: str | None = None) -> Rule:
    """The rule for a pure intrinsic, which has the name of the builtin by default."""

    def rule(call: IntrinsicCall) -> Expr:
        return call.llvm(f"llvm.{name or call.name}", signature, *call.args)

    return rule


def _prefetch(call: IntrinsicCall) -> Expr:
    return call.llvm("llvm.prefetch", 4, *call.args, pure=False)


def _exp10(call: IntrinsicCall) -> Expr:
    (x,) = call.args
    return exp(smart.mul(x, math.log(10)))


def _cosh(call: IntrinsicCall) -> Expr:
    (x,) = call.args
    return smart.truncdiv(smart.add(exp(x), exp(smart.mul(-1, x))), 2)


def _sinh(call: IntrinsicCall) -> Expr:
    (x,) = call.args
    return smart.truncdiv(smart.sub(exp(x), exp(smart.mul(-1, x))), 2)


def _clz(call: IntrinsicCall) -> Expr:
    (x,) = call.args
    zero_is_defined = Const(0, i1)
    zeros = call.llvm("llvm.ctlz", 2, x, zero_is_defined, dtype=x.dtype, pure=False)
    return smart.cast(call.dtype, zeros)
