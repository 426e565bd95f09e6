"""Random Relax functions that allocate tensors, and a checker of memory plans.

The checker follows TVM's memory model (docs/spec/relax-ir.md §5) and shares nothing with
the passes that plan: it walks one way through a function and looks at what is used later.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness
from xdsl.ir import Block, Operation, SSAValue

from support.ir import parse
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import product
from xdsl_tvm.dialects.tir.types import bytes_of_lane

Value: TypeAlias = tuple[str, str]
"""Name and type of a value that is written."""
Memory: TypeAlias = frozenset[Operation]
"""The allocations that a value may be memory of."""

_BYTES = IntegerType(8, Signedness.UNSIGNED)

BOUND = 16
"""The greatest value of the symbol `n` in bounded functions."""

# ---- random functions ----

_TYPES = tuple(
    f"tensor<{shape}x{dtype}{encoding}>"
    for shape, encoding in (
        ("4", ""),
        ("6", ""),
        ("8", ""),
        ("100", ""),
        ("4x2", ""),
        ("30x3", ""),
        ("?", ", #relax.dims<[n]>"),
        ("?x4", ", #relax.dims<[n * 2, 4]>"),
        ("?", ", #relax.dims<[n * 8]>"),
    )
    for dtype in ("f32", "f32", "i8")
)
_N = "tensor<?xf32, #relax.dims<[n]>>"


def random_function(seed: int, *, is_bounded: bool) -> ModuleOp:
    """Calls, views, tuples, operators, branches and dataflow blocks in a function."""
    writer = _Writer(random.Random(seed))
    visible = [("%x", "tensor<4xf32>"), ("%y", _N)]
    for _ in range(3):
        writer.block(2, visible)
    name, type_ = writer.pick(visible)
    bound = f" attributes {{tir_var_upper_bound = {{n = {BOUND} : i64}}}}"
    return parse(
        f"relax.func impure @main<n>(%c: tensor<i1>, %x: tensor<4xf32>, %y: {_N}) -> "
        f"{type_}{bound if is_bounded else ''} {{\n"
        + "\n".join(writer.lines)
        + f"\nrelax.return {name} : {type_}\n}}\n"
    )


@dataclass
class _Writer:
    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    def block(self, depth: int, visible: list[Value]) -> None:
        """Write bindings that see, and add to, the values of `visible`."""
        plain = (
            self.call,
            self.call,
            self.call,
            self.alias,
            self.view,
            self.returned,
            self.tuple,
        )
        for _ in range(self.rng.randrange(3, 14)):
            if self.rng.random() < 0.85:
                self.rng.choice(plain)(visible)
            elif self.rng.random() < 0.3:
                self.operator(visible)
            elif depth == 2 and self.rng.random() < 0.5:
                self.dataflow(visible)
            elif depth:
                self.branches(depth, visible)

    def pick(self, visible: list[Value]) -> Value:
        """A value; what was bound last is used most, as in models."""
        return self.rng.choice(visible[-4:] if self.rng.random() < 0.8 else visible)

    def bind(self, text: str, type_: str) -> Value:
        """Write an operation with a result."""
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}", type_

    def allocate(self) -> Value:
        type_ = self.rng.choice(_TYPES)
        device = self.rng.choice((0, 0, 0, 1))
        return self.bind(
            f'relax.builtin.alloc_tensor on {device} scope "global" : {type_}', type_
        )

    def call(self, visible: list[Value]) -> None:
        given = [self.pick(visible) for _ in range(self.rng.randrange(1, 3))]
        given.append(self.allocate())
        visible.append(given[-1])
        names = ", ".join(name for name, _ in given)
        types = ", ".join(type_ for _, type_ in given)
        self.lines.append(f'relax.call_packed "kernel"({names}) : ({types}) -> ()')

    def returned(self, visible: list[Value]) -> None:
        name, type_ = self.pick(visible)
        text = f'relax.call_packed "kernel"({name}) : ({type_}) -> {type_}'
        visible.append(self.bind(text, type_))

    def alias(self, visible: list[Value]) -> None:
        name, type_ = self.pick(visible)
        op = self.rng.choice(("alias", "match_cast"))
        visible.append(self.bind(f"relax.{op} {name} : {type_} -> {type_}", type_))

    def view(self, visible: list[Value]) -> None:
        """A view of a tensor; some views have no uses, wherever the tensor's end is."""
        tensors = [value for value in visible if value[1].startswith("tensor")]
        name, type_ = self.rng.choice(tensors) if self.rng.random() < 0.5 else tensors[-1]
        if self.rng.random() < 0.5:
            text = f"relax.memory.ensure_zero_offset {name} : ({type_}) -> {type_}"
        else:
            dims = _dims(type_)
            shape = self.bind(f"relax.shape [{dims}]", f"!relax.shape<[{dims}]>")
            text = f"relax.reshape {name}, {shape[0]} : ({type_}, {shape[1]}) -> {type_}"
        found = self.bind(text, type_)
        if self.rng.random() < 0.5:
            visible.append(found)

    def operator(self, visible: list[Value]) -> None:
        name, type_ = self.pick([v for v in visible if v[1].startswith("tensor")])
        text = f"relax.add {name}, {name} : ({type_}, {type_}) -> {type_}"
        visible.append(self.bind(text, type_))

    def tuple(self, visible: list[Value]) -> None:
        fields = [self.pick(visible) for _ in range(2)]
        types = ", ".join(type_ for _, type_ in fields)
        names = ", ".join(name for name, _ in fields)
        whole = self.bind(f"relax.tuple({names}) : {types}", f"!relax.tuple<{types}>")
        index = self.rng.randrange(2)
        type_ = fields[index][1]
        text = f"relax.get_item {whole[0]}[{index}] : {whole[1]} -> {type_}"
        visible.append(self.bind(text, type_))
        if self.rng.random() < 0.3:
            text = f'relax.call_packed "kernel"({whole[0]}) : ({whole[1]}) -> ()'
            self.lines.append(text)

    def branches(self, depth: int, visible: list[Value]) -> None:
        result = self.bind("relax.if %c : tensor<i1> -> !relax.object {", "!relax.object")
        for last in ("} else {", "}"):
            inner = list(visible)
            self.block(depth - 1, inner)
            name, type_ = self.pick(inner)
            self.lines += [f"relax.yield {name} : {type_}", last]
        visible.append(result)

    def dataflow(self, visible: list[Value]) -> None:
        inner = list(visible)
        position = len(self.lines)
        self.alias(inner)
        inner += [self.allocate(), self.allocate()]
        name, type_ = self.pick(inner)
        self.lines += [f"relax.output {name} : {type_}", "}"]
        result = self.bind(f"relax.dataflow -> ({type_}) {{", type_)
        self.lines.insert(position, self.lines.pop())
        if type_.startswith("tensor"):
            # It may be new, and must be written before it is read.
            arguments = f"(%x, {result[0]}) : (tensor<4xf32>, {type_}) -> ()"
            self.lines.append(f'relax.call_packed "kernel"{arguments}')
        visible.append(result)


