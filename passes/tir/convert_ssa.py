"""What TVM calls a variable is defined once in each function."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith.expr import Expr, view
from xdsl_tvm.analysis.arith.polynomial import Polynomial, polynomial
from xdsl_tvm.analysis.tir.well_formed import shape_vars_bound_again
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class ConvertSSA(CompilerPass):
    """Summary: Gives each variable one definition, within functions and across them.

    TVM name: tir.ConvertSSA (v0.20)
    Input form: any
    Output form: the same, with the rules SingleDefinition and EnvThread of
        well-formedness
    Options: none
    Rewrites: before

            %n = tir.shape_var "n" : i32
            tir.block "B" {
              %V = tir.match_region "V" %A[%c0 to %c0 + %x] [%n] : !tir.buffer<?xf32>
              tir.evaluate %n : i32
            }
            tir.block "C" {
              %W = tir.match_region "W" %A[%c0 to %c0 + %y] [%n] : !tir.buffer<?xf32>
              tir.evaluate %n : i32
            }

        after, in the second block

            tir.block "C" {
              %m = tir.shape_var "n" : i32
              %W = tir.match_region "W" %A[%c0 to %c0 + %y] [%m] : !tir.buffer<?xf32>
              tir.evaluate %m : i32
            }

        Values are defined once as they are, and none is shared by functions; what two
        places can define still are a `tir.shape_var`, by matches in two scopes, and the
        variable of a thread axis, by the name `env` of its launches. The first scope
        keeps the shape variable, and expressions over it that are outside of the others
        are computed again in them. Launches with the `env` of one of another axis, kind,
        type or extent share a new name, in the order of the text. Time is linear in the
        size of the module, and in that of the expressions each rewritten scope uses.
    Leaves alone: launches of one `env` that are openings of one axis; equal names in
        different functions; names of lets, loops and buffers, which mean nothing
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: bodies, parameters and buffers need no copies, since functions share
        no value. Shape variables that match regions bind are included, which TVM does not
        treat as definitions. Attributes of `tir.attr` that name a loop variable hold the
        value itself, so they follow it.
    """

    name = "tir-convert-ssa"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.walk():
            if isinstance(func, tir.FuncOp) and not func.is_declaration:
                define_shape_vars_once(func)
                _tell_axes_apart(func)


# ---- shape variables ----


def define_shape_vars_once(func: tir.FuncOp) -> None:
    """Give each scope of the function in which matches bind a shape variable its own."""
    for match, variable in shape_vars_bound_again(func):
        _bind_anew(match, variable)


def _bind_anew(match: Operation, variable: tir.ShapeVarOp) -> None:
    """Give the block of `match` a shape variable of its own."""
    block = match.parent
    assert block is not None
    first = block.first_op
    assert first is not None
    inside = list(block.walk())
    values: dict[SSAValue, SSAValue] = {}
    for op in (variable, *_expressions_of(variable, inside, block)):
        copy = op.clone(values)
        Rewriter.insert_op(copy, InsertPoint.before(first))
    for op in inside:
        for position, operand in enumerate(op.operands):
            if operand in values:
                op.operands[position] = values[operand]


def _expressions_of(
    variable: tir.ShapeVarOp, users: Iterable[Operation], block: Block
) -> list[Operation]:
    """The ops outside of `block` that compute what `users` in it need of the variable, in
    the order in which they can run."""
    depends: dict[Operation, bool] = {variable: True}
    found: list[Operation] = []
    stack = [owner for op in users for owner in _owners(op, block)]
    stack.reverse()
    while stack:
        op = stack[-1]
        if op in depends:
            stack.pop()
            continue
        missing = [owner for owner in _owners(op, block) if owner not in depends]
        if missing:
            stack += reversed(missing)
            continue
        stack.pop()
        depends[op] = any(depends[owner] for owner in _owners(op, block))
        if depends[op]:
            found.append(op)
    return found


def _owners(op: Operation, block: Block) -> list[Operation]:
    """The expressions outside of `block` that an op uses, and the shape variables."""
    owners = (operand.owner for operand in op.operands)
    return [
        owner
        for owner in owners
        if isinstance(owner, Operation)
        and not block.is_ancestor(owner)
        and not isinstance(owner, tir.BufferDefinition)
        and not owner.regions
    ]


# ---- thread axes ----

_Axis = tuple[Attribute, Attribute | None, Attribute, Polynomial]
"""Tag, kind, type and extent of a launch."""


def _tell_axes_apart(func: tir.FuncOp) -> None:
    launches = [op for op in ops_of(func, tir.LaunchThreadOp) if op.env is not None]
    used = {op.env.data for op in launches if op.env is not None}
    names: dict[str, dict[_Axis, str]] = {}
    trees: dict[SSAValue, Expr] = {}
    for op in launches:
        assert op.env is not None
        name = op.env.data
        axes = names.setdefault(name, {})
        axis = (op.tag, op.virtual, op.extent.type, polynomial(view(op.extent, trees)))
        if axis not in axes:
            axes[axis] = _fresh(name, used) if axes else name
            used.add(axes[axis])
        op.env = StringAttr(axes[axis])


def _fresh(name: str, used: set[str]) -> str:
    number = 1
    while f"{name}_{number}" in used:
        number += 1
    return f"{name}_{number}"
