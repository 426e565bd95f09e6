"""What is concluded about memory is true of random programs.

Programs store to two buffers in loops and branches, at indices that are in bounds. What
the analysis says is put to use: loads are replaced by their values, conditions decided,
and stores removed that are overwritten or that store what is there. Nothing may change.
`XDSL_TVM_FUZZ` sets the number of programs.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.tir.control_flow import ControlFlow
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.simplify import Simplify
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "0")) or 2
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
EXTENT = 12


class Writer:
    """Makes the text of a program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = 0
        self.loops: list[tuple[str, int]] = []
        """Variables of the loops around, and their extents."""
        self.conditions: list[str] = []

    def new(self, text: str) -> str:
        self.names += 1
        self.lines.append(f"%v{self.names} = {text}")
        return f"%v{self.names}"

    def constant(self, value: int) -> str:
        return self.new(f"tir.const {value} : i32")

    def binary(self, op: str, lhs: str, rhs: str) -> str:
        return self.new(f"tir.{op} {lhs}, {rhs} : i32")

    def index(self) -> str:
        """An index in bounds."""
        choice = self.random.randrange(8)
        if not self.loops or choice == 0:
            return self.constant(self.random.randrange(EXTENT))
        variable, extent = self.random.choice(self.loops)
        if choice < 3:
            return variable
        if choice == 3 and extent <= 6:
            return self.binary("mul", variable, self.constant(2))
        if choice == 4 and len(self.loops) > 1:
            (outer, high), (inner, low) = self.random.sample(self.loops, 2)
            if high * low <= EXTENT:
                scaled = self.binary("mul", outer, self.constant(low))
                return self.binary("add", scaled, inner)
            total = self.binary("add", outer, inner)
            return self.binary("floormod", total, self.constant(EXTENT))
        if choice == 5:
            last = self.constant(extent - 1)
            return self.binary("sub", last, variable)
        if choice == 6:
            room = self.constant(self.random.randrange(EXTENT - extent + 1))
            return self.binary("add", variable, room)
        loaded = self.new(f"tir.load %{self.random.choice('AB')}[{variable}] : i32")
        return self.binary("floormod", loaded, self.constant(EXTENT))

    def value(self) -> str:
        choice = self.random.randrange(5)
        if choice == 0:
            return self.constant(self.random.randrange(3))
        if choice == 1 and self.loops:
            return self.random.choice(self.loops)[0]
        if choice == 2:
            return "%n"
        loaded = self.new(f"tir.load %{self.random.choice('AB')}[{self.index()}] : i32")
        if choice == 3:
            return loaded
        return self.binary("add", loaded, self.constant(self.random.randrange(3)))

    def condition(self) -> str:
        if self.conditions and self.random.random() < 0.3:
            return self.random.choice(self.conditions)
        predicate = self.random.choice(("eq", "lt", "le", "ne"))
        return self.new(f"tir.cmp {predicate} {self.value()}, {self.value()} : i32")

    def block(self, depth: int, length: int) -> None:
        names = len(self.conditions)
        for _ in range(length):
            choice = self.random.randrange(8)
            if choice < 4 or depth == 0:
                value, index = self.value(), self.index()
                buffer = self.random.choice("AB")
                self.lines.append(f"tir.store {value}, %{buffer}[{index}] : i32")
            elif choice < 7:
                self.loop(depth)
            else:
                self.branch(depth)
        del self.conditions[names:]

    def loop(self, depth: int) -> None:
        extent = self.random.choice((1, 2, 3, 4, 6, 12))
        # The extent may be a value that is only known when the program runs.
        bound = self.constant(extent)
        if self.random.random() < 0.2:
            bound = self.binary("min", bound, "%n")
        low = self.constant(0)
        self.names += 1
        variable = f"%v{self.names}"
        self.lines.append(f"tir.for {variable} = {low} to {bound} {{")
        self.loops.append((variable, extent))
        self.block(depth - 1, self.random.randrange(1, 4))
        self.loops.pop()
        self.lines.append("}")

    def branch(self, depth: int) -> None:
        condition = self.condition()
        self.conditions.append(condition)
        self.lines.append(f"tir.if {condition} {{")
        self.block(depth - 1, self.random.randrange(1, 3))
        if self.random.random() < 0.5:
            self.lines.append("} else {")
            self.block(depth - 1, self.random.randrange(1, 3))
        self.lines.append("}")


