"""Rules that lower calls of builtins for a target, and the registry of them.

docs/spec/tir-passes-d-abi-and-pipelines.md, "LowerIntrin".

A rule is a function of an `IntrinsicCall`. It returns the tree of what replaces the call,
or the call itself where it does not apply:

    from xdsl_tvm.analysis.arith.expr import Expr
    from xdsl_tvm.passes.tir.intrinsics import IntrinsicCall, register_intrin_lowering

    @register_intrin_lowering("tir.rsqrt", "llvm", level=11)
    def rsqrt(call: IntrinsicCall) -> Expr:
        return call.extern("my_rsqrt", *call.args)
"""

from xdsl_tvm.passes.tir.intrinsics import common_rules, cpu_rules, gpu_rules
from xdsl_tvm.passes.tir.intrinsics.registry import (
    IntrinsicCall,
    Rule,
    register_intrin_lowering,
    rules_for,
    tables_of,
    unregister_intrin_lowering,
)

__all__ = [
    "IntrinsicCall",
    "Rule",
    "register_intrin_lowering",
    "rules_for",
    "tables_of",
    "unregister_intrin_lowering",
]

common_rules.register()
cpu_rules.register()
gpu_rules.register()
