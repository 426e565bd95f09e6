"""TIR functions that are written stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, IntegerType, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.passes.relax.legalize.tensor_expression.values import (
    Dim,
    Element,
    Expr,
    Reducer,
    Scalar,
    Slice,
    Tensor,
)


@dataclass
class _Stage:
    """The reads of the block being built, as buffer and point."""

    reads: list[tuple[Tensor, tuple[SSAValue, ...]]] = field(default_factory=lambda: [])


class TensorProgram:
    """A TIR function under construction.

    A symbol of `unbound` is a parameter of the function, after all tensors, if it is
    asked for; others are bound by a tensor that has them as a bare dimension.
    """

    def __init__(self, name: str, unbound: Sequence[str] = ()) -> None:
        self.name = name
        self._unbound = frozenset(unbound)
        self._inputs = 0
        self._parameters: list[str] = []
        self._entry = Block()
        self._root = Block()
        self._block = self._entry
        self._stage: _Stage | None = None
        self._params: list[str] = []
        self._symbols: dict[str, Expr] = {}
        self._extents: dict[int, Expr] = {}

    # ---- values ----

    def emit(self, op: Operation) -> Expr:
        """Append an op with one result."""
        self._block.add_op(op)
        return Expr(self, op.results[0])

    def constant(self, value: float, dtype: Attribute) -> Expr:
        """A constant of a scalar type."""
        return self.emit(tir.ConstOp.of(value, dtype))

    def select(self, condition: Expr, true: Expr, false: Expr) -> Expr:
        """`tir.select`: both values are evaluated."""
        return self.emit(tir.SelectOp(condition.value, true.value, false.value))

    def if_then_else(
        self, condition: Expr, true: Callable[[], Expr], false: Callable[[], Expr]
    ) -> Expr:
        """`tir.if_then_else`: only one of the values is computed.

        What they read is declared as read: their indices are computed outside of them.
        """
        outer = self._block
        blocks = [Block(), Block()]
        for block, branch in zip(blocks, (true, false), strict=True):
            self._block = block
            block.add_op(tir.YieldOp(branch().value))
        self._block = outer
        last = blocks[0].last_op
        assert isinstance(last, tir.YieldOp)
        return self.emit(
            tir.IfThenElseOp(condition.value, last.value.type, *map(Region, blocks))
        )

    def compare(self, predicate: tir.CmpPredicate, lhs: Expr, rhs: Expr) -> Expr:
        """`tir.cmp` of two values of one type."""
        return self.emit(tir.CmpOp(predicate, lhs.value, rhs.value))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The symbols that are parameters, in their order."""
        return tuple(self._parameters)

    def symbol(self, name: str) -> Expr:
        """The symbolic extent `name`, an `i64`."""
        if name in self._unbound and name not in self._symbols:
            return self._parameter(name)
        if name not in self._symbols:
            self._symbols[name] = self.at_entry(
                lambda: self.emit(tir.ShapeVarOp(name, i64))
            )
            set_name_hint(self._symbols[name].value, name)
        return self._symbols[name]

    def _parameter(self, name: str) -> Expr:
        argument = self._entry.insert_arg(i64, len(self._entry.args))
        set_name_hint(argument, name)
        self._params.append(name)
        self._parameters.append(name)
        self._symbols[name] = Expr(self, argument)
        return self._symbols[name]

    def extent(self, dim: Dim) -> Expr:
        """A dimension as a value; numbers become constants of the function's entry."""
        if isinstance(dim, Expr):
            return dim
        if dim not in self._extents:
            self._extents[dim] = self.at_entry(lambda: self.constant(dim, i64))
            self._extents[dim].value.name_hint = f"c{dim}"
        return self._extents[dim]

    def at_entry(self, build: Callable[[], Expr]) -> Expr:
        """What `build` emits, put before all stages."""
        current, self._block = self._block, self._entry
        result = build()
        self._block = current
        return result

    # ---- tensors ----

    def scalar(self, value: float | Expr, dtype: Attribute) -> Scalar:
        """A known number as an operand of rank 0."""
        return Scalar(self, value, dtype)

    def scalar_input(self, name: str, dtype: Attribute) -> Scalar:
        """The next parameter, a scalar."""
        argument = self._next_argument(name, dtype)
        return Scalar(self, Expr(self, argument), dtype)

    def _next_argument(self, name: str, type_: Attribute) -> SSAValue:
        argument = self._entry.insert_arg(type_, self._inputs)
        self._params.insert(self._inputs, name)
        self._inputs += 1
        set_name_hint(argument, name)
        return argument

    def input(self, name: str, shape: Sequence[Dim], dtype: Attribute) -> Tensor:
        """The next parameter, a tensor."""
        argument = self._next_argument(name, tir.HandleType())
        argument.name_hint = f"{name}_handle"
        buffer_type, extents = _buffer_type(shape, dtype)
        match = tir.MatchBufferOp(
            argument, buffer_type, extents, name=name, index_type=_index_type(extents)
        )
        set_name_hint(match.buffer, name)
        self._entry.add_op(match)
        return Tensor(self, match.buffer, tuple(shape), dtype)

    def _allocate(self, name: str, shape: Sequence[Dim], dtype: Attribute) -> Tensor:
        alloc = self._alloc_op(name, shape, dtype)
        self._root.add_op(alloc)
        return Tensor(self, alloc.buffer, tuple(shape), dtype)

    def _alloc_op(
        self, name: str, shape: Sequence[Dim], dtype: Attribute
    ) -> tir.AllocBufferOp:
        buffer_type, extents = _buffer_type(shape, dtype)
        alloc = tir.AllocBufferOp(
            buffer_type, extents, name=name, index_type=_index_type(extents)
        )
        set_name_hint(alloc.buffer, name)
        return alloc

    def load(self, tensor: Tensor, indices: Sequence[SSAValue]) -> Expr:
        """Read an element, and note that the block of the stage reads it."""
        if self._stage is None:
            raise ValueError("a tensor is read outside of an element expression")
        self._stage.reads.append((tensor, tuple(indices)))
        return self.emit(tir.LoadOp(tensor.buffer, indices, result_type=tensor.dtype))

    # ---- stages ----

    def compute(
        self, name: str, shape: Sequence[Dim], dtype: Attribute, element: Element
    ) -> Tensor:
        """A tensor whose element at each index is `element` of that index."""
        output = self._allocate(name, shape, dtype)

        def body(spatial: list[Expr], _: list[Expr]) -> None:
            value = element(*spatial)
            self.store(value, output, spatial)

        self._nest(name, output, (), body)
        return output

    def reduce(
        self,
        name: str,
        shape: Sequence[Dim],
        over: Sequence[Dim],
        dtype: Attribute,
        reducer: Reducer,
        element: Callable[[list[Expr], list[Expr]], Expr],
        *,
        read_if_empty: bool = True,
    ) -> Tensor:
        """A tensor whose elements combine `element` over the reduction space `over`.

        `element` gets the spatial and the reduction indices. The identity is stored by
        the block's init, which is a part of the first step. So where there may be no step
        a stage in front stores it, unless nothing reads the tensor then.
        """
        output = self._allocate(name, shape, dtype)

        def body(spatial: list[Expr], reduction: list[Expr]) -> None:
            value = element(spatial, reduction)
            indices = [index.value for index in spatial]
            accumulator = self.emit(tir.LoadOp(output.buffer, indices, result_type=dtype))
            self.store(reducer.combine(accumulator, value), output, spatial)

        def init(spatial: list[Expr]) -> None:
            identity = self.constant(reducer.identity(dtype), dtype)
            self.store(identity, output, spatial)

        if read_if_empty and not _has_step(shape, over):
            self._nest(f"{name}_identity", output, (), lambda at, _: init(at))
            self._nest(name, output, over, body)
        else:
            self._nest(name, output, over, body, init)
        return output

    def sequential(
        self,
        name: str,
        rows: Sequence[Dim],
        outputs: Sequence[tuple[str, Sequence[Dim], Attribute]],
        reads: Callable[[list[Expr]], Sequence[Slice]],
        writes: Callable[[list[Expr], list[Tensor]], Sequence[Slice]],
        body: Callable[[list[Expr], list[Tensor]], None],
    ) -> list[Tensor]:
        """Tensors (name, shape, dtype) that statements write, once for each of `rows`.

        The functions get the point of `rows`, and the tensors. What `body` does at one
        point must not depend on what it does at others. `reads` and `writes` say what of
        the tensors it touches.
        """
        tensors = [self._allocate(*output) for output in outputs]
        block, indices = self._loops(name, rows, ())
        outer, self._block = self._block, block.body.block
        read, written = reads(indices), writes(indices, tensors)
        for kind, slices in ((tir.ReadsOp, read), (tir.WritesOp, written)):
            self._block.add_op(kind([self._region(each) for each in slices]))
        with self._reading():
            body(indices, tensors)
        self._block = outer
        return tensors

    @contextmanager
    def _reading(self) -> Generator[None]:
        """Statements that may read elements, whose regions are declared elsewhere."""
        self._stage = _Stage()
        yield
        self._stage = None

    def _region(self, part: Slice) -> tir.BufferRegion:
        tensor, indices = part
        zero = self.extent(0)
        mins = tuple((zero if index is None else index).value for index in indices)
        extents = tuple(
            1 if index is not None else dim if isinstance(dim, int) else dim.value
            for index, dim in zip(indices, tensor.shape, strict=True)
        )
        return tir.BufferRegion(tensor.buffer, mins, extents)

    # ---- statements of a sequential stage ----

    @property
    def end(self) -> InsertPoint:
        """Where the next statement goes, for code that is written in another manner."""
        return InsertPoint.at_end(self._block)

    def local(self, name: str, shape: Sequence[Dim], dtype: Attribute) -> Tensor:
        """Memory of one run of a sequential stage; asked for before other statements."""
        alloc = self._alloc_op(name, shape, dtype)
        self._block.add_op(alloc)
        return Tensor(self, alloc.buffer, tuple(shape), dtype)

    def store(self, value: Expr, tensor: Tensor, indices: Sequence[Expr]) -> None:
        """Write an element."""
        places = [index.value for index in indices]
        self._block.add_op(tir.StoreOp(value.value, tensor.buffer, places))

    @contextmanager
    def loop(self, name: str, low: Expr, extent: Expr) -> Generator[Expr]:
        """Statements for each of `extent` values from `low`, in order."""
        loop = tir.ForOp(low.value, extent.value, name=name)
        set_name_hint(loop.loop_var, name)
        with self._inside(loop, loop.body.block):
            yield Expr(self, loop.loop_var)

    @contextmanager
    def when(self, condition: Expr) -> Generator[None]:
        """Statements under a condition."""
        op = tir.IfOp(condition.value, Region(Block()))
        with self._inside(op, op.then_region.block):
            yield

    @contextmanager
    def repeat(self, condition: Callable[[], Expr]) -> Generator[None]:
        """Statements for as long as a condition holds, which is computed each time."""
        op = tir.WhileOp(Region(Block()), Region(Block()))
        with self._inside(op, op.condition.block):
            self._block.add_op(tir.YieldOp(condition().value))
        outer, self._block = self._block, op.body.block
        yield
        self._block = outer

    @contextmanager
    def _inside(self, op: Operation, body: Block) -> Generator[None]:
        self._block.add_op(op)
        outer, self._block = self._block, body
        yield
        self._block = outer

    def require(self, condition: Expr, text: str, numbers: Sequence[Expr]) -> None:
        """`tir.assert` of a condition; the text has a `{}` for each number."""
        if not numbers:
            self._block.add_op(tir.AssertOp(condition.value, text))
            return
        strings = [
            self.emit(tir.StringOp(each)).value for each in (tir.ASSERT_MESSAGE, text)
        ]
        arguments = [*strings, *(number.value for number in numbers)]
        message = self.emit(tir.CallOp("call_pure_extern", arguments, i32))
        self._block.add_op(tir.AssertOp(condition.value, message.value))

    # ---- blocks ----

    def _nest(
        self,
        name: str,
        output: Tensor,
        over: Sequence[Dim],
        body: Callable[[list[Expr], list[Expr]], None],
        init: Callable[[list[Expr]], None] | None = None,
    ) -> None:
        """A loop per dimension around a block with one iteration variable per loop."""
        block, indices = self._loops(name, output.shape, over)
        spatial, reduction = indices[: len(output.shape)], indices[len(output.shape) :]
        outer, self._block = self._block, block.body.block
        self._stage = _Stage()
        body(spatial, reduction)
        reads = self._stage.reads
        self._stage = None
        self._declare_regions(block, output, spatial, reads)
        if init is not None:
            region = tir.InitOp()
            block.body.block.insert_op_after(region, _last_declaration(block))
            self._block = region.body.block
            init(spatial)
        self._block = outer

    def _loops(
        self, name: str, shape: Sequence[Dim], over: Sequence[Dim]
    ) -> tuple[tir.BlockOp, list[Expr]]:
        """Loops around an empty block, and its iteration variables."""
        spatial_rank = len(shape)
        extents = [self.extent(dim).value for dim in (*shape, *over)]
        zero = self.extent(0).value
        loops = [
            tir.ForOp(zero, extent, name=_axis_name(position, spatial_rank))
            for position, extent in enumerate(extents)
        ]
        innermost = self._root
        for position, loop in enumerate(loops):
            loop.loop_var.name_hint = _axis_name(position, spatial_rank)
            innermost.add_op(loop)
            innermost = loop.body.block
        block = tir.BlockOp(
            name,
            [
                tir.IterVar(
                    tir.IterKind.SPATIAL if axis < spatial_rank else tir.IterKind.REDUCE,
                    zero,
                    extent,
                    loop.loop_var,
                    f"v_{_axis_name(axis, spatial_rank)}",
                )
                for axis, (loop, extent) in enumerate(zip(loops, extents, strict=True))
            ],
        )
        innermost.add_op(block)
        for position, variable in enumerate(block.iter_vars):
            variable.name_hint = f"v_{_axis_name(position, spatial_rank)}"
        return block, [Expr(self, variable) for variable in block.iter_vars]

    def _declare_regions(
        self,
        block: tir.BlockOp,
        output: Tensor,
        spatial: list[Expr],
        reads: list[tuple[Tensor, tuple[SSAValue, ...]]],
    ) -> None:
        """Put reads and writes first in the block, after what their indices need.

        Where an index is itself read from a tensor, the whole dimension counts as read.
        """
        body = block.body.block
        slices: list[tuple[Tensor, tuple[Expr | None, ...]]] = [
            (tensor, tuple(None if _is_read(i, body) else Expr(self, i) for i in point))
            for tensor, point in reads
        ]
        indices = [i.value for _, point in slices for i in point if i is not None]
        needed = _needed_ops(indices, body)
        prologue: list[Operation] = [op for op in body.ops if op in needed]
        for op in prologue:
            op.detach()
        prologue.append(
            tir.ReadsOp([self._region(each) for each in dict.fromkeys(slices)])
        )
        prologue.append(tir.WritesOp([self._region((output, spatial))]))
        if body.first_op is None:
            body.add_ops(prologue)
        else:
            body.insert_ops_before(prologue, body.first_op)

    # ---- the function ----

    def build(
        self, outputs: Sequence[Tensor], attributes: dict[str, Attribute] | None = None
    ) -> tir.FuncOp:
        """The finished function; the outputs become parameters after the inputs.

        Raises ValueError for an output that no stage computes.
        """
        for output in outputs:
            self._make_parameter(output)
        self._entry.add_op(tir.BlockOp("root", body=Region(self._root)))
        return tir.FuncOp(
            self.name,
            ([argument.type for argument in self._entry.args], []),
            Region(self._entry),
            attributes={"tir.noalias": BoolAttr.from_bool(True)} | (attributes or {}),
            param_names=self._params,
        )

    def _make_parameter(self, output: Tensor) -> None:
        alloc = output.buffer.owner
        if not isinstance(alloc, tir.AllocBufferOp):
            raise ValueError(
                f"{self.name}: an output must be computed by a stage of the program"
            )
        name = "" if alloc.buffer_name is None else alloc.buffer_name.data
        parameter = self.input(name, output.shape, output.dtype)
        alloc.buffer.replace_all_uses_with(parameter.buffer)
        alloc.detach()
        alloc.erase()


