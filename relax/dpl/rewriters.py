"""Functions and modules rewritten by patterns.

A callback gets variables of the builder, and gives an expression. The function that is
given stays as it is; what is returned is a verified copy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from types import MappingProxyType
from typing import TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult
from xdsl.traits import SymbolTable

from xdsl_tvm.analysis.relax.dataflow_patterns.context import PatternContext
from xdsl_tvm.analysis.relax.dataflow_patterns.expressions import INLINE, Bindings
from xdsl_tvm.analysis.relax.dataflow_patterns.matching import (
    Match,
    Matched,
    expect_pattern,
    match_value,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.patterns import (
    DFPattern,
)
from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.analysis.relax.memory_sharing import Writers
from xdsl_tvm.dialects import relax
from xdsl_tvm.relax.dpl.replacement import FunctionRewrite
from xdsl_tvm.relax.expr import Computed, Expr, Tuple, Var

Rewritten = TypeVar("Rewritten", bound="relax.FuncOp | ModuleOp")
Callback: TypeAlias = "Callable[[Expr, dict[DFPattern, Expr]], Expr]"
"""The expression for a matched one, given that and what parts of the pattern match."""
BindingsCallback: TypeAlias = (
    "Callable[[dict[DFPattern, Expr], dict[Expr, Expr]], Mapping[Expr, Expr]]"
)
"""The expressions for variables, given what patterns match and what variables are."""


class PatternMatchingRewriter(ABC):
    """Rewrites functions and modules.

    Bindings are visited in order, new ones as well, until nothing matches. `a | b` tries
    two rewriters at each.
    """

    subroutines: Mapping[str, Operation] = MappingProxyType({})
    """Functions that new expressions call, by name; a module gets them."""

    @staticmethod
    def from_pattern(pattern: DFPattern, func: Callback) -> PatternMatchingRewriter:
        """The rewriter that `rewrite_call` is made of."""
        return ExprPatternRewriter(pattern, func)

    @staticmethod
    def from_module(mod: ModuleOp) -> PatternMatchingRewriter:
        """The rewriter of a module with functions `pattern` and `replacement`.

        See `xdsl_tvm.relax.dpl.module_rewriter`. Raises ValueError for another module.
        """
        from xdsl_tvm.relax.dpl.module_rewriter import rewriter_of

        return rewriter_of(mod)

    def __call__(self, obj: Rewritten) -> Rewritten:
        """A copy of a Relax function or a module, rewritten and verified.

        Raises TypeError for anything else, and for a callback that returns what is no
        expression or has another type; ValueError for a rewrite without end;
        VerifyException for a result that breaks a rule of the dialect.
        """
        return self.apply_as("PatternMatchingRewriter", obj)

    def apply_as(self, what: str, obj: Rewritten) -> Rewritten:
        """`self(obj)`, with errors that begin with a name."""
        result = _copy(what, obj)
        writers = _writers(obj)
        for func in relax_functions(result):
            if func.body.blocks:
                rewrite = FunctionRewrite(what, func, writers)
                self._rewrite(func.body.block, rewrite)
                if rewrite.changed:
                    _add_functions(what, result, self.subroutines)
        result.verify()
        return result

    def _rewrite(self, block: Block, rewrite: FunctionRewrite) -> None:
        op = block.first_op
        while op is not None:
            following = op.next_op
            if op not in rewrite.done and _is_binding(op):
                rewrite.done.add(op)
                following = self.rewrite_binding(op.results[0], rewrite) or following
            for region in op.regions:
                for inner in region.blocks:
                    self._rewrite(inner, rewrite)
            op = following

    @abstractmethod
    def rewrite_binding(
        self, value: OpResult, rewrite: FunctionRewrite
    ) -> Operation | None:
        """Rewrite what matches at a binding; the operation to go on with, if another."""

    def __or__(self, other: PatternMatchingRewriter) -> PatternMatchingRewriter:
        return OrRewriter(self, other)


class ExprPatternRewriter(PatternMatchingRewriter):
    """Rewrites what one pattern matches.

    `func` gets the matched expression and what parts of the pattern match, and returns
    an expression, the matched one to leave it as it is.
    """

    def __init__(self, pattern: DFPattern, func: Callback) -> None:
        self.pattern = expect_pattern("the pattern of a rewriter", pattern)
        self.func = _expect_callback(func)

    def rewrite_binding(
        self, value: OpResult, rewrite: FunctionRewrite
    ) -> Operation | None:
        matched = match_value(self.pattern, value)
        if matched is None or not rewrite.may_use(matched.values(), value.op):
            return None
        given = self.func(rewrite.variable(value), rewrite.variables(matched))
        expr = rewrite.replacement(given, value)
        return None if expr is None else rewrite.replace(value, expr)


class OrRewriter(PatternMatchingRewriter):
    """Rewrites what either of two rewriters does, the first before the second."""

    def __init__(
        self, lhs: PatternMatchingRewriter, rhs: PatternMatchingRewriter
    ) -> None:
        for side in (lhs, rhs):
            if not isinstance(cast("object", side), PatternMatchingRewriter):
                raise TypeError(f"a rewriter is joined with another, not with {side!r}")
        self.lhs, self.rhs = lhs, rhs
        self.subroutines = {**lhs.subroutines, **rhs.subroutines}

    def rewrite_binding(
        self, value: OpResult, rewrite: FunctionRewrite
    ) -> Operation | None:
        found = self.lhs.rewrite_binding(value, rewrite)
        if found is not None or value.op.parent is None:
            return found
        return self.rhs.rewrite_binding(value, rewrite)


class TupleRewriter(PatternMatchingRewriter):
    """Rewrites several bindings of one block at once, one for each pattern.

    `func` gets the tuple of the matched expressions and what parts of the patterns match,
    and returns a tuple of as many expressions. The block is sorted afterwards. Time is
    the number of bindings that match, to the power of the number of patterns.
    """

    def __init__(self, patterns: Sequence[DFPattern], func: Callback) -> None:
        self.patterns = [expect_pattern("a pattern of a rewriter", p) for p in patterns]
        self.func = _expect_callback(func)
        if not self.patterns:
            raise ValueError("a TupleRewriter needs a pattern")

    def rewrite_binding(
        self, value: OpResult, rewrite: FunctionRewrite
    ) -> Operation | None:
        found = self._matches(value)
        if found is None:
            return None
        values, matched = found
        if not rewrite.may_use(matched.values(), value.op):
            return None
        given = self.func(
            Tuple([rewrite.variable(each) for each in values]),
            rewrite.variables(matched),
        )
        fields = _fields(rewrite.what, given, len(values))
        exprs = dict[OpResult, Expr]()
        for each, field in zip(values, fields, strict=True):
            if (expr := rewrite.replacement(field, each)) is not None:
                exprs[each] = expr
        block = value.op.parent
        if not exprs or block is None:
            return None
        rewrite.replace_all(block, exprs)
        return block.first_op

    def _matches(self, last: OpResult) -> tuple[list[OpResult], Matched] | None:
        """Bindings that the patterns match, of which `last` is the last one."""
        if not any(match_value(pattern, last) is not None for pattern in self.patterns):
            return None
        before = list[OpResult]()
        op = last.op.prev_op
        while op is not None:
            if _is_binding(op):
                before.append(op.results[0])
            op = op.prev_op
        alone = [
            [v for v in (*reversed(before), last) if match_value(p, v) is not None]
            for p in self.patterns
        ]
        match = Match(Bindings())

        def solve(values: list[OpResult]) -> Generator[list[OpResult]]:
            if len(values) == len(alone):
                if last in values:
                    yield values
                return
            for value in alone[len(values)]:
                if value not in values:
                    for _ in match.solutions(self.patterns[len(values)], value):
                        yield from solve([*values, value])

        with closing(solve([])) as solutions:
            for values in solutions:
                return values, match.values()
        return None


def _fields(what: str, given: object, count: int) -> Sequence[object]:
    if isinstance(given, Computed) and isinstance(given.op, relax.TupleOp):
        given = given.operands
    if not isinstance(given, list | tuple):
        raise TypeError(
            f"{what}: the callback must return a tuple of {count} expressions, not "
            f"{type(given).__name__}"
        )
    fields = cast("Sequence[object]", given)
    if len(fields) != count:
        raise TypeError(
            f"{what}: the callback must return a tuple of {count} expressions, not of "
            f"{len(fields)}"
        )
    return fields


def _is_binding(op: Operation) -> bool:
    """Whether an operation computes one value, which a rewrite may compute otherwise."""
    is_other = isinstance(op, (*INLINE, relax.AliasOp)) or bool(op.regions)
    return len(op.results) == 1 and not is_other


def _expect_callback(func: Callback) -> Callback:
    if not callable(cast("object", func)):
        raise TypeError(f"a callback is a function, not {type(func).__name__}")
    return func


def _copy(what: str, obj: Rewritten) -> Rewritten:
    if not isinstance(cast("object", obj), relax.FuncOp | ModuleOp):
        raise TypeError(
            f"{what} rewrites a Relax function or a module, not {type(obj).__name__}"
        )
    return cast("Rewritten", obj.clone())


def _writers(obj: Operation) -> Writers:
    """The functions that write their arguments, of the module that `obj` is in."""
    while (around := obj.parent_op()) is not None:
        obj = around
    return Writers(obj)


def _add_functions(
    what: str, obj: relax.FuncOp | ModuleOp, functions: Mapping[str, Operation]
) -> None:
    """Add functions to a module that does not have them yet."""
    for name, func in functions.items():
        if not isinstance(obj, ModuleOp):
            raise ValueError(
                f"{what}: the new bindings call @{name}; rewrite the module of the "
                "function, which gets it"
            )
        found = SymbolTable.lookup_symbol(obj, name)
        if found is None:
            obj.body.block.add_op(func.clone())
        elif not found.is_structurally_equivalent(func):
            raise ValueError(
                f"{what}: the new bindings call @{name}, and the module has another "
                "function of that name; rename one of them"
            )


def rewrite_call(pattern: DFPattern, rewriter: Callback, func: Rewritten) -> Rewritten:
    """A copy of a function, or of a module, with what a pattern matches rewritten.

    `rewriter` gets the matched expression and a dictionary of what parts of the pattern
    match, and returns the expression to compute instead, or the matched one to leave it.
    New bindings are rewritten as well, in the order of the program, and bindings that are
    not needed any more are erased. Raises what `PatternMatchingRewriter` raises.
    """
    return ExprPatternRewriter(pattern, rewriter).apply_as("rewrite_call", func)


def rewrite_bindings(
    ctx: PatternContext, rewriter: BindingsCallback, func: Rewritten
) -> Rewritten:
    """A copy of a function or a module, with what a graph of patterns matches rewritten.

    `rewriter` gets a dictionary of what the patterns match in a dataflow block, and one
    of the expressions that variables of the block are bound to. It returns a dictionary
    of new expressions for matched variables, an empty one to leave the block. The block
    is sorted afterwards, and matched again, in time linear in its size. Raises what
    `PatternMatchingRewriter` raises, and ValueError where new expressions need what they
    replace in a circle.
    """
    result = _copy("rewrite_bindings", func)
    _expect_callback(cast("Callback", rewriter))
    writers = _writers(func)
    for each in relax_functions(result):
        rewrite = FunctionRewrite("rewrite_bindings", each, writers)
        for op in list(each.walk()):
            if isinstance(op, relax.DataflowOp):
                while _rewrite_block(op, ctx, rewriter, rewrite):
                    pass
    result.verify()
    return result


def _rewrite_block(
    dataflow: relax.DataflowOp,
    ctx: PatternContext,
    rewriter: BindingsCallback,
    rewrite: FunctionRewrite,
) -> bool:
    """Rewrite what matches first in a dataflow block; whether something was rewritten."""
    end = dataflow.output_op
    matched = ctx.match_dfb(dataflow, lambda m: rewrite.may_use(m.values(), end))
    if matched is None:
        return False
    bindings = dict[Expr, Expr]()
    for op in dataflow.body.block.ops:
        if len(op.results) == 1:
            operands = [rewrite.variable(operand) for operand in op.operands]
            bindings[rewrite.variable(op.results[0])] = Computed(op, operands)
    given = cast("object", rewriter(rewrite.variables(matched), bindings))
    if not isinstance(given, Mapping):
        raise TypeError(
            "rewrite_bindings: the callback must return a dictionary of variables and "
            f"expressions, not {type(given).__name__}"
        )
    exprs = dict[OpResult, Expr]()
    for variable, expr in cast("Mapping[object, object]", given).items():
        value = variable.value if isinstance(variable, Var) else None
        if not isinstance(value, OpResult) or value.op.parent is not dataflow.body.block:
            raise ValueError(
                f"rewrite_bindings: {variable!r} is no variable of the dataflow block; "
                "give new expressions for variables that patterns have matched"
            )
        if (new := rewrite.replacement(expr, value)) is not None:
            exprs[value] = new
    if exprs:
        rewrite.replace_all(dataflow.body.block, exprs)
    return bool(exprs)
