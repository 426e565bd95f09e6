"""A function that ends by calling itself, as a loop: its depth is not bounded."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region, SSAValue

from xdsl_tvm.analysis.relax.tail_calls import TailCall, tail_call
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.lowering.relax.conversion.calling_convention import known, memref_for
from xdsl_tvm.lowering.relax.conversion.extents import Scope
from xdsl_tvm.lowering.relax.conversion.functions import FunctionConverter
from xdsl_tvm.lowering.relax.conversion.module import ModuleView
from xdsl_tvm.lowering.relax.conversion.values import (
    Cells,
    Leaf,
    Memory,
    Object,
    Scalar,
    Tensor,
    leaves,
    rebuild,
)


def converter_of(source: relax.FuncOp, view: ModuleView) -> FunctionConverter:
    """What lowers a function."""
    # What the loop carries would have to be in the memory of the GPU.
    call = None if view.on_gpu else tail_call(source)
    if call is None:
        return FunctionConverter(source, view)
    return LoopConverter(source, view, call)


class LoopConverter(FunctionConverter):
    """Builds an `scf.while` whose `before` region is the body of the function.

    The loop carries memory for each tensor that is passed, numbers, and the extents that
    the symbols stand for. The branch that calls releases what it was passed; the one that
    ends the loop leaves it to be released after the loop.
    """

    def __init__(self, source: relax.FuncOp, view: ModuleView, call: TailCall) -> None:
        super().__init__(source, view)
        self._tail = call

    def _convert_body(
        self, outputs: Sequence[Tensor | Cells]
    ) -> tuple[list[SSAValue], list[tuple[Cells, list[SSAValue]]]]:
        carried = self._passed_at_first()
        types = [value.type for value in carried]
        before, after = Block(arg_types=types), Block(arg_types=types)
        outer, numbers = self.scopes, dict(self.numbers)
        # Extents that are computed outside are those of the first iteration.
        scope = Scope()
        self.scopes = [scope]
        with self.cv.at(before):
            memory = self._bind(before.args)
            condition = self._prefix()
            then = self._calling(memory)
            last = self._ending(outputs, before.args)
            choice = self.cv.emit(
                scf.IfOp(
                    condition,
                    types,
                    Region(then if self._tail.is_on_true else last),
                    Region(last if self._tail.is_on_true else then),
                )
            )
            self.release(scope)
            goes_on = condition
            if not self._tail.is_on_true:
                goes_on = self.cv.binary(
                    arith.XOrIOp, condition, self.cv.number(True, i1)
                )
            self.cv.emit(create(scf.ConditionOp, operands=[goes_on, *choice.results]))
        with self.cv.at(after):
            self.cv.emit(scf.YieldOp(*after.args))
        self.scopes, self.numbers = outer, numbers
        loop = self.cv.emit(scf.WhileOp(carried, types, Region(before), Region(after)))
        for result, leaf in zip(loop.res, self._params(), strict=False):
            if isinstance(leaf, Tensor):
                self._own(result)
        return [], []

    def _params(self) -> list[Leaf]:
        values = [self._value(arg) for arg in self.source.args]
        return [
            leaf
            for leaf in leaves(tuple(values))
            if isinstance(leaf, Tensor | Scalar | Object)
        ]

    def _passed_at_first(self) -> list[SSAValue]:
        """Copies of the arguments, since the loop releases what it is passed."""
        carried = [self._carried(leaf, self.scopes[-1]) for leaf in self._params()]
        return carried + [self.numbers[name] for name in self.convention.symbols]

    def _carried(self, leaf: Leaf, scope: Scope) -> SSAValue:
        if isinstance(leaf, Tensor):
            return self.handed_over(leaf, scope, memref_for(leaf.dims, leaf.dtype))
        assert isinstance(leaf, Scalar | Object), "checked"
        return leaf.value

    def _bind(self, args: Sequence[SSAValue]) -> list[Memory]:
        """Let the parameters and symbols be what the loop carries."""
        remaining = iter(args)
        memory: list[Memory] = []
        bound: list[Leaf] = []
        for arg in self.source.args:
            for leaf in leaves(self._value(arg)):
                if isinstance(leaf, Scalar):
                    bound.append(Scalar(next(remaining), leaf.dtype, leaf.dim))
                elif isinstance(leaf, Object):
                    bound.append(Object(next(remaining)))
                elif isinstance(leaf, Tensor):
                    base = next(remaining)
                    # The parameter itself is a name that nothing ends.
                    memory.append(Memory(base, {arg}))
                    bound.append(Tensor(base, leaf.dims, leaf.dtype, memory[-1]))
                else:
                    bound.append(leaf)
        parts = iter(bound)
        for arg in self.source.args:
            self._values[arg] = rebuild(arg.type, parts)
        self.numbers.update(zip(self.convention.symbols, remaining, strict=True))
        return memory

    def _prefix(self) -> SSAValue:
        """What is computed before the choice, and the condition."""
        branch = self._tail.branch
        ops = list(self.source.body.block.ops)
        self._convert_ops(ops[: ops.index(branch)])
        self.cv.source = branch
        return self._condition(self._value(branch.condition))

    def _calling(self, memory: Sequence[Memory]) -> Block:
        """The branch that calls: it yields what is passed to the next iteration."""
        call, block, scope = self._tail.call, Block(), Scope()
        with self.inside(block, scope):
            scope.owned.update(dict.fromkeys(memory))
            assert call.parent is not None, "verified"
            ops = list(call.parent.ops)
            self._convert_ops(ops[: ops.index(call)])
            self.cv.source = call
            self.cv.emit(scf.YieldOp(*self._next(scope)))
        return block

    def _next(self, scope: Scope) -> list[SSAValue]:
        call, convention = self._tail.call, self.convention
        values = [self._value(value) for value in call.arguments]
        arguments = list(leaves(tuple(values)))
        bound = self._match_parameters(call.callee, convention, arguments)
        self._check_results(bound)
        carried: list[SSAValue] = []
        for value, param in zip(arguments, convention.params, strict=True):
            if isinstance(value, Tensor) and isinstance(param, TensorInfo):
                type_ = memref_for(*known(param))
                carried.append(self.handed_over(value, scope, type_))
            elif isinstance(value, Scalar | Object):
                carried.append(value.value)
        numbers = [self.index(bound[name]) for name in convention.symbols]
        self.release(scope)
        return [*carried, *numbers]

    def _check_results(self, bound: dict[str, Dim]) -> None:
        """Check that the result of the call has the extents that this one is to have."""
        what = f"{self.place}: the result has another shape than that of the function"
        for info in self.convention.outputs:
            for dim in info.dims or ():
                if dim is not None:
                    self.check_equal(dim, dim.substitute(bound), what)

    def _ending(
        self, outputs: Sequence[Tensor | Cells], carried: Sequence[SSAValue]
    ) -> Block:
        """The branch that ends the loop: it writes the results."""
        block, scope = Block(), Scope()
        last = self._tail.last.last_op
        assert isinstance(last, relax.YieldOp), "verified"
        with self.inside(block, scope):
            self._choose_destinations(last.value, outputs)
            self._convert_block(self._tail.last)
            self.cv.source = last
            _, handed_over = self._return(self._value(last.value), outputs)
            self.release(scope)
            self._store_cells(handed_over)
            self.cv.emit(scf.YieldOp(*carried))
        return block