def _buffer_type(
    shape: Sequence[Dim], dtype: Attribute
) -> tuple[tir.BufferType, list[SSAValue]]:
    static = [dim if isinstance(dim, int) else DYNAMIC_INDEX for dim in shape]
    return (
        tir.BufferType(static, dtype),
        [dim.value for dim in shape if isinstance(dim, Expr)],
    )


def _index_type(extents: Sequence[SSAValue]) -> IntegerType | None:
    """Said only where no extent operand says it."""
    return None if extents else i64


def _axis_name(position: int, spatial_rank: int) -> str:
    if position < spatial_rank:
        return f"ax{position}"
    return f"k{position - spatial_rank}"


def _has_step(shape: Sequence[Dim], over: Sequence[Dim]) -> bool:
    """Whether a reduction over `over` has a step wherever it has a result."""
    return all(dim in shape or _least(dim) > 0 for dim in over)


def _least(dim: Dim) -> int:
    """A lower bound of an extent; symbols are extents, and at least 0."""
    if isinstance(dim, int):
        return dim
    match dim.value.owner:
        case tir.ConstOp(literal=int(extent)):
            return extent
        case tir.AddOp() | tir.MulOp() as op:
            bounds = [_least(Expr(dim.program, each)) for each in op.operands]
            is_sum = isinstance(op, tir.AddOp)
            return max(0, sum(bounds) if is_sum else bounds[0] * bounds[1])
        case _:
            return 0


def _needed_ops(values: Sequence[SSAValue], block: Block) -> set[Operation]:
    """The ops of `block` that compute `values`."""
    needed: set[Operation] = set()
    pending = list(values)
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Block):
            continue
        if owner.parent is block and owner not in needed:
            needed.add(owner)
            pending.extend(owner.operands)
    return needed


def _is_read(index: SSAValue, block: Block) -> bool:
    """Whether an index depends on what the block reads."""
    return any(isinstance(op, tir.LoadOp) for op in _needed_ops([index], block))


def _last_declaration(block: tir.BlockOp) -> Operation:
    return next(op for op in block.body.block.ops if isinstance(op, tir.WritesOp))