def _dims(type_: str) -> str:
    """The extents of a tensor type as a shape has them."""
    text = type_.removeprefix("tensor<").removesuffix(">")
    if "dims<[" in text:
        return text.split("[")[1].split("]")[0]
    return ", ".join(text.split("x")[:-1])


# ---- the checker ----


_NAMES = (
    relax.AliasOp,
    relax.MatchCastOp,
    relax.ReshapeOp,
    relax.EnsureZeroOffsetOp,
    relax.TupleOp,
    relax.GetItemOp,
    relax.OutputOp,
)
"""Operations that give memory another name and do not touch it."""


def kernel(*arguments: Any) -> Any:
    """The runtime function that random functions call.

    It writes something of all other arguments to the last; one alone it returns.
    """
    *given, out = arguments
    if not given:
        return out
    total = sum(map(_digest, given))
    out.flat = (np.arange(len(out.flat), dtype=np.int64) * 7 + total) % 101
    return None


def _digest(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(map(_digest, cast(tuple[Any, ...], value)))
    return zlib.crc32(np.ascontiguousarray(value).tobytes())


def check_plan(func: relax.FuncOp, choices: random.Random) -> int:
    """Check one way through a function, and give how many pairs of tensors share bytes.

    No two that do are alive at once; each sees and fits its storage.
    """
    ops = _one_way(func.body.block, choices)
    memory = _memory(ops)
    last = {
        alloc: position
        for position, op in enumerate(ops)
        if not isinstance(op, _NAMES)
        for operand in op.operands
        for alloc in memory.get(operand, ())
    }
    lives: dict[SSAValue, list[tuple[int, int, list[tuple[int, int]]]]] = {}
    for position, op in enumerate(ops):
        if isinstance(op, relax.AllocTensorFromStorageOp):
            ranges = _check_fits(op)
            life = position, last.get(op, position), ranges
            lives.setdefault(op.storage, []).append(life)
    again = 0
    for tensors in lives.values():
        for (_, end, first), (start, _, second) in combinations(tensors, 2):
            if any(
                low < most and least < high
                for (low, high), (least, most) in zip(first, second, strict=True)
            ):
                again += 1
                assert end < start, f"two tensors are alive on the same bytes:\n{func}"
    return again


def _one_way(block: Block, choices: random.Random) -> list[Operation]:
    """The operations of one way through a block, those inside of an operation first."""
    found: list[Operation] = []
    for op in block.ops:
        if isinstance(op, relax.IfOp | relax.DataflowOp):
            found += _one_way(choices.choice(op.regions).block, choices)
        found.append(op)
    return found


def _memory(ops: list[Operation]) -> dict[SSAValue, Memory]:
    """What each value may be memory of: whatever the operation was given."""
    found: dict[SSAValue, Memory] = {}
    for op in ops:
        if isinstance(op, relax.AllocTensorFromStorageOp):
            found[op.result] = Memory({op})
            continue
        values = list(op.operands)
        if isinstance(op, relax.GetItemOp) and isinstance(
            whole := op.tuple_value.owner, relax.TupleOp
        ):
            values = [whole.elements[op.index.value.data]]
        for region in op.regions:
            if region.block.last_op is not None:
                values += region.block.last_op.operands
        given = Memory().union(*(found.get(value, Memory()) for value in values))
        found.update((result, given) for result in op.results)
    return found


def _check_fits(op: relax.AllocTensorFromStorageOp) -> list[tuple[int, int]]:
    """Check that a tensor sees and fits its storage; its bytes for some symbols."""
    storage = op.storage.owner
    assert isinstance(storage, relax.AllocStorageOp)
    assert storage.parent is not None
    assert storage.parent.find_ancestor_op_in_block(op) is not None, "out of sight"
    info = relax.TensorInfo.of(op.result.type)
    assert info is not None
    assert info.shape is not None
    assert info.dtype is not None
    needed = product(info.shape) * bytes_of_lane(info.dtype)
    assert storage.dtype in (info.dtype, _BYTES)
    ranges: list[tuple[int, int]] = []
    for n in (0, 1, 7, BOUND):
        values = {"n": n}
        start = op.offset.data.evaluate(values)
        assert start % bytes_of_lane(info.dtype) == 0
        ranges.append((start, start + needed.evaluate(values)))
        assert ranges[-1][1] <= storage.size.data.evaluate(values)
    return ranges
