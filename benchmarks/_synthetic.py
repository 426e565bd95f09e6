"""Modules of a given size and of different shapes, to time passes on.

`SHAPES` maps a name to a function of the number of ops. A shape is a way to grow: many
functions, many blocks in one function, one long block, deep nesting.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp, StringAttr, f32, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.parser import Parser

from xdsl_tvm.dialects import tir
from xdsl_tvm.registry import new_context

_EXTENT = 16
_DEPTH = 64
"""The deepest nesting."""


class _Function:
    """A function of two buffers that is being built."""

    def __init__(self) -> None:
        self.entry = Block(arg_types=[tir.HandleType(), tir.HandleType()])
        self.block = self.entry
        shape = tir.BufferType([_EXTENT], f32)
        self.source, self.target = (
            self.add(tir.MatchBufferOp(arg, shape)) for arg in self.entry.args
        )
        self.zero = self.add(tir.ConstOp.of(0, i32))
        self.extent = self.add(tir.ConstOp.of(_EXTENT, i32))
        self.one = self.add(tir.ConstOp.of(1, i32))
        self.number = self.add(tir.ConstOp.of(0.5, f32))

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def loop(self, extent: SSAValue) -> SSAValue:
        """A loop whose body is built from now on; its variable."""
        op = tir.ForOp(self.zero, extent)
        self.block.add_op(op)
        self.block = op.body.block
        return op.loop_var

    def reduction(self) -> None:
        """Two loops around a block with an init and a predicate; 17 ops."""
        outer = self.block
        row, step = self.loop(self.extent), self.loop(self.extent)
        holds = self.add(tir.CmpOp(tir.CmpPredicate.LT, row, self.extent))
        iters = [
            tir.IterVar(tir.IterKind.SPATIAL, self.zero, self.extent, row),
            tir.IterVar(tir.IterKind.REDUCE, self.zero, self.extent, step),
        ]
        op = tir.BlockOp("B", iters, predicate=holds)
        self.block.add_op(op)
        self.block = op.body.block
        i, k = op.iter_vars
        self.block.add_op(tir.ReadsOp([tir.BufferRegion(self.source, (k,), (1,))]))
        self.block.add_op(tir.WritesOp([tir.BufferRegion(self.target, (i,), (1,))]))
        store = tir.StoreOp(self.number, self.target, [i])
        self.block.add_op(tir.InitOp(Region(Block([store]))))
        old = self.add(tir.LoadOp(self.target, [i]))
        read = self.add(tir.LoadOp(self.source, [k]))
        called = self.add(tir.CallOp("exp", [read], f32))
        product = self.add(tir.MulOp(called, self.number))
        total = self.add(tir.AddOp(old, product))
        self.block.add_op(tir.StoreOp(total, self.target, [i]))
        self.block = outer

    def finish(self, name: str) -> tir.FuncOp:
        handles = [tir.HandleType(), tir.HandleType()]
        return tir.FuncOp(
            name,
            (handles, []),
            Region(self.entry),
            attributes={"global_symbol": StringAttr(name)},
        )


def functions(ops: int) -> ModuleOp:
    """Functions with one small block each."""
    made: list[tir.FuncOp] = []
    for index in range(max(ops // 22, 1)):
        function = _Function()
        function.reduction()
        made.append(function.finish(f"f{index}"))
    return ModuleOp(made)


def blocks(ops: int) -> ModuleOp:
    """One function with loop nests one after the other."""
    function = _Function()
    for _ in range(max(ops // 16, 1)):
        function.reduction()
    return ModuleOp([function.finish("main")])


def line(ops: int) -> ModuleOp:
    """One block of expressions, each of which uses the one before."""
    function = _Function()
    index = function.loop(function.extent)
    value = function.add(tir.LoadOp(function.source, [index]))
    for count in range(max(ops // 4, 1)):
        other = function.add(tir.CastOp(index, f32))
        product = function.add(tir.MulOp(value, other))
        chosen = function.add(tir.MaxOp(product, function.number))
        value = function.add(tir.AddOp(chosen, value))
        if count % 64 == 63:
            function.block.add_op(tir.StoreOp(value, function.target, [index]))
    function.block.add_op(tir.StoreOp(value, function.target, [index]))
    return ModuleOp([function.finish("main")])


def nesting(ops: int) -> ModuleOp:
    """Towers of loops, ifs and opaque blocks, 64 deep."""
    function = _Function()
    for _ in range(max(ops // (2 * _DEPTH), 1)):
        outer = function.block
        index = function.loop(function.extent)
        for level in range(1, _DEPTH):
            _deepen(function, level, index)
        value = function.add(tir.LoadOp(function.source, [index]))
        function.block.add_op(tir.StoreOp(value, function.target, [index]))
        function.block = outer
    return ModuleOp([function.finish("main")])


def _deepen(function: _Function, level: int, index: SSAValue) -> None:
    match level % 3:
        case 0:
            function.loop(function.one)
        case 1:
            holds = function.add(tir.CmpOp(tir.CmpPredicate.LT, index, function.extent))
            choice = tir.IfOp(holds)
            function.block.add_op(choice)
            function.block = choice.then_region.block
        case _:
            block = tir.BlockOp("B")
            function.block.add_op(block)
            function.block = block.body.block


SHAPES: dict[str, Callable[[int], ModuleOp]] = {
    "functions": functions,
    "blocks": blocks,
    "line": line,
    "nesting": nesting,
}


def _relax_function(operations: list[str], shape: str) -> ModuleOp:
    type_ = f"tensor<{shape}xf32>"
    body = "\n".join(operations)
    text = (
        f"relax.func @main(%v0: {type_}) -> {type_} {{\n"
        f"%r = relax.dataflow -> ({type_}) {{\n{body}\n"
        f"relax.output %v{len(operations)} : {type_}\n}}\n"
        f"relax.return %r : {type_}\n}}"
    )
    context = new_context()
    return Parser(context, text).parse_module()


def chain(ops: int) -> ModuleOp:
    """A dataflow block of operators on one shape, which share a few functions."""
    type_ = "tensor<4x8xf32>"
    lines = [
        f"%v{i + 1} = relax.add %v{i}, %v0 : ({type_}, {type_}) -> {type_}"
        if i % 2
        else f"%v{i + 1} = relax.nn.relu %v{i} : ({type_}) -> {type_}"
        for i in range(ops)
    ]
    return _relax_function(lines, "4x8")


def distinct(ops: int) -> ModuleOp:
    """A dataflow block of operators that need a function each, of some 20 ops."""
    lines: list[str] = []
    size = max(ops // 20, 1)
    type_ = "tensor<4x8xf32>"
    for i in range(size):
        other = f"tensor<{i + 1}x1x1xf32>"
        result = f"tensor<{i + 1}x4x8xf32>"
        lines.append(
            f"%c{i} = relax.constant dense<1.0> : {other}\n"
            f"%w{i} = relax.add %v0, %c{i} : ({type_}, {other}) -> {result}"
        )
    lines.append(f"%v1 = relax.nn.relu %v0 : ({type_}) -> {type_}")
    return _relax_function(["\n".join(lines)], "4x8")


RELAX_SHAPES: dict[str, Callable[[int], ModuleOp]] = {
    "chain": chain,
    "distinct": distinct,
}
