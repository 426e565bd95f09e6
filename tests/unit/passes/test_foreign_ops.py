"""Every pass accepts modules that hold no op of ours, and ops that nobody knows."""

from __future__ import annotations

import os
from functools import cache

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.registry import all_passes, new_context

MODULES = {
    "empty": "builtin.module {\n}",
    "nested and empty": "builtin.module @inner {\n}\nbuiltin.module {\n}",
    "declarations": "func.func private @f(i32, memref<4xf32>) -> f32",
    "arith": """
        func.func @f(%a: i32, %b: f32, %p: i1) -> i32 {
          %c = arith.constant 3 : i32
          %d = arith.floordivsi %a, %c : i32
          %e = arith.addf %b, %b fastmath<fast> : f32
          %g = arith.fptosi %e : f32 to i32
          %h = arith.select %p, %d, %g : i32
          func.return %h : i32
        }""",
    "loops and memory": """
        "memref.global"() <{
          sym_name = "table", sym_visibility = "private", constant,
          type = memref<4xf32>, alignment = 64 : i64,
          initial_value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
        }> : () -> ()
        func.func @f(%A: memref<4xf32>, %n: index) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %t = memref.get_global @table : memref<4xf32>
          %s = memref.alloca() : memref<4xf32>
          scf.for %i = %c0 to %n step %c1 {
            %x = memref.load %t[%i] : memref<4xf32>
            %y = math.exp %x : f32
            memref.store %y, %s[%i] : memref<4xf32>
            memref.store %y, %A[%i] : memref<4xf32>
          }
          func.call @f(%A, %n) : (memref<4xf32>, index) -> ()
          func.return
        }""",
    "blocks": """
        func.func @f(%p: i1, %a: i32) -> i32 {
          cf.cond_br %p, ^bb1(%a : i32), ^bb2
        ^bb1(%x: i32):
          func.return %x : i32
        ^bb2:
          cf.br ^bb1(%a : i32)
        }""",
    "tensors": """
        func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
          %b = tensor.empty() : tensor<4xf32>
          %c = linalg.add ins(%a, %a : tensor<4xf32>, tensor<4xf32>)
            outs(%b : tensor<4xf32>) -> tensor<4xf32>
          func.return %c : tensor<4xf32>
        }""",
    "test ops": """
        %0 = "test.op"() {flag, n = 3 : i64} : () -> i32
        %1, %2 = "test.op"(%0) ({
          %3 = "test.op"(%0) : (i32) -> f32
          "test.termop"() : () -> ()
        }, {
        ^bb0(%x: index):
          "test.termop"()[^bb1] : () -> ()
        ^bb1:
          "test.termop"() : () -> ()
        }) : (i32) -> (tensor<?xf32>, !test.type<"t">)""",
    "unknown ops": """
        "strange.module"() ({
          %0 = "strange.constant"() {value = #strange.value<1>} : () -> !strange.type
          "strange.loop"(%0) ({
          ^bb0(%i: i32):
            %1 = "strange.use"(%i, %0) : (i32, !strange.type) -> i32
            "strange.end"() : () -> ()
          }) : (!strange.type) -> ()
        }) {sym_name = "s"} : () -> ()
        func.func @f(%a: i32) {
          "strange.op"(%a) : (i32) -> ()
          func.return
        }""",
}
STOCK: tuple[type[ModulePass], ...] = (
    CanonicalizePass,
    CommonSubexpressionElimination,
    DeadCodeElimination,
)
OPTIONS = {
    "relax-bind-params": '{func_name="main"}',
    "relax-fuse-ops-by-pattern": '{patterns="generic."}',
    "relax-gradient": '{func_name="main"}',
    "relax-update-v-device": (
        '{new_vdevice="#relax.vdevice<\\"cuda\\", 0, \\"global\\">"}'
    ),
    "tir-bind-target": '{target="cuda" host="llvm"}',
    "tir-narrow-data-type": "{target_bits=32}",
    "tir-verify-form": "{form=packed}",
}
"""Options of the passes that cannot do without."""
CONTEXT = new_context()
CONTEXT.allow_unregistered = True


def run(name: str, module: ModuleOp) -> None:
    """Run a pass with its default options, from its pipeline text."""
    (spec,) = parse_pipeline(name + OPTIONS.get(name, ""))
    all_passes()[name]().from_pass_spec(spec).apply(CONTEXT, module)


@cache
def original(text: str, *, stock: bool) -> tuple[ModuleOp, str]:
    """A module that is not to be changed, and its text."""
    module = Parser(CONTEXT, text).parse_module()
    module.verify()
    if stock:
        for pass_class in STOCK:
            pass_class().apply(CONTEXT, module)
        module.verify()
    return module, str(module)


def module_of(text: str, *, stock: bool) -> ModuleOp:
    return original(text, stock=stock)[0].clone()


CASES = pytest.mark.parametrize("text", MODULES.values(), ids=list(MODULES))
MANY = "XDSL_TVM_FUZZ" in os.environ
STOCK_OR_NOT = pytest.mark.parametrize("stock", [False, True], ids=["plain", "stock"])


@pytest.mark.parametrize(
    ("text", "stock"),
    [
        pytest.param(text, stock, id=f"{'stock' if stock else 'plain'}-{name}")
        for stock in (False, True)
        for name, text in MODULES.items()
        if MANY or not stock or name in ("blocks", "unknown ops")
    ],
)
def test_passes_over_our_dialects_leave_foreign_modules_alone(text: str, stock: bool):
    for name in all_passes():
        if name.startswith("tvm-"):
            continue
        module = module_of(text, stock=stock)
        run(name, module)
        module.verify()
        assert str(module) == original(text, stock=stock)[1], name


@CASES
@STOCK_OR_NOT
def test_conversions_of_foreign_modules_lower_or_refuse(text: str, stock: bool):
    for name in all_passes():
        if not name.startswith("tvm-"):
            continue
        module = module_of(text, stock=stock)
        try:
            run(name, module)
        except PassFailedException as error:
            message = str(error)
        else:
            message = "lowered"
            module.verify()
        assert message, name
        assert "\n" not in message, name


def test_unknown_ops_reach_the_end_of_every_road_and_are_named_there():
    for name in ("tvm-lower-to-llvm", "tvm-verify-llvm-legal"):
        module = module_of(MODULES["unknown ops"], stock=False)
        with pytest.raises(PassFailedException, match=r"strange\."):
            run(name, module)
