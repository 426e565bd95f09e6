"""Function literals become functions of the module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols


@dataclass(frozen=True)
class LambdaLift(CompilerPass):
    """Summary: Makes functions of the module of function literals, with what they capture
        as further parameters.

    TVM name: relax.LambdaLift (v0.20)
    Input form: any
    Output form: no `relax.lambda` and no `relax.call_indirect` in Relax functions
    Options: none
    Rewrites: before

            relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
              %f = relax.lambda "inner"(%y: !t) -> !t {
                %z = relax.add %y, %x : (!t, !t) -> !t
                relax.return %z : !t
              }
              %r = relax.call_indirect %f(%x) : !relax.func<(!t) -> !t>, (!t) -> !t
              relax.return %r : !t
            }

        after

            relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
              %f = relax.make_closure @main_inner(%x) : (!t) -> !relax.func<(!t) -> !t>
              %r = relax.invoke_pure_closure %f(%x) : !relax.func<(!t) -> !t>, (!t) -> !t
              relax.return %r : !t
            }
            relax.func @main_inner(%y: !t, %x: !t) -> !t {
              %z = relax.add %y, %x : (!t, !t) -> !t
              relax.return %z : !t
            }

        A literal that captures nothing leaves no value behind: its calls become
        `relax.call`, its other uses `relax.global_ref`. So do calls of a function by
        itself, with the captured values as further arguments. All other calls of values
        become `relax.invoke_pure_closure`, or `relax.invoke_closure` where the type of
        the function is impure. A function is named by its `global_symbol`; else by the
        function around it and `var_name` (`lambda` where there is none); else, where that
        is taken, by all functions around it, and at last by a number. Time is linear in
        the size of the module, times the depth of literals in each other.
    Leaves alone: functions without literals and calls of values; operations of other
        dialects that hold literals
    Errors: a literal whose `global_symbol` is the name of another function
    Attributes: read: `global_symbol` of literals; created: none; removed: none; the
        attributes of a literal become those of the function
    Differs from TVM: a closure keeps the type of its function, where TVM's is an object;
        whether a call of one is pure is told by that type, where TVM asks for the call
        that made the closure. A symbolic dimension of the function around that is no
        dimension of a parameter by itself is forgotten in the types of the parameters.
        Calls of values that are no literals become invocations, too, which TVM leaves as
        they are; another name for a closure is one as well, where TVM fails.
    """

    name = "relax-lambda-lift"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lifting = _Lifting(op)
        for func in list(op.ops):
            if isinstance(func, relax.FuncOp) and func.body.blocks:
                path = (func.sym_name.data,)
                lifting.visit(func.body, path)


@dataclass
class _Lifting:
    module: ModuleOp
    taken: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.taken = set(module_symbols(self.module))

    def visit(self, region: Region, path: tuple[str, ...]) -> None:
        """Lift the literals of a region, those inside of others first."""
        for block in region.blocks:
            for op in list(block.ops):
                if op.parent is None:
                    continue  # A direct call that was replaced.
                if isinstance(op, relax.LambdaOp):
                    own = "lambda" if op.var_name is None else op.var_name.data
                    self.visit(op.body, (*path, own))
                    self._lift(op, (*path, own))
                    continue
                if isinstance(op, relax.CallIndirectOp) and not _is_own(op.callee):
                    _invoke(op)
                for inner in op.regions:
                    self.visit(inner, path)

    def _lift(self, op: relax.LambdaOp, path: tuple[str, ...]) -> None:
        name = self._name(op, path)
        captured = _captured(op)
        parameters = _add_parameters(op, captured)
        block = op.body.block
        if (own := op.own_value) is not None:
            _replace(own, InsertPoint.at_start(block), name, parameters)
            block.erase_arg(own)
        _replace(op.result, InsertPoint.before(op), name, captured)
        func = relax.FuncOp(
            name,
            [arg.type for arg in block.args],
            op.type.ret,
            op.detach_region(op.body),
            attributes=op.attributes,
            impure=not op.is_pure,
        )
        func.location = op.location
        Rewriter.erase_op(op)
        self.module.body.block.add_op(func)

    def _name(self, op: relax.LambdaOp, path: tuple[str, ...]) -> str:
        symbol = op.attributes.get("global_symbol")
        if isinstance(symbol, StringAttr):
            if symbol.data in self.taken:
                raise PassFailedException(
                    f"{LambdaLift.name}: {op.name} has the global_symbol "
                    f"'{symbol.data}', which another function of the module has; "
                    "rename one of them"
                )
            name = symbol.data
        else:
            name = self._free_name(path)
        self.taken.add(name)
        return name

    def _free_name(self, path: tuple[str, ...]) -> str:
        short = f"{path[-2]}_{path[-1]}"
        for name in (short, "_".join(path)):
            if name not in self.taken:
                return name
        number = 0
        while (name := f"{short}_{number}") in self.taken:
            number += 1
        return name


def _is_own(value: SSAValue) -> bool:
    """Whether a value is a literal as its own body sees it."""
    if not isinstance(value, BlockArgument):
        return False
    parent = value.block.parent_op()
    return isinstance(parent, relax.LambdaOp) and value is parent.own_value


def _captured(op: relax.LambdaOp) -> list[SSAValue]:
    """The values from outside of a literal that it uses, in the order of their uses."""
    inside = set[SSAValue](op.body.block.args)
    for inner in op.body.walk():
        inside.update(inner.results)
        inside.update(arg for r in inner.regions for b in r.blocks for arg in b.args)
    used = (value for inner in all_ops(op.body) for value in inner.operands)
    return list(dict.fromkeys(value for value in used if value not in inside))


def _add_parameters(
    op: relax.LambdaOp, captured: Sequence[SSAValue]
) -> list[BlockArgument]:
    """Make parameters of what a literal captures.

    Symbols that no parameter defines are forgotten.
    """
    block = op.body.block
    types = [value.type for value in captured]
    visible = parameter_symbols([*(arg.type for arg in op.args), *types])
    parameters = [
        block.insert_arg(relax.erase_symbols(type_, visible), len(block.args))
        for type_ in types
    ]
    places = dict(zip(captured, parameters, strict=True))
    for value, parameter in places.items():
        parameter.name_hint = value.name_hint
    for inner in list(op.body.walk()):
        for index, operand in enumerate(inner.operands):
            if (parameter := places.get(operand)) is not None:
                inner.operands[index] = parameter
        if isinstance(inner, relax.CallIndirectOp) and inner.callee in parameters:
            _invoke(inner)
    return parameters


def _replace(
    function: SSAValue, place: InsertPoint, name: str, captured: Sequence[SSAValue]
) -> None:
    """Let uses of a literal name the function that it becomes.

    A value that stands for it is made at `place`, where one is needed.
    """
    assert isinstance(function.type, relax.FuncType), "verified"
    if isinstance(function, BlockArgument) or not captured:
        for use in list(function.uses):
            if isinstance(use.operation, relax.CallIndirectOp) and use.index == 0:
                _call(use.operation, name, captured)
    if function.first_use is None:
        return
    reference = (
        relax.MakeClosureOp(name, captured, function.type)
        if captured
        else relax.GlobalRefOp(name, function.type)
    )
    reference.result.name_hint = function.name_hint
    literal = function.owner
    if isinstance(literal, Block):
        literal = literal.parent_op()
    assert literal is not None
    reference.location = literal.location
    Rewriter.insert_op(reference, place)
    function.replace_all_uses_with(reference.result)


def _call(op: relax.CallIndirectOp, name: str, captured: Sequence[SSAValue]) -> None:
    arguments = [*op.arguments, *captured]
    new = relax.CallOp(name, arguments, op.result.type, impure=not op.is_pure)
    new.attributes, new.location = op.attributes, op.location
    Rewriter.replace_op(op, new)


def _invoke(op: relax.CallIndirectOp) -> None:
    kind = relax.InvokePureClosureOp if op.is_pure else relax.InvokeClosureOp
    new = kind(op.callee, op.arguments, op.result.type)
    new.attributes, new.location = op.attributes, op.location
    Rewriter.replace_op(op, new)
