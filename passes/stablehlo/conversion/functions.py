"""Functions of `stablehlo` as functions of Relax: calls, branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import verify_type
from xdsl_tvm.dialects.stablehlo import control
from xdsl_tvm.dialects.stablehlo.assembly import AnyTensor, element_of, shape_of
from xdsl_tvm.passes.relax.rewriting.bindings import may_stand_in_dataflow
from xdsl_tvm.passes.relax.rewriting.dataflow import wrap_in_dataflow
from xdsl_tvm.passes.stablehlo.conversion.emitter import Emitter
from xdsl_tvm.passes.stablehlo.conversion.rules import RULES

MAX_STEPS = 1024
"""The most steps of a loop that is unrolled."""

_MAX_DEPTH = 64
"""How deep calls and bodies may be nested."""


class FunctionConversion:
    """Converts one function; what it calls is inlined, so that constants are seen."""

    def __init__(self, name: str, functions: dict[str, FuncOp], taken: set[str]) -> None:
        self.name = name
        self.functions = functions
        self.loops: list[relax.FuncOp] = []
        """The functions that loops have become, private ones."""
        self._taken = taken
        self._named = 0
        self.inlined: set[str] = set()
        """The functions that were called."""
        self._calls: list[str] = []
        self._depth = 0
        self._emitter = Emitter(Block())
        self._scopes: list[dict[SSAValue, SSAValue]] = []

    def converted(self, func: FuncOp) -> relax.FuncOp:
        """The function of Relax, public under the same name.

        Raises PassFailedException for what is not converted.
        """
        symbol = func.sym_name.data
        inputs = list(func.function_type.inputs)
        for type_ in (*inputs, *func.function_type.outputs):
            self._check_type(func, type_)
        block = Block(arg_types=inputs)
        for old, new in zip(func.body.block.args, block.args, strict=True):
            new.name_hint = old.name_hint
        self._emitter = Emitter(block)
        results = self._call(func, func, block.args)
        result = (
            results[0] if len(results) == 1 else self._emitter.op(relax.TupleOp(results))
        )
        block.add_op(relax.ReturnOp(result))
        for each in (block, *(loop.body.block for loop in self.loops)):
            _erase_unused(each)
            _wrap_runs(each)
        self._drop_unused_loops(block)
        end = block.last_op
        assert end is not None
        made = relax.FuncOp(
            symbol,
            inputs,
            end.operands[0].type,
            Region(block),
            attributes={"global_symbol": StringAttr(symbol)},
        )
        made.location = func.location
        return made

    def _drop_unused_loops(self, block: Block) -> None:
        """Forget loops of steps that were tried, which nothing calls."""
        pending, used = [block], set[str]()
        bodies = {loop.sym_name.data: loop.body.block for loop in self.loops}
        while pending:
            for op in (inner for top in pending.pop().ops for inner in top.walk()):
                if isinstance(op, relax.CallOp):
                    callee = op.callee.root_reference.data
                    if callee in bodies and callee not in used:
                        used.add(callee)
                        pending.append(bodies[callee])
        self.loops = [loop for loop in self.loops if loop.sym_name.data in used]

    def _check_type(self, op: Operation, type_: Attribute) -> None:
        if not isinstance(type_, TensorType):
            raise self._error(op, f"{type_} is not converted; only tensors are")
        tensor = cast(AnyTensor, type_)
        if -1 in shape_of(tensor):
            raise self._error(
                op,
                f"the shape of {type_} is not known; export the program for one shape, "
                "without symbolic dimensions",
            )
        try:
            verify_type(tensor)
        except VerifyException as error:
            raise self._error(op, str(error)) from None

    def _error(self, op: Operation, why: str) -> PassFailedException:
        prefix = f"{op.name}: "
        return PassFailedException(f"{self.name}: {prefix}{why.removeprefix(prefix)}")

    # ---- bodies ----

    def _body(self, region: Region, arguments: Sequence[SSAValue]) -> list[SSAValue]:
        """Converts a body in place; the values that it ends with."""
        block = region.block
        self._scopes.append(dict(zip(block.args, arguments, strict=True)))
        for op in block.ops:
            if isinstance(op, control.ReturnOp | FuncReturnOp):
                results = [self._value(op, operand) for operand in op.operands]
                self._scopes.pop()
                return results
            self._convert(op)
        parent = region.parent_op()
        assert parent is not None
        raise self._error(parent, "a body must end in a return")

    def _value(self, op: Operation, value: SSAValue) -> SSAValue:
        for scope in reversed(self._scopes):
            if value in scope:
                return scope[value]
        raise self._error(op, "an operand is defined outside of the function")

    def _convert(self, op: Operation) -> None:
        for type_ in op.result_types:
            self._check_type(op, type_)
        self._emitter.location = op.location
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(op, f"calls and bodies are nested deeper than {_MAX_DEPTH}")
        operands = [self._value(op, operand) for operand in op.operands]
        results = self._results(op, operands)
        self._depth -= 1
        for old, new in zip(op.results, results, strict=True):
            if new.type != old.type:
                raise self._error(
                    op, f"the result must be {new.type}, which is not {old.type}"
                )
            self._scopes[-1][old] = new

    def _results(self, op: Operation, operands: list[SSAValue]) -> Sequence[SSAValue]:
        match op:
            case CallOp():
                return self._call(op, self._callee(op, op.callee), operands)
            case control.CompositeOp():
                return self._call(op, self._callee(op, op.decomposition), operands)
            case control.OptimizationBarrierOp():
                return operands
            case control.CustomCallOp():
                raise self._error(
                    op,
                    f"there is no function '{op.call_target_name.data}' here; export the "
                    "program without calls of the platform's own functions",
                )
            case control.IfOp():
                return self._branch(op, operands[0], [op.true_branch, op.false_branch])
            case control.CaseOp():
                return self._case(op, operands[0])
            case control.WhileOp():
                return self._loop(op, operands)
            case _:
                rule = RULES.get(type(op))
        if rule is None:
            raise self._error(
                op,
                "the operation is not converted; docs/stablehlo.md lists those that are",
            )
        try:
            results = rule(self._emitter, op, operands)
        except VerifyException as error:
            raise self._error(op, str(error)) from error
        return [results] if isinstance(results, SSAValue) else results

    # ---- calls ----

    def _callee(self, op: Operation, symbol: SymbolRefAttr) -> FuncOp:
        name = symbol.string_value()
        callee = self.functions.get(name)
        if callee is None or not callee.body.blocks:
            raise self._error(op, f"the module has no function @{name} with a body")
        if name in self._calls:
            raise self._error(op, f"@{name} calls itself; recursion is not converted")
        self.inlined.add(name)
        return callee

    def _call(
        self, op: Operation, callee: FuncOp, operands: Sequence[SSAValue]
    ) -> list[SSAValue]:
        name = callee.sym_name.data
        if len(callee.body.blocks) != 1:
            raise self._error(op, f"@{name} has more than one block")
        expected = [arg.type for arg in callee.body.block.args]
        if [operand.type for operand in operands] != expected:
            shown = ", ".join(map(str, expected))
            raise self._error(op, f"the operands of @{name} must be {shown}")
        self._calls.append(name)
        scopes, self._scopes = self._scopes, []
        results = self._body(callee.body, operands)
        self._scopes = scopes
        self._calls.pop()
        if len(results) != len(op.results) and op is not callee:
            raise self._error(op, f"@{name} has {len(results)} results")
        return results

    # ---- branches and loops ----

    def _branch(
        self, op: Operation, condition: SSAValue, regions: Sequence[Region]
    ) -> Sequence[SSAValue]:
        known = self._emitter.known.get(condition)
        if known is not None:
            return self._body(regions[0 if known else 1], [])
        outer = self._emitter.block
        blocks = [Block(), Block()]
        for block, region in zip(blocks, regions, strict=True):
            with self._emitter.inside(block):
                self._end_branch(self._body(region, []))
        assert self._emitter.block is outer
        self._emitter.location = op.location
        return self._joined(op, condition, blocks)

    def _end_branch(self, values: Sequence[SSAValue]) -> None:
        """The value of a branch, a tuple where there is not one."""
        emitter = self._emitter
        value = values[0] if len(values) == 1 else emitter.op(relax.TupleOp(values))
        emitter.block.add_op(relax.YieldOp(value))

    def _joined(
        self, op: Operation, condition: SSAValue, blocks: Sequence[Block]
    ) -> Sequence[SSAValue]:
        true, false = blocks
        result = self._emitter.op(relax.IfOp(condition, Region(true), Region(false)))
        if len(op.results) == 1:
            return [result]
        return [
            self._emitter.op(relax.GetItemOp(result, index))
            for index in range(len(op.results))
        ]

    def _case(self, op: control.CaseOp, index: SSAValue) -> Sequence[SSAValue]:
        """A chain of branches; the last body is for all other numbers."""
        known = self._emitter.known.get(index)
        last = len(op.branches) - 1
        if known is not None:
            number = int(known)
            return self._body(op.branches[number if 0 <= number <= last else last], [])
        return self._case_from(op, index, 0)

    def _case_from(
        self, op: control.CaseOp, index: SSAValue, number: int
    ) -> Sequence[SSAValue]:
        if number == len(op.branches) - 1:
            return self._body(op.branches[number], [])
        if number >= _MAX_DEPTH:
            raise self._error(op, f"more than {_MAX_DEPTH} bodies are not converted")
        emitter = self._emitter
        here = emitter.constant(number, element_of(index))
        condition = emitter.op(relax.EqualOp(index, here))
        blocks = [Block(), Block()]
        with emitter.inside(blocks[0]):
            self._end_branch(self._body(op.branches[number], []))
        with emitter.inside(blocks[1]):
            self._end_branch(self._case_from(op, index, number + 1))
        return self._joined(op, condition, blocks)

    def _loop(self, op: control.WhileOp, operands: list[SSAValue]) -> list[SSAValue]:
        """The steps of a loop one after the other, where their number is known."""
        values = operands
        for step in range(MAX_STEPS + 1):
            (condition,) = self._body(op.cond, values)
            known = self._emitter.known.get(condition)
            if known is None:
                if step:
                    raise self._error(op, "the condition is known in some steps only")
                return self._repeated(op, operands)
            if not known:
                return values
            values = self._body(op.body, values)
        return self._repeated(op, operands)

    def _repeated(self, op: control.WhileOp, operands: list[SSAValue]) -> list[SSAValue]:
        """A loop as a function that ends by calling itself; what is unused of steps that
        were tried is erased."""
        emitter, count = self._emitter, len(operands)
        captured = {
            operand: self._value(op, operand)
            for inner in op.walk()
            for operand in inner.operands
            if inner is not op and any(operand in scope for scope in self._scopes)
        }
        passed = [*operands, *captured.values()]
        block = Block(arg_types=[value.type for value in passed])
        for outer, arg in zip(captured.values(), block.args[count:], strict=True):
            if outer in emitter.known:
                emitter.known[arg] = emitter.known[outer]
        scopes = self._scopes
        self._scopes = [dict(zip(captured, block.args[count:], strict=True))]
        name = self._loop_name()
        values = list(block.args[:count])
        fields = [value.type for value in operands]
        type_ = fields[0] if count == 1 else relax.TupleType.of(fields)
        with emitter.inside(block):
            (condition,) = self._body(op.cond, values)
            if emitter.known.get(condition):
                raise self._error(op, "the condition always holds; the loop never ends")
            blocks = [Block(), Block()]
            with emitter.inside(blocks[0]):
                following = self._body(op.body, values)
                again = [*following, *block.args[count:]]
                self._end_branch([emitter.op(relax.CallOp(name, again, type_))])
            with emitter.inside(blocks[1]):
                self._end_branch(values)
            choice = relax.IfOp(condition, Region(blocks[0]), Region(blocks[1]))
            block.add_op(relax.ReturnOp(emitter.op(choice)))
        self._scopes = scopes
        inputs = [value.type for value in passed]
        made = relax.FuncOp(name, inputs, type_, Region(block))
        made.location = op.location
        self.loops.append(made)
        result = emitter.op(relax.CallOp(name, passed, type_))
        if count == 1:
            return [result]
        return [emitter.op(relax.GetItemOp(result, index)) for index in range(count)]

    def _loop_name(self) -> str:
        while (name := f"while_{self._named}") in self._taken:
            self._named += 1
        self._taken.add(name)
        return name


def _erase_unused(block: Block) -> None:
    """Erases operations whose results nothing uses, in branches too."""
    for op in reversed(list(block.ops)):
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
            continue
        for region in op.regions:
            for inner in region.blocks:
                _erase_unused(inner)


def _wrap_runs(block: Block) -> None:
    """Puts operations between branches into dataflow blocks."""
    run: list[Operation] = []
    for op in list(block.ops):
        for region in op.regions:
            _wrap_runs(region.block)
        if may_stand_in_dataflow(op) and not isinstance(
            op, relax.ReturnOp | relax.YieldOp | relax.CallOp
        ):
            run.append(op)
            continue
        if run:
            wrap_in_dataflow(run)
        run = []
