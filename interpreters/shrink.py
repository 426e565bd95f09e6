"""Cutting a module down to a small one that shows the same fault.

The method is delta debugging (Zeller and Hildebrandt, 2002): pieces are taken away, large
ones first, and what still fails is kept. Pieces are functions, statements with all they
hold, the shells of statements around their bodies, operations in favour of an operand,
and the size of constants.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import is_integer_type

Fails = Callable[[ModuleOp], bool]
_Edit = Callable[[list[Operation]], bool]
"""Edits a copy of the module, given its ops in order; False where it does not apply."""

_TRIALS = 400
"""How many candidates are run at most: a program of some tens of statements."""


class _Shrinker:
    def __init__(self, module: ModuleOp, fails: Fails, trials: int) -> None:
        self.module = module
        self._fails = fails
        self.trials = trials

    def keep_if_failing(self, edit: _Edit) -> bool:
        """Makes the edit if the module then still fails."""
        if self.trials <= 0:
            return False
        candidate = self.module.clone()
        if not edit(list(candidate.walk())):
            return False
        self.trials -= 1
        if not self._fails(candidate):
            return False
        self.module = candidate
        return True

    def remove_statements(self) -> bool:
        """Takes away runs of ops without users, long ones first."""
        changed = False
        count = sum(1 for _ in self.module.walk())
        size = max(count // 2, 1)
        while size and self.trials > 0:
            start = 1
            while start < sum(1 for _ in self.module.walk()):
                edit = _removal(start, size)
                if self.keep_if_failing(edit):
                    changed = True
                else:
                    start += size
            size //= 2
        return changed

    def change_each(self, edit: Callable[[Operation], bool]) -> bool:
        """Tries an edit on every op by itself, the last first."""
        changed = False
        for index in reversed(range(sum(1 for _ in self.module.walk()))):

            def at(ops: list[Operation], index: int = index) -> bool:
                return index < len(ops) and edit(ops[index])

            changed |= self.keep_if_failing(at)
        return changed


def shrink(module: ModuleOp, fails: Fails, *, trials: int = _TRIALS) -> ModuleOp:
    """The smallest module found for which `fails` holds, as it does for `module`.

    `fails` gets candidates that may not verify, and must not change them. The module
    itself is not changed.
    """
    shrinker = _Shrinker(module.clone(), fails, trials)
    while shrinker.trials > 0:
        changed = shrinker.remove_statements()
        changed |= shrinker.change_each(_unwrap)
        changed |= shrinker.change_each(_forward_first)
        changed |= shrinker.change_each(_forward_last)
        changed |= shrinker.change_each(_halve_constant)
        if not changed:
            break
    return shrinker.module


def _removal(start: int, size: int) -> _Edit:
    def edit(ops: list[Operation]) -> bool:
        removed = False
        for op in reversed(ops[start : start + size]):
            if op.parent is not None and not _is_used(op):
                op.parent.erase_op(op)
                removed = True
        return removed

    return edit


def _is_used(op: Operation) -> bool:
    if isinstance(op, tir.YieldOp):
        return True
    return any(result.first_use is not None for result in op.results)


def _unwrap(op: Operation) -> bool:
    """Puts the body of a statement in its place, with its first index for a variable."""
    match op:
        case tir.ForOp():
            values: list[SSAValue] = [op.min]
        case tir.IfOp() | tir.ScopeOp() | tir.AttrOp():
            values = []
        case _:
            return False
    block = op.parent
    if block is None:
        return False
    body = op.regions[0].block
    for argument, value in zip(body.args, values, strict=True):
        argument.replace_all_uses_with(value)
    _move_before(body, op, block)
    block.erase_op(op)
    return True


def _move_before(body: Block, op: Operation, block: Block) -> None:
    for item in list(body.ops):
        item.detach()
        block.insert_op_before(item, op)


def _forward_first(op: Operation) -> bool:
    return _forward(op, 0)


def _forward_last(op: Operation) -> bool:
    return _forward(op, -1)


def _forward(op: Operation, index: int) -> bool:
    """Takes away an op that has an operand of its result's type, in favour of that."""
    if len(op.results) != 1 or op.parent is None:
        return False
    operands = [value for value in op.operands if value.type == op.results[0].type]
    if not operands:
        return False
    op.results[0].replace_all_uses_with(operands[index])
    op.parent.erase_op(op)
    return True


def _halve_constant(op: Operation) -> bool:
    if not isinstance(op, tir.ConstOp) or not is_integer_type(op.result.type):
        return False
    value = int(op.literal)
    if abs(value) < 2:
        return False
    op.properties["value"] = IntegerAttr(value // 2, op.result.type)
    return True