def program(seed: int) -> ModuleOp:
    writer = Writer(seed)
    writer.block(3, 5)
    body = "\n".join(writer.lines)
    text = f"""
      tir.func @main(%a: !tir.handle, %b: !tir.handle, %n: i32)
          attributes {{global_symbol = "main", tir.noalias = true}} {{
        %A = tir.match_buffer "A" %a : !tir.buffer<{EXTENT}xi32>
        %B = tir.match_buffer "B" %b : !tir.buffer<{EXTENT}xi32>
        {body}
      }}"""
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


@dataclass(frozen=True)
class RemoveStores(ModulePass):
    """Removes the stores that the analysis says are not needed."""

    name = "remove-stores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            remove_stores(func)


def remove_stores(func: Operation) -> None:
    flow, analyzer = ControlFlow(func), Analyzer()

    def visit(op: Operation) -> None:
        if not isinstance(op, tir.StoreOp):
            return
        known = flow.value_at(op, analyzer)
        stored = flow.with_known_values(walker.tree(op.value), analyzer)
        is_there = known is not None and analyzer.can_prove_equal(known, stored)
        if is_there or flow.is_overwritten(op, analyzer):
            flow.forget(op)
            Rewriter.erase_op(op)

    walker = FactsWalker(analyzer, visit)
    walker.walk(func)


PASSES: dict[str, ModulePass] = {
    "values": Simplify(
        propagate_knowns_to_prove_conditional=True,
        propagate_knowns_to_simplify_expressions=True,
    ),
    "stores": RemoveStores(),
}


@pytest.mark.parametrize("name", list(PASSES))
def test_conclusions_are_true(name: str) -> None:
    for seed in range(FIRST, FIRST + COUNT):
        check_semantics(program(seed), (PASSES[name],), seed=seed, tolerance=0.0)


def padded(seed: int) -> ModuleOp:
    """Zeros where a condition holds, sums that are gathered or scattered, and tests."""
    rng = random.Random(seed)
    low, high, width = rng.randrange(5), rng.randrange(5, 12), rng.choice((1, 2, 3))
    condition = rng.choice(("i < 12 - w - f", "0 <= i - f", "i + f < 12 and 0 <= i - f"))
    condition = condition.replace("w", str(width))
    source = rng.choice(("i", "i - f", "i + f", "11 - i", "f"))
    target = rng.choice(("i", "i + f", "i - f", "11 - i"))
    read = target if rng.random() < 0.8 else "i"
    factor = rng.choice(("K[f]", "f", "A[0]", "B[i]", "2"))
    extra = rng.choice(("", "", "", "A[i] = 0", "A[f] = 1", "A[11 - i] = K[f]"))
    test = rng.choice((f"i < {low} or {high} <= i", f"i < {low + 1}", f"{high} <= i"))
    bounds = f"0 <= {source} and {source} < 12 and 0 <= {target} and {target} < 12"
    text = f"""
@T.prim_func
def main(A: T.Buffer((12,), "int32"), B: T.Buffer((12,), "int32"),
         K: T.Buffer((3,), "int32"), R: T.Buffer((12,), "int32")):
    T.func_attr({{"tir.noalias": True, "global_symbol": "main"}})
    for i in range(12):
        if i < {low} or {high} <= i:
            A[i] = 0
    for i in range(12):
        B[i] = 0
    for i in range(12):
        for f in range({width}):
            if ({condition}) and {bounds}:
                B[{target}] = B[{read}] + A[{source}] * {factor}
                {extra or "T.evaluate(0)"}
    for i in range(12):
        if {test}:
            if B[i] != 0:
                R[i] = R[i] + 1
            R[i] = R[i] + B[i]
"""
    return parse(text)


def test_what_loops_leave_as_it_is() -> None:
    # Few of these programs are alike, so there are more of them.
    decided = 0
    for seed in range(FIRST, FIRST + 5 * COUNT):
        module = padded(seed)
        check_semantics(module, (PASSES["values"],), seed=seed, tolerance=0.0)
        PASSES["values"].apply(new_context(), module)
        conditions = sum(isinstance(op, tir.IfOp) for op in module.walk())
        decided += conditions < 4
    assert decided > 0


def test_something_is_concluded() -> None:
    known = removed = 0
    for seed in range(4):
        module = program(seed)
        before = sum(isinstance(op, tir.StoreOp) for op in module.walk())
        for func in module.ops:
            flow, analyzer = ControlFlow(func), Analyzer()
            loads = [op for op in func.walk() if isinstance(op, tir.LoadOp)]
            known += sum(flow.value_of(op, analyzer) is not None for op in loads)
        RemoveStores().apply(new_context(), module)
        removed += before - sum(isinstance(op, tir.StoreOp) for op in module.walk())
    assert known > 0
    assert removed > 0
