"""Constants of custom dtypes: scripts make them, and algebra takes them for variables.

Every pass that looked at a `tir.const` of such a dtype ended in an internal error.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xdsl_tvm.analysis.structural_equal import structural_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir import CommonSubexprElimTIR, Simplify
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse, print_script

SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), "custom[posit]8"), B: T.Buffer((8,), "custom[posit]8")):
        for i in range(8):
            B[i] = -A[i] + T.FloatImm("custom[posit]8", 3.0)
"""


def values(module: ModuleOp) -> list[float]:
    return [
        op.value.value.value.data
        for op in module.walk()
        if isinstance(op, tir.ConstOp) and isinstance(op.value, tir.CustomValueAttr)
    ]


def test_scripts_read_print_and_read_constants():
    module = parse(SCRIPT)
    assert values(module) == [-1.0, 3.0]
    assert structural_equal(parse(print_script(module)), module)


def test_constants_are_not_folded():
    folded = SCRIPT.replace("-A[i]", 'T.FloatImm("custom[posit]8", 2.0)')
    assert values(parse(folded)) == [2.0, 3.0]


def test_passes_keep_them():
    for one in (Simplify(), CommonSubexprElimTIR()):
        assert values(one(parse(SCRIPT))) == [-1.0, 3.0]
    text = str(parse(SCRIPT))
    assert values(Parser(new_context(), text).parse_module()) == [-1.0, 3.0]
