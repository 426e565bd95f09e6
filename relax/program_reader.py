"""A Relax program read as TVM's expressions, bindings and blocks.

Constants, shapes, numbers and tuples that an operation takes are part of the expression
that takes them, as in TVM; all other operations are bindings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.analysis.relax.argument_tuples import is_argument_tuple
from xdsl_tvm.analysis.relax.dataflow_patterns.expressions import (
    INLINE,
    attributes_of,
    call_view,
)
from xdsl_tvm.dialects import relax
from xdsl_tvm.relax.expr import Computed, Expr, Var


class Call(Computed):
    """A call: of an operator, of a function of the module, or of the runtime."""

    @property
    def args(self) -> tuple[Expr, ...]:
        """The operands of the operation."""
        return self.operands

    @property
    def attrs(self) -> SimpleNamespace:
        """The attributes by TVM's names, `call.attrs.axis`."""
        return SimpleNamespace(**attributes_of(self.op))


@dataclass(frozen=True, eq=False)
class VarBinding:
    """A variable and what it is bound to."""

    var: Var
    value: Expr


@dataclass(frozen=True, eq=False)
class MatchCast:
    """A variable, and the value that it is under a type that is checked."""

    var: Var
    value: Expr
    struct_info: Attribute


Binding: TypeAlias = VarBinding | MatchCast


@dataclass(frozen=True, eq=False)
class BindingBlock:
    """Bindings that follow each other."""

    bindings: Sequence[Binding]


@dataclass(frozen=True, eq=False)
class DataflowBlock(BindingBlock):
    """The bindings of a `relax.dataflow`, and what it gives out."""

    op: relax.DataflowOp


@dataclass(frozen=True, eq=False)
class SeqExpr:
    """The body of a function or of a branch: blocks, and the result."""

    blocks: Sequence[BindingBlock]
    body: Expr


class ProgramReader:
    """Operations as expressions and bindings, the same one for an operation each time."""

    def __init__(self) -> None:
        self._exprs: dict[SSAValue, Expr] = {}

    def expr(self, value: SSAValue) -> Expr:
        """What a value is where it is used: a variable, or what is written in place."""
        if (known := self._exprs.get(value)) is None:
            owner = value.owner
            if isinstance(owner, INLINE) or (
                isinstance(owner, relax.TupleOp) and is_argument_tuple(owner)
            ):
                known = self.computed(owner)
            else:
                known = Var.bound(value.name_hint or "", value)
            self._exprs[value] = known
        return known

    def var(self, value: SSAValue) -> Var:
        """The variable of a value."""
        known = self.expr(value)
        return known if isinstance(known, Var) else Var.bound("", value)

    def computed(self, op: Operation) -> Computed:
        """The expression that an operation is."""
        kind = Computed if call_view(op) is None else Call
        return kind(op, [self.expr(operand) for operand in op.operands])

    def binding(self, op: Operation) -> Binding:
        """The binding that an operation is. Raises TypeError for several results."""
        if len(op.results) > 1:
            raise TypeError(
                f"expr_functor: {op.name} has {len(op.results)} results, and a binding "
                "has one"
            )
        var = self.var(op.results[0]) if op.results else Var("void", relax.VOID)
        match op:
            case relax.MatchCastOp():
                return MatchCast(var, self.expr(op.value), op.result.type)
            case relax.AliasOp():
                return VarBinding(var, self.expr(op.value))
            case _:
                return VarBinding(var, self.computed(op))

    def sequence(self, block: Block) -> SeqExpr:
        """The body of a function or of a branch."""
        blocks, run = list[BindingBlock](), list[Binding]()
        result: Expr | None = None
        for op in block.ops:
            if isinstance(op, relax.DataflowOp):
                blocks += [BindingBlock(run)] if run else []
                run = []
                blocks.append(DataflowBlock(self._bindings(op.body.block), op))
            elif isinstance(op, relax.ReturnOp | relax.YieldOp):
                result = self.expr(op.value)
            elif not self._is_in_place(op):
                run.append(self.binding(op))
        blocks += [BindingBlock(run)] if run else []
        assert result is not None, "verified"
        return SeqExpr(blocks, result)

    def _bindings(self, block: Block) -> list[Binding]:
        return [
            self.binding(op)
            for op in block.ops
            if not isinstance(op, relax.OutputOp) and not self._is_in_place(op)
        ]

    def _is_in_place(self, op: Operation) -> bool:
        is_tuple = isinstance(op, relax.TupleOp) and is_argument_tuple(op)
        return is_tuple or isinstance(op, INLINE)
