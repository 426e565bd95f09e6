"""Visiting and rewriting Relax functions, in the words of TVM's `relax.expr_functor`.

    @mutator
    class ReluToGelu(PyExprMutator):
        def visit_call_(self, call):
            if call.op.name == "relax.nn.relu":
                return relax.op.nn.gelu(call.args[0])
            return super().visit_call_(call)

    rewriter = ReluToGelu(mod)
    for gv, func in mod.functions_items():
        if isinstance(func, relax.Function):
            rewriter.builder_.update_func(gv, rewriter.visit_expr(func))
    mod = rewriter.builder_.get()

A call is an operation of the function with expressions as arguments, `relax.Call`:
`call.op` is the operation, whose `name` is TVM's, and `call.args` are its operands, so a
function that is called is an attribute of `call.op`. Constants, tuples and fields have
methods of their own. Other operations, dataflow blocks, branches and casts are walked
through, and not visited. What TVM visits besides is refused by the decorators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.relax.operators import InferredResultOp
from xdsl_tvm.relax.block_builder import BlockBuilder
from xdsl_tvm.relax.expr import Computed, Expr, Placeholders, Var

C = TypeVar("C", bound=type)

_WALKED = (relax.DataflowOp, relax.IfOp, relax.MatchCastOp, relax.AliasOp)
_TERMINATORS = (relax.ReturnOp, relax.OutputOp, relax.YieldOp)
_METHODS: dict[type[Operation], str] = {
    relax.ConstantOp: "visit_constant_",
    relax.TupleOp: "visit_tuple_",
    relax.GetItemOp: "visit_tuple_getitem_",
}
"""The methods for operations that are no calls."""


def _call(op: Operation, operands: list[Expr]) -> Computed:
    """The operation as an expression of others; its type follows from theirs."""
    placeholders = Placeholders()
    mapped = {
        old: placeholders.of(new) for old, new in zip(op.operands, operands, strict=True)
    }
    clone = op.clone(mapped)
    changed = any(old.type != new.type for old, new in mapped.items())
    if changed and isinstance(clone, relax.TupleOp):
        clone = relax.TupleOp(clone.operands)
    elif changed and isinstance(clone, InferredResultOp):
        clone = type(clone).create(
            operands=clone.operands,
            result_types=[clone.infer_result_type()],
            properties=clone.properties,
            attributes=clone.attributes,
        )
    return placeholders.expr(clone)


def _check_walkable(op: Operation) -> None:
    if op.regions and not isinstance(op, _WALKED):
        raise VerifyException(
            f"{op.name} is not visited; run relax.transform.LambdaLift before"
        )
    if len(op.results) > 1 and not isinstance(op, relax.DataflowOp):
        raise VerifyException(
            f"{op.name} has {len(op.results)} results and is not visited; operations of "
            "Relax have one"
        )


class PyExprVisitor:
    """Sees each call, constant, tuple and field of a function, in order."""

    def visit_expr(self, expr: Expr | relax.FuncOp) -> None:
        """Visit a function, or an expression by itself."""
        if isinstance(expr, relax.FuncOp):
            self.visit_function_(expr)
        elif isinstance(expr, Computed):
            self._visit(expr)
        else:
            self.visit_var_(cast(Var, expr))

    def visit_function_(self, op: relax.FuncOp) -> None:
        """Visit what a function holds."""
        for each in _operations(op):
            operands: list[Expr] = [_variable(value) for value in each.operands]
            self._visit(_call(each, operands))

    def _visit(self, expr: Computed) -> None:
        getattr(self, _METHODS.get(type(expr.op), "visit_call_"))(expr)

    def visit_call_(self, op: Computed) -> None:
        """Visit a call: its arguments."""
        for argument in op.args:
            self.visit_expr(argument)

    def visit_constant_(self, op: Computed) -> None:
        """Visit a constant."""

    def visit_tuple_(self, op: Computed) -> None:
        """Visit a tuple: its fields."""
        PyExprVisitor.visit_call_(self, op)

    def visit_tuple_getitem_(self, op: Computed) -> None:
        """Visit a field of a tuple: the tuple."""
        PyExprVisitor.visit_call_(self, op)

    def visit_var_(self, op: Var) -> None:
        """Visit the use of a variable."""


def _operations(function: relax.FuncOp) -> Iterator[Operation]:
    """What a visitor sees of a function."""
    for op in function.body.walk():
        _check_walkable(op)
        if not isinstance(op, (*_WALKED, *_TERMINATORS)):
            yield op


def _variable(value: SSAValue) -> Var:
    return Var.bound(value.name_hint or "", value)


class PyExprMutator:
    """Rewrites functions: each call, constant, tuple and field by its method.

    A method returns the expression to take the place of the given one, whose arguments
    are rewritten already. It may emit others before, by `builder_.emit`.
    """

    def __init__(self, mod: ModuleOp | None = None) -> None:
        self.builder_ = BlockBuilder(mod)
        """Builds the functions; it begins with those of the module."""
        self._values: dict[SSAValue, Expr] = {}

    def visit_expr(self, expr: relax.FuncOp | Expr) -> relax.FuncOp | Expr:
        """The function, or the expression, after the rewriting.

        Raises TypeError for a method that returns no expression, and VerifyException for
        what does not fit in its place.
        """
        if isinstance(expr, relax.FuncOp):
            return self.visit_function_(expr)
        return self._visit(expr) if isinstance(expr, Computed) else expr

    def visit_function_(self, op: relax.FuncOp) -> relax.FuncOp:
        """The function, with all that it holds rewritten."""
        params = [Var(arg.name_hint or "arg", arg.type) for arg in op.args]
        self._values = dict(zip(op.args, params, strict=True))
        attributes = dict(op.attributes)
        builder = self.builder_
        name = builder.free_name(op.sym_name.data)
        with builder.function(name, params, attributes, op.is_pure, private=True):
            self._block(op.body.block)
            builder.emit_func_output(self._values[op.return_op.value])
        result = builder.take_func(GlobalVar(name))
        assert isinstance(result, relax.FuncOp)
        result.sym_name = op.sym_name
        if result.return_op.value.type == op.return_op.value.type:
            # The declared type may say less.
            result.function_type = op.function_type
        return result

    def visit_call_(self, call: Computed) -> Expr:
        """What takes the place of a call: the call itself."""
        return call

    def visit_constant_(self, op: Computed) -> Expr:
        """What takes the place of a constant."""
        return op

    def visit_tuple_(self, op: Computed) -> Expr:
        """What takes the place of a tuple."""
        return op

    def visit_tuple_getitem_(self, op: Computed) -> Expr:
        """What takes the place of a field of a tuple."""
        return op

    def lookup_binding(self, var: Var) -> Computed | None:
        """The expression that a variable was bound to; None for a parameter."""
        owner = var.ssa.owner
        if isinstance(owner, Block | relax.DataflowOp | relax.IfOp):
            return None
        return _call(owner, [_variable(value) for value in owner.operands])

    # ---- rewriting ----

    def _visit(self, expr: Computed) -> Expr:
        method = _METHODS.get(type(expr.op), "visit_call_")
        result = cast(object, getattr(self, method)(expr))
        if not isinstance(result, Expr):
            raise TypeError(
                f"{type(self).__name__}.{method} must return an expression for "
                f"{expr.op.name}, not {type(result).__name__}"
            )
        return result

    def _block(self, block: Block) -> None:
        builder = self.builder_
        for op in block.ops:
            _check_walkable(op)
            match op:
                case relax.ReturnOp() | relax.YieldOp():
                    pass
                case relax.DataflowOp():
                    with builder.dataflow():
                        self._block(op.body.block)
                case relax.OutputOp():
                    outputs = op.parent_op()
                    assert isinstance(outputs, relax.DataflowOp)
                    for value, result in zip(op.values, outputs.outputs, strict=True):
                        given = self._values[value]
                        self._values[result] = builder.emit_output(
                            given, result.name_hint or ""
                        )
                case relax.IfOp():
                    self._if(op)
                case relax.MatchCastOp():
                    found = builder.match_cast(
                        self._values[op.operands[0]], _type(op), _hint(op)
                    )
                    self._values[op.result] = found
                case relax.AliasOp():
                    found = builder.emit(self._values[op.operands[0]], _hint(op))
                    self._values[op.results[0]] = found
                case _:
                    self._operation(op)

    def _operation(self, op: Operation) -> None:
        new = self._visit(_call(op, [self._values[value] for value in op.operands]))
        if not isinstance(new, Var):
            new = self.builder_.emit(new, _hint(op))
        for result in op.results:
            self._values[result] = new

    def _if(self, op: relax.IfOp) -> None:
        builder = self.builder_
        condition = self._values[op.condition]
        with builder.If(condition, op.result.name_hint or "") as found:
            for branch, region in (
                (builder.Then, op.true_region),
                (builder.Else, op.false_region),
            ):
                with branch():
                    self._block(region.block)
                    last = region.block.last_op
                    assert isinstance(last, relax.YieldOp), "verified"
                    builder.emit_branch_output(self._values[last.value])
        self._values[op.result] = found


def _type(op: Operation) -> Attribute:
    return op.results[0].type


def _hint(op: Operation) -> str:
    return op.results[0].name_hint or "" if op.results else ""


def _checked(cls: C, base: type) -> C:
    if not issubclass(cls, base):
        raise TypeError(f"{cls.__name__} must derive from {base.__name__}")
    for name in vars(cls):
        if name.startswith("visit_") and not hasattr(base, name):
            known = [each for each in vars(base) if each.startswith("visit_")]
            raise TypeError(
                f"{cls.__name__}.{name} would never be called; there are "
                f"{', '.join(known)}"
            )
    return cls


def visitor(visitor_cls: C) -> C:
    """Checks a class that derives from `PyExprVisitor`.

    Raises TypeError for one that does not, and for a method that nothing calls.
    """
    return _checked(visitor_cls, PyExprVisitor)


def mutator(mutator_cls: C) -> C:
    """Checks a class that derives from `PyExprMutator`.

    Raises TypeError for one that does not, and for a method that nothing calls.
    """
    return _checked(mutator_cls, PyExprMutator)
