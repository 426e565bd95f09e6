"""Products of one tensor with several become one product."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import accumulate, count
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.located_builder import Inserted
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols

Check: TypeAlias = Callable[
    [SSAValue, Sequence[SSAValue], Sequence[SSAValue], Mapping[SSAValue, Operation]], bool
]
"""The left operand, the right ones, the biases, and the operation of each value."""

_ACTIVATIONS = (relax.ReluOp, relax.GeluOp, relax.GeluTanhOp, relax.SiluOp)


@dataclass(frozen=True)
class CombineParallelMatmul(CompilerPass):
    """Summary: Turns products of one tensor with several matrices into one product with
        the matrices side by side, and goes on with parts of its result.

    TVM name: relax.CombineParallelMatmul (v0.20)
    Input form: any; products in dataflow blocks are combined
    Output form: the same
    Options: none; from Python also `check`: whether a group is to be combined, given the
        left operand, the right ones, the biases, and the operation of each of these
    Rewrites: before

            %a = relax.matmul %x, %v : (!x, tensor<8x6xf32>) -> tensor<4x6xf32>
            %b = relax.matmul %x, %w : (!x, tensor<8x2xf32>) -> tensor<4x2xf32>

        after

            %t = relax.tuple(%v, %w) : tensor<8x6xf32>, tensor<8x2xf32>
            %c = relax.concat %t axis 1 : … -> tensor<8x8xf32>
            %m = relax.matmul %x, %c : … -> tensor<4x8xf32>
            %s = relax.split %m at [6] axis 1 : …
            %a = relax.get_item %s[0] : … -> tensor<4x6xf32>
            %b = relax.get_item %s[1] : … -> tensor<4x2xf32>

        A sum with a vector after each of the products, and the same activation of relu,
        gelu, gelu_tanh and silu after that, is done on the whole result where all
        products of a group have it; groups with more of it are made first, and what is
        left over is combined without. Right operands of a group have the same rank,
        provably equal batch dimensions and as many rows. Static widths come first, then
        at most one that is not. What the right operands and biases are computed from is
        moved before the first product. Time is linear in the size of the module,
        apart from what is moved.
    Leaves alone: products outside of dataflow blocks; right operands of rank 1 or unknown
        shape, further widths that are not static; biases that are not as wide as the
        product or differ in other dimensions; operands that are computed from another
        product of the group or by an operation that is no operator, or that a function
        literal takes from outside with symbols
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: right operands are compared in all dimensions but the last. The
        dtype of the product is written only where the first one has it written.
    """

    name = "relax-combine-parallel-matmul"

    check: InitVar[Check | None] = None
    _check: Check | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self, check: Check | None) -> None:
        object.__setattr__(self, "_check", check)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for dataflow in [op for op in op.walk() if isinstance(op, relax.DataflowOp)]:
            _combine(dataflow.body.block, self._check)


@dataclass(eq=False)
class _Branch:
    """A product, and the sum and the activation after it that nothing else uses."""

    product: relax.MatmulOp
    sum: relax.AddOp | None = None
    bias: SSAValue | None = None
    activation: relax.UnaryOperatorOp | None = None

    @property
    def width(self) -> Dim:
        """The columns of the right operand."""
        return _shape(self.product.rhs)[-1]

    @property
    def operands(self) -> list[SSAValue]:
        """What is put side by side with that of other branches."""
        return [self.product.rhs, *(() if self.bias is None else (self.bias,))]

    @property
    def ops(self) -> list[relax.MatmulOp | relax.AddOp | relax.UnaryOperatorOp]:
        """The operations, in order."""
        behind = (self.sum, self.activation)
        return [self.product, *(op for op in behind if op is not None)]

    def cut(self, level: int) -> _Branch:
        """The branch without activation below level 2, without the sum below level 1."""
        if level == 2:
            return self
        if level == 1:
            return _Branch(self.product, self.sum, self.bias)
        return _Branch(self.product)

    def key(self) -> Hashable:
        """Equal for branches that can be combined."""
        rhs = TensorInfo.of(self.product.rhs.type)
        assert rhs is not None
        bias = None if self.bias is None else TensorInfo.of(self.bias.type)
        return (
            _shape(self.product.rhs)[:-1],
            rhs.dtype,
            rhs.vdevice,
            self.product.out_dtype,
            None if bias is None else (bias.dtype, bias.vdevice, (bias.shape or ())[:-1]),
            None if self.activation is None else type(self.activation),
        )


def _shape(value: SSAValue) -> tuple[Dim, ...]:
    """The shape of a tensor, empty where it is not known."""
    info = TensorInfo.of(value.type)
    return () if info is None or info.shape is None else info.shape


def _branch(product: relax.MatmulOp) -> _Branch | None:
    """The branch that starts with a product, None if it cannot be combined."""
    info = TensorInfo.of(product.rhs.type)
    if info is None or info.dtype is None or len(_shape(product.rhs)) < 2:
        return None
    if not _shape(product.lhs) or not _shape(product.result):
        return None
    if hide_symbols(product.operands, product):
        return None
    branch = _Branch(product)
    user = _only_user(product.result)
    if isinstance(user, relax.AddOp):
        bias = user.rhs if user.lhs is product.result else user.lhs
        if not _is_bias(bias, branch, user):
            return branch
        branch.sum, branch.bias = user, bias
        user = _only_user(user.result)
    if isinstance(user, _ACTIVATIONS):
        branch.activation = user
    return branch


def _only_user(value: SSAValue) -> Operation | None:
    """The operation of the same block that alone uses a value, once."""
    use = value.get_user_of_unique_use()
    return use if use is not None and use.parent is value.owner.parent else None


def _is_bias(bias: SSAValue, branch: _Branch, total: relax.AddOp) -> bool:
    info, shape = TensorInfo.of(bias.type), _shape(bias)
    if info is None or info.dtype is None or not shape:
        return False
    if _shape(total.result) != _shape(branch.product.result):
        return False
    if hide_symbols((bias,), total):
        return False
    return provably_equal(shape[-1], branch.width)


def _combine(block: Block, check: Check | None) -> None:
    by_lhs = dict[SSAValue, list[relax.MatmulOp]]()
    for op in block.ops:
        if isinstance(op, relax.MatmulOp) and _branch(op) is not None:
            by_lhs.setdefault(op.lhs, []).append(op)
    order = _Order(block)
    for products in by_lhs.values():
        rest = products
        for level in (2, 1, 0):
            groups = dict[Hashable, list[relax.MatmulOp]]()
            for branch in _branches(rest, level):
                groups.setdefault(branch.key(), []).append(branch.product)
            done = set[Operation]()
            for key, group in groups.items():
                # What another group has replaced is looked up anew.
                branches = [b for b in _branches(group, level) if b.key() == key]
                members = _MatmulGroup(block, order, branches, check).combine()
                done.update(member.product for member in members)
            rest = [product for product in rest if product not in done]


def _branches(products: Iterable[relax.MatmulOp], level: int) -> list[_Branch]:
    found = [branch for op in products if (branch := _branch(op)) is not None]
    return [branch.cut(level) for branch in found]


class _Order:
    """Where the operations of a block stand, also once some are moved or new."""

    def __init__(self, block: Block) -> None:
        self._places = {op: (number, 0) for number, op in enumerate(block.ops)}
        self._moves = count(1)

    def place(self, op: Operation) -> tuple[int, int]:
        """Sorts operations as they stand."""
        return self._places[op]

    def is_before(self, op: Operation, other: Operation) -> bool:
        """Whether an operation is before one that was not moved."""
        return self.place(op)[0] < self.place(other)[0]

    def move(self, op: Operation, at: Operation) -> None:
        """Note that an operation now is right before `at`."""
        self._places[op] = (self.place(at)[0], next(self._moves))


@dataclass
class _MatmulGroup:
    """Branches that are alike, in a block."""

    block: Block
    order: _Order
    branches: list[_Branch]
    check: Check | None

    def combine(self) -> list[_Branch]:
        """Combine what can be; returns branches that are gone, none or at least two."""
        static = [b for b in self.branches if b.width.value is not None]
        dynamic = [b for b in self.branches if b.width.value is None]
        found = [*static, *dynamic[:1]]
        if len(found) < 2:
            return []
        first = min((b.product for b in found), key=self.order.place)
        members = list[_Branch]()
        moved = dict[Operation, None]()
        for branch in found:
            needed = self._needed(branch.operands, first)
            if needed is not None:
                members.append(branch)
                moved.update(needed)
        if len(members) < 2 or not self._is_wanted(members):
            return []
        for op in sorted(moved, key=self.order.place):
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(first))
            self.order.move(op, first)
        self._write(members, first)
        return members

    def _needed(
        self, values: Iterable[SSAValue], first: Operation
    ) -> dict[Operation, None] | None:
        """The operations after `first` that compute values; None if they must stay."""
        found = dict[Operation, None]()
        pending = list(values)
        products = {branch.product for branch in self.branches}
        while pending:
            op = pending.pop().owner
            if isinstance(op, Block) or op.parent is not self.block or op in found:
                continue
            if self.order.is_before(op, first):
                continue
            if op in products or not isinstance(op, _MOVABLE):
                return None
            found[op] = None
            pending += op.operands
        return found

    def _is_wanted(self, members: Sequence[_Branch]) -> bool:
        if self.check is None:
            return True
        lhs = members[0].product.lhs
        rights = [branch.product.rhs for branch in members]
        biases = [branch.bias for branch in members if branch.bias is not None]
        bindings = {
            value: value.owner
            for value in (lhs, *rights, *biases)
            if isinstance(value.owner, Operation)
        }
        return self.check(lhs, rights, biases, bindings)

    def _write(self, members: Sequence[_Branch], first: relax.MatmulOp) -> None:
        builder = _OrderedBuilder(first, self.order)
        right = _side_by_side(builder, [branch.product.rhs for branch in members])
        value = builder.insert(relax.MatmulOp(first.lhs, right, first.out_dtype))
        biases = [branch.bias for branch in members if branch.bias is not None]
        if biases:
            value = builder.insert(relax.AddOp(value, _side_by_side(builder, biases)))
        if members[0].activation is not None:
            value = builder.insert(type(members[0].activation)(value))
        info = TensorInfo.of(value.type)
        assert info is not None
        assert info.rank is not None, "products of known rank"
        ends = list(accumulate(_widths(members[:-1])))
        parts = builder.insert(relax.SplitOp(value, ends, info.rank - 1))
        for index, branch in enumerate(members):
            last = branch.ops[-1].result
            part = builder.insert(relax.GetItemOp(parts, index))
            last.replace_all_uses_with(builder.typed(part, last.type))
        for branch in members:
            for op in reversed(branch.ops):
                Rewriter.erase_op(op)


class _OrderedBuilder(BindingBuilder):
    """Inserts in a block whose order is kept."""

    def __init__(self, at: Operation, order: _Order) -> None:
        super().__init__(at)
        self._order = order

    def insert_op(self, op: Inserted) -> Inserted:
        self._order.move(op, self._before)
        return super().insert_op(op)


_MOVABLE = (OperatorOp, relax.ConstantOp, relax.ShapeOp, relax.PrimValueOp)


def _widths(branches: Iterable[_Branch]) -> list[int]:
    return [width for b in branches if (width := b.width.value) is not None]


def _side_by_side(builder: BindingBuilder, values: Sequence[SSAValue]) -> SSAValue:
    """The tensors next to each other along their last dimension."""
    rank = len(_shape(values[0]))
    return builder.insert(relax.ConcatOp(builder.insert(relax.TupleOp(values)), rank - 1))
