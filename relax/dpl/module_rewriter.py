"""Rewriters of modules with a function `pattern` and a function `replacement`.

    @R.rewriter
    class AddToMultiply:
        @R.function
        def pattern(A: R.Tensor):
            B = A + A
            return B

        @R.function
        def replacement(A: R.Tensor):
            B = A * R.const(2.0, "float32")
            return B

Parameters stand for what is matched; their types say what it must be. Bindings of
`pattern` are matched with all attributes. Private functions that `replacement` calls are
added to the module that is rewritten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import SymbolTable

from xdsl_tvm.analysis.relax.dataflow_patterns.expressions import (
    Extents,
    ExternName,
    Fields,
    GlobalName,
    Node,
    OperatorName,
    call_view,
    dims_of,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.matching import (
    Match,
    Solutions,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.patterns import (
    CallPattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    StructInfoPattern,
    TupleGetItemPattern,
    TuplePattern,
    WildcardPattern,
)
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.algebra import erase_symbols, is_base_of, solve_symbols
from xdsl_tvm.dialects.relax.attributes import DimAttr, Dims, DimsAttr
from xdsl_tvm.dialects.relax.operators import InferredResultOp
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import substitute_symbols, symbols_in
from xdsl_tvm.relax.dpl.rewriters import (
    ExprPatternRewriter,
    PatternMatchingRewriter,
    TupleRewriter,
)
from xdsl_tvm.relax.expr import Computed, Expr, Placeholders, Tuple

_PATTERN, _REPLACEMENT = "pattern", "replacement"
_WHAT = "PatternMatchingRewriter.from_module"


def rewriter_of(module: ModuleOp) -> PatternMatchingRewriter:
    """The rewriter that a module describes.

    Several results of `pattern`, a tuple, are matched and replaced together. Raises
    TypeError for what is no module, ValueError for one without the two functions, for
    functions whose parameters or results do not agree, and for bindings that no pattern
    can be made of: control flow, casts and function literals.
    """
    if not isinstance(cast("object", module), ModuleOp):
        raise TypeError(f"{_WHAT} reads a module, not {type(module).__name__}")
    pattern, replacement = _function(module, _PATTERN), _function(module, _REPLACEMENT)
    given, taken = pattern.function_type.inputs, replacement.function_type.inputs
    if given != taken:
        raise ValueError(
            f"{_WHAT}: @{_PATTERN} and @{_REPLACEMENT} must have the same parameters, "
            f"not {given} and {taken}"
        )
    reader = _PatternReader(pattern)
    template = _Template(replacement)
    if len(reader.outputs) != template.count:
        raise ValueError(
            f"{_WHAT}: @{_PATTERN} has {len(reader.outputs)} results and @{_REPLACEMENT} "
            f"{template.count}"
        )

    def rewrite(matched_expr: Expr, matched: dict[DFPattern, Expr]) -> Expr:
        values = {p: each.matched_value()[0] for p, each in matched.items()}
        symbols = reader.symbols_of(values)
        assert symbols is not None, "matched"
        exprs = template.build([matched[p] for p in reader.params], symbols)
        return exprs[0] if len(exprs) == 1 else Tuple(exprs)

    *others, last = reader.outputs
    patterns = [*others, _Conditional(last, reader)]
    result: PatternMatchingRewriter
    if others:
        result = TupleRewriter(patterns, rewrite)
    else:
        result = ExprPatternRewriter(patterns[0], rewrite)
    result.subroutines = _called(module, replacement)
    return result


def _function(module: ModuleOp, name: str) -> relax.FuncOp:
    found = SymbolTable.lookup_symbol(module, name)
    if not isinstance(found, relax.FuncOp) or not found.body.blocks:
        raise ValueError(f"{_WHAT}: the module has no Relax function @{name}")
    return found


def _called(module: ModuleOp, func: relax.FuncOp) -> dict[str, Operation]:
    """The functions that a function calls, and that these call, by name."""
    found, pending = dict[str, Operation](), [func]
    while pending:
        for op in pending.pop().walk():
            callee = op.properties.get("callee")
            if not isinstance(callee, SymbolRefAttr):
                continue
            name = callee.root_reference.data
            target = SymbolTable.lookup_symbol(module, name)
            if target is not None and name not in found:
                found[name] = target
                pending += [target] if isinstance(target, relax.FuncOp) else []
    return found


# ---- what is matched ----


@dataclass
class _PatternReader:
    """The patterns that a function describes."""

    func: relax.FuncOp
    params: list[DFPattern] = field(init=False)
    """The pattern of each parameter."""
    outputs: list[DFPattern] = field(init=False)
    """The pattern of each result."""
    _patterns: dict[SSAValue, DFPattern] = field(init=False)
    _shapes: dict[DFPattern, Dims] = field(default_factory=dict[DFPattern, Dims])
    """Patterns of shapes with symbols, and their dimensions."""

    def __post_init__(self) -> None:
        self.params = [
            StructInfoPattern(WildcardPattern(), erase_symbols(arg.type, ()))
            for arg in self.func.args
        ]
        self._patterns = dict(zip(self.func.args, self.params, strict=True))
        self._read(self.func.body.block)
        returned = self.func.return_op.value
        owner = _named(returned).owner
        values = owner.elements if isinstance(owner, relax.TupleOp) else (returned,)
        self.outputs = [self._patterns[value] for value in values]
        for value, output in zip(values, self.outputs, strict=True):
            if not isinstance(output, _SameAttributes | TupleGetItemPattern):
                name = value.name_hint or "_"
                raise ValueError(
                    f"{_WHAT}: the result '{name}' of @{_PATTERN} must be a call; there "
                    "is nothing to match in a parameter, a constant or a tuple"
                )
        for arg in self.func.args:
            if not arg.uses:
                raise ValueError(
                    f"{_WHAT}: the parameter '{arg.name_hint or '_'}' of @{_PATTERN} is "
                    f"not used, so nothing says what it is; remove it from both functions"
                )

    def _read(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, relax.DataflowOp):
                self._read(op.body.block)
                for result, value in zip(op.outputs, op.output_op.values, strict=True):
                    self._patterns[result] = self._patterns[value]
            elif not isinstance(op, relax.ReturnOp | relax.OutputOp):
                if len(op.results) != 1:
                    raise self._unsupported(op)
                self._patterns[op.results[0]] = self._pattern(op)

    def _pattern(self, op: Operation) -> DFPattern:
        match op:
            case relax.AliasOp():
                return self._patterns[op.value]
            case relax.TupleOp():
                return TuplePattern([self._patterns[each] for each in op.elements])
            case relax.GetItemOp():
                whole = self._patterns[op.tuple_value]
                return TupleGetItemPattern(whole, op.index.value.data)
            case relax.GlobalRefOp():
                return GlobalVarPattern(op.callee.root_reference.data)
            case relax.ShapeOp() if any(symbols_in(op)):
                pattern = WildcardPattern()
                self._shapes[pattern] = op.values.data
                return pattern
            case relax.ConstantOp() | relax.ShapeOp() | relax.PrimValueOp():
                if any(symbols_in(op)):
                    raise self._unsupported(op)
                return ExprPattern(op.results[0])
            case _:
                call = call_view(op)
                if call is None:
                    raise self._unsupported(op)
                args = [self._part(each) for each in call.args]
                callee = self._part(call.callee)
                pattern = CallPattern(callee, args, add_constraint=False)
                return _SameAttributes(pattern, op)

    def _part(self, node: Node) -> DFPattern:
        match node:
            case OperatorName():
                return ExprPattern(node)
            case GlobalName():
                return GlobalVarPattern(node.name)
            case ExternName():
                return ExternFuncPattern(node.name)
            case Fields():
                return TuplePattern([self._patterns[value] for value in node.values])
            case Extents():
                pattern = WildcardPattern()
                self._shapes[pattern] = node.dims
                return pattern
            case SSAValue():
                return self._patterns[node]
            case _:
                raise self._unsupported(node)

    def _unsupported(self, op: Operation) -> ValueError:
        return ValueError(
            f"{_WHAT}: {op.name} in @{_PATTERN} cannot be matched; a pattern is made of "
            "calls, tuples and constants"
        )

    def symbols_of(self, matched: Mapping[DFPattern, Node]) -> dict[str, Dim] | None:
        """What the symbols of the function are, None where types do not fit.

        What has not been matched yet is left out.
        """
        pairs = [
            (arg.type, value.type)
            for arg, param in zip(self.func.args, self.params, strict=True)
            if isinstance(value := matched.get(param), SSAValue)
        ]
        params, types = [p for p, _ in pairs], [t for _, t in pairs]
        solved = solve_symbols(params, types)
        if len(pairs) == len(self.params) and not set(solved).issuperset(
            self.func.symbol_names
        ):
            return None
        if any(not is_base_of(substitute_symbols(p, solved), t) for p, t in pairs):
            return None
        return solved

    def fits(self, match: Match) -> bool:
        """Whether types and shapes with symbols fit what has been matched."""
        nodes: dict[DFPattern, Node] = {}
        for pattern in (*self.params, *self._shapes):
            if (node := match.get(pattern)) is not None:
                nodes[pattern] = node
        symbols = self.symbols_of(nodes)
        if symbols is None:
            return False
        for pattern, dims in self._shapes.items():
            if pattern in nodes:
                wanted = DimsAttr(_with_symbols(dims, symbols))
                found = dims_of(nodes[pattern], match.bindings)
                if found is None or DimsAttr(found) != wanted:
                    return False
        return True


def _named(value: SSAValue) -> SSAValue:
    """The value that a result of a dataflow block is."""
    while isinstance(value, OpResult) and isinstance(value.op, relax.DataflowOp):
        value = value.op.output_op.values[value.index]
    return value


def _with_symbols(dims: Dims, symbols: Mapping[str, Dim]) -> Dims:
    return tuple(None if dim is None else dim.substitute(symbols) for dim in dims)


class _SameAttributes(DFPattern):
    """What a pattern matches, with all attributes of an operation."""

    def __init__(self, pattern: DFPattern, op: Operation) -> None:
        self.pattern = pattern
        self._op = op

    def solutions(self, node: Node, match: Match) -> Solutions:
        op = match.bindings.definition(node)
        if op is not None and _attributes(op) == _attributes(self._op):
            yield from match.solutions(self.pattern, node)


def _attributes(op: Operation) -> dict[str, Attribute]:
    """The attributes that are no part of the call."""
    given = op.properties | op.attributes
    return {k: v for k, v in given.items() if k not in ("callee", "tir_vars")}


class _Conditional(DFPattern):
    """What a pattern matches, where the types of parameters fit."""

    def __init__(self, pattern: DFPattern, reader: _PatternReader) -> None:
        self.pattern = pattern
        self._reader = reader

    def solutions(self, node: Node, match: Match) -> Solutions:
        for _ in match.solutions(self.pattern, node):
            if self._reader.fits(match):
                yield


# ---- what takes its place ----


class _Template:
    """A function whose body is computed of other values."""

    def __init__(self, func: relax.FuncOp) -> None:
        self._func = func
        owner = _named(func.return_op.value).owner
        self._returned: Sequence[SSAValue] = (func.return_op.value,)
        if isinstance(owner, relax.TupleOp):
            self._returned = tuple(owner.elements)
        self.count = len(self._returned)
        """How many results there are."""
        for op in func.body.walk():
            is_block = isinstance(op, relax.DataflowOp)
            if isinstance(op, relax.MatchCastOp) or (op.regions and not is_block):
                raise ValueError(
                    f"{_WHAT}: {op.name} in @{_REPLACEMENT} cannot be put in the place "
                    "of a match; write calls, tuples and constants"
                )

    def build(self, args: Sequence[Expr], symbols: Mapping[str, Dim]) -> list[Expr]:
        """The results for these arguments, with symbols replaced."""
        exprs: dict[SSAValue, Expr] = dict(zip(self._func.args, args, strict=True))
        for op in self._func.body.walk(region_first=True):
            if isinstance(op, relax.DataflowOp):
                for result, value in zip(op.outputs, op.output_op.values, strict=True):
                    exprs[result] = exprs[value]
            elif op.results:
                exprs[op.results[0]] = _instance(op, exprs, symbols)
        return [exprs[value] for value in self._returned]


def _instance(
    op: Operation, exprs: Mapping[SSAValue, Expr], symbols: Mapping[str, Dim]
) -> Computed:
    """The expression of an operation, of other operands and with other symbols."""
    operands = Placeholders()
    values = {operand: operands.of(exprs[operand]) for operand in op.operands}
    new = op.clone(values)
    for name, attribute in new.properties.items():
        if isinstance(attribute, DimAttr):
            new.properties[name] = DimAttr(attribute.data.substitute(symbols))
        elif isinstance(attribute, DimsAttr):
            new.properties[name] = DimsAttr(_with_symbols(attribute.data, symbols))
    if isinstance(new, InferredResultOp):
        type_ = new.infer_result_type()
    else:
        type_ = substitute_symbols(new.results[0].type, symbols)
    Rewriter.replace_value_with_new_type(new.results[0], type_)
    return operands.expr(new)
