"""Functions that end by calling themselves, which run as loops.

```mlir
relax.func @f<n>(%go: tensor<i1>, %x: !t) -> !t {
  ...
  %r = relax.if %go : tensor<i1> -> !t {
    ...
    %a = relax.call @f(%next, %y) : (tensor<i1>, !t) -> !t
    relax.yield %a : !t
  } else {
    ...
    relax.yield %x : !t
  }
  relax.return %r : !t
}
```
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, OpResult, SSAValue

from xdsl_tvm.dialects import relax


@dataclass(frozen=True)
class TailCall:
    """The branch of a function's last `relax.if` that calls the function again."""

    branch: relax.IfOp
    call: relax.CallOp

    @property
    def is_on_true(self) -> bool:
        """Whether the call is in the branch of a condition that holds."""
        return self.branch.true_region.is_ancestor(self.call)

    @property
    def last(self) -> Block:
        """The branch that ends the loop."""
        region = self.branch.false_region if self.is_on_true else self.branch.true_region
        return region.block


def tail_call(func: relax.FuncOp) -> TailCall | None:
    """The call, if one of the branches ends with a call and nothing follows it."""
    if isinstance(func.output_type, relax.PrimType):
        return None
    branch = _origin(func.return_op.value).owner
    block = func.body.block
    if not isinstance(branch, relax.IfOp) or branch.parent is not block:
        return None
    if not _is_last(branch):
        return None
    found: list[relax.CallOp] = []
    for region in branch.regions:
        last = region.block.last_op
        assert isinstance(last, relax.YieldOp), "verified"
        call = _called(last.value)
        if call is None or call.callee.root_reference != func.sym_name:
            continue
        around = call.parent_op()
        if isinstance(around, relax.DataflowOp) and around.parent is region.block:
            is_last = _is_last(call) and _is_last(around)
        else:
            is_last = call.parent is region.block and _is_last(call)
        if is_last:
            found.append(call)
    return TailCall(branch, found[0]) if len(found) == 1 else None


def _origin(value: SSAValue) -> SSAValue:
    """The value that another one is, in a dataflow block, too."""
    while True:
        if isinstance(value.owner, relax.AliasOp):
            value = value.owner.operands[0]
        elif isinstance(value, OpResult) and isinstance(value.op, relax.DataflowOp):
            value = value.op.output_op.values[value.index]
        else:
            return value


def _called(value: SSAValue) -> relax.CallOp | None:
    """The call whose whole result a value is; a tuple of all of its fields is, too."""
    value = _origin(value)
    if isinstance(value.owner, relax.CallOp):
        return value.owner
    if not isinstance(value.owner, relax.TupleOp):
        return None
    elements = value.owner.elements
    items = [_origin(each).owner for each in elements]
    if not items or not isinstance(items[0], relax.GetItemOp):
        return None
    whole = _origin(items[0].tuple_value)
    type_ = whole.type
    if not isinstance(type_, relax.TupleType) or len(type_.fields) != len(items):
        return None
    for index, item in enumerate(items):
        if not isinstance(item, relax.GetItemOp) or item.index.value.data != index:
            return None
        if _origin(item.tuple_value) is not whole:
            return None
    return _called(whole)


_NOTHING = (
    relax.AliasOp,
    relax.GetItemOp,
    relax.TupleOp,
    relax.KillStorageOp,
    relax.KillTensorOp,
    relax.VMKillObjectOp,
    relax.OutputOp,
    relax.YieldOp,
    relax.ReturnOp,
)
"""Operations that compute nothing."""


def _is_last(op: Operation) -> bool:
    after = op.next_op
    while after is not None:
        if not isinstance(after, _NOTHING):
            return False
        after = after.next_op
    return True
