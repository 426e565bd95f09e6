"""Visitors and mutators of Relax programs, TVM's `relax.expr_functor`.

A subclass overrides `visit_…_` methods, which get expressions of the builder: variables
as `Var`, all else as `Computed`, whose `op` is the operation of the program; calls are
`Call`, with `args` and `attrs`. Constants, shapes, numbers and tuples that an operation
takes are visited where they are used, as in TVM. Functions are `relax.func` operations.

    @relax.expr_functor.mutator
    class ReluToGelu(PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if call.op.name == "relax.nn.relu":
                return relax.op.nn.gelu(call.args[0])
            return call

Strings and dtypes are attributes of operations here, so nothing visits them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation, OpResult, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.analysis.relax.dataflow_patterns.expressions import (
    ExternName,
    GlobalName,
    OperatorName,
    call_view,
    is_dataflow_variable,
)
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.dialects.relax.algebra import is_base_of
from xdsl_tvm.dialects.relax.operators import InferredResultOp
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.relax.block_builder import BlockBuilder
from xdsl_tvm.relax.expr import Computed, Expr, Placeholders, Var
from xdsl_tvm.relax.program_reader import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    MatchCast,
    ProgramReader,
    SeqExpr,
    VarBinding,
)

__all__ = [
    "Binding",
    "BindingBlock",
    "Call",
    "DataflowBlock",
    "MatchCast",
    "MutationBuilder",
    "PyExprMutator",
    "PyExprVisitor",
    "SeqExpr",
    "VarBinding",
    "mutator",
    "visitor",
]

_Class = TypeVar("_Class", bound=type)


Visited: TypeAlias = (
    "Expr | SeqExpr | relax.FuncOp | GlobalVar | OperatorName | ExternName"
)

_METHODS: Sequence[tuple[type[Operation], str]] = (
    (relax.ConstantOp, "visit_constant_"),
    (relax.TupleOp, "visit_tuple_"),
    (relax.ShapeOp, "visit_shape_expr_"),
    (relax.PrimValueOp, "visit_prim_value_"),
    (relax.GetItemOp, "visit_tuple_getitem_"),
    (relax.LambdaOp, "visit_function_"),
    (relax.IfOp, "visit_if_"),
    (relax.GlobalRefOp, "visit_global_ref_"),
)


class _ExprFunctor:
    """Finds the method for an expression, a binding or a block."""

    def __init__(self) -> None:
        self._reader = ProgramReader()

    def visit_expr(self, expr: Visited) -> Any:
        """Visit an expression, a function or a body. Raises TypeError for all else."""
        return getattr(self, _method(expr))(expr)

    def visit_binding(self, binding: Binding) -> None:
        """Visit a binding."""
        is_cast = isinstance(binding, MatchCast)
        name = "visit_match_cast_" if is_cast else "visit_var_binding_"
        getattr(self, name)(binding)

    def visit_binding_block(self, block: BindingBlock) -> None:
        """Visit a block of bindings."""
        is_dataflow = isinstance(block, DataflowBlock)
        name = "visit_dataflow_block_" if is_dataflow else "visit_binding_block_"
        getattr(self, name)(block)

    def visit_var_def(self, var: Var) -> None:
        """Visit a variable where it is bound."""
        is_dataflow = var.value is not None and is_dataflow_variable(var.value)
        getattr(self, "visit_dataflow_var_def_" if is_dataflow else "visit_var_def_")(var)

    # ---- definitions and leaves, which hold nothing ----

    def visit_var_def_(self, var: Var) -> None:
        """Visit a variable where it is bound."""

    def visit_dataflow_var_def_(self, var: Var) -> None:
        """Visit a variable of a dataflow block where it is bound."""

    def visit_binding_block_(self, block: BindingBlock) -> None:
        """Visit bindings that follow each other."""
        for binding in block.bindings:
            self.visit_binding(binding)


def _method(expr: object) -> str:
    match expr:
        case Var():
            is_dataflow = expr.value is not None and is_dataflow_variable(expr.value)
            return "visit_dataflow_var_" if is_dataflow else "visit_var_"
        case Computed():
            for kind, name in _METHODS:
                if isinstance(expr.op, kind):
                    return name
            return "visit_call_"
        case SeqExpr():
            return "visit_seq_expr_"
        case relax.FuncOp():
            return "visit_function_"
        case GlobalVar():
            return "visit_global_var_"
        case OperatorName():
            return "visit_op_"
        case ExternName():
            return "visit_extern_func_"
        case _:
            raise TypeError(
                f"visit_expr: a {type(expr).__name__} is no expression; visit functions, "
                "and expressions of the builder"
            )


def _retyped(op: Operation, old: Operation) -> Operation:
    """A copy of an operation, with the type that follows where those of operands do not
    stay."""
    types = list(op.operand_types)
    if types != list(old.operand_types):
        if isinstance(op, relax.TupleOp):
            Rewriter.replace_value_with_new_type(op.result, relax.TupleType.of(types))
        elif isinstance(op, InferredResultOp):
            Rewriter.replace_value_with_new_type(op.result, op.infer_result_type())
    return op


def _callee(op: Operation) -> GlobalVar | OperatorName | ExternName | None:
    """What a call names as its callee, None for a value."""
    view = call_view(op)
    callee = None if view is None else view.callee
    if isinstance(callee, GlobalName):
        return GlobalVar(callee.name)
    return callee if isinstance(callee, OperatorName | ExternName) else None


def _function(expr: object) -> relax.FuncOp | relax.LambdaOp:
    """The function that is visited."""
    func = expr.op if isinstance(expr, Computed) else expr
    assert isinstance(func, relax.FuncOp | relax.LambdaOp)
    return func


class PyExprVisitor(_ExprFunctor):
    """Visits a program; a subclass overrides what it is interested in.

    An overriding method visits what is in its argument by `super().visit_…_(…)`.
    """

    def visit_constant_(self, op: Computed) -> None:
        """Visit a constant."""

    def visit_shape_expr_(self, op: Computed) -> None:
        """Visit a shape."""

    def visit_prim_value_(self, op: Computed) -> None:
        """Visit a scalar."""

    def visit_var_(self, op: Var) -> None:
        """Visit a variable where it is used."""

    def visit_dataflow_var_(self, op: Var) -> None:
        """Visit a variable of a dataflow block where it is used."""

    def visit_op_(self, op: OperatorName) -> None:
        """Visit the operator of a call."""

    def visit_extern_func_(self, op: ExternName) -> None:
        """Visit the function of the runtime that is called."""

    def visit_global_var_(self, op: GlobalVar) -> None:
        """Visit a function of the module where it is named."""

    def visit_global_ref_(self, op: Computed) -> None:
        """Visit a function of the module as a value."""
        assert isinstance(op.op, relax.GlobalRefOp)
        self.visit_expr(GlobalVar(op.op.callee.root_reference.data))

    def visit_tuple_(self, op: Computed) -> None:
        """Visit a tuple."""
        self._visit_operands(op)

    def visit_tuple_getitem_(self, op: Computed) -> None:
        """Visit a field of a tuple."""
        self._visit_operands(op)

    def visit_call_(self, op: Call) -> None:
        """Visit a call: what is called, then the arguments."""
        callee = _callee(op.op)
        if callee is not None:
            self.visit_expr(callee)
        self._visit_operands(op)

    def _visit_operands(self, op: Computed) -> None:
        for operand in op.operands:
            self.visit_expr(operand)

    def visit_function_(self, op: relax.FuncOp | Computed) -> None:
        """Visit a function of the module, or a literal: parameters, then the body."""
        func = _function(op)
        for arg in func.args:
            self.visit_var_def(self._reader.var(arg))
        self.visit_expr(self._reader.sequence(func.body.block))

    def visit_seq_expr_(self, op: SeqExpr) -> None:
        """Visit a body: the blocks, then the result."""
        for block in op.blocks:
            self.visit_binding_block(block)
        self.visit_expr(op.body)

    def visit_if_(self, op: Computed) -> None:
        """Visit a choice: the condition, then both branches."""
        self._visit_operands(op)
        for region in op.op.regions:
            self.visit_expr(self._reader.sequence(region.block))

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Visit a binding: the value, then the variable."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """Visit a cast: the value, then the variable."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_dataflow_block_(self, block: DataflowBlock) -> None:
        """Visit the bindings of a dataflow block."""
        self.visit_binding_block_(block)


class MutationBuilder(BlockBuilder):
    """The builder of a mutator: what it emits is in the function that is mutated."""

    def __init__(self, mod: ModuleOp | None = None) -> None:
        super().__init__()
        self._module = IRModule() if mod is None else IRModule.of(mod)
        self.variables: dict[SSAValue, Expr] = {}
        """What is used for the values of the functions that are visited."""

    def update_func(self, gv: GlobalVar | str, updated_func: Operation) -> None:
        """Put a function into the module, in the place of the one of that name.

        Raises VerifyException where there is none.
        """
        name = gv if isinstance(gv, str) else gv.name_hint
        if name not in self._module:
            raise VerifyException(
                f"update_func: the module has no function @{name}; add it with add_func"
            )
        self._module[name] = updated_func.clone()

    def get(self) -> IRModule:
        """The module with its new functions, verified."""
        result = self._module.clone()
        for op in self._functions.values():
            result.body.block.add_op(op.clone())
        result.verify()
        return result

    def take(self, name: str) -> relax.FuncOp:
        """The function that was built last, which is not part of the module yet."""
        func = self._functions.pop(name)
        assert isinstance(func, relax.FuncOp)
        return func

    def value_of(self, expr: Expr) -> SSAValue:
        """The value of an expression in the block that is open."""
        return self._place(expr)

    def lookup_binding(self, var: Var) -> Expr | None:
        """What a variable is bound to; None for parameters."""
        value = var.value
        return ProgramReader().computed(value.op) if isinstance(value, OpResult) else None

    def _build(self, expr: Computed) -> Operation:
        op = super()._build(expr)
        return _retyped(op, expr.op)

    def _value_here(self, expr: Expr) -> SSAValue:
        # Methods may return expressions of what they were given, with variables of the
        # old function, as TVM's do: those that nothing has changed are the same there.
        if isinstance(expr, Var) and expr.value is not None:
            new = self.variables.get(expr.value)
            if new is not None and new is not expr:
                return self._place(new)
        return super()._value_here(expr)


class PyExprMutator(_ExprFunctor):
    """Rewrites a program; a subclass overrides what it changes.

    Methods for expressions return the expression to use instead, `visit_function_` the
    new function, verified. A function is built anew by `builder_`, binding by binding, so
    `self.builder_.emit(...)` in a method emits before the binding that is visited. `mod`
    is the module that `self.builder_.get()` returns, after `update_func`.
    """

    def __init__(self, mod: ModuleOp | None = None) -> None:
        super().__init__()
        self.builder_ = MutationBuilder(mod)
        self._variables = self.builder_.variables

    # ---- for methods of subclasses ----

    def visit_expr_post_order(self, expr: Expr) -> Any:
        """The expression with its operands visited, and its type inferred again."""
        if not isinstance(expr, Computed):
            return self.visit_expr(expr)
        if expr.op.regions:
            return getattr(self, _method(expr))(expr)
        return self._rebuilt(expr)

    def lookup_binding(self, var: Var) -> Expr | None:
        """What a variable of the new function is bound to; None for parameters."""
        return self.builder_.lookup_binding(var)

    def set_var_remap(self, var: Var, new: Expr) -> None:
        """Use an expression where a variable of the old function was used."""
        self._variables[var.ssa] = new

    def get_var_remap(self, var: Var) -> Expr:
        """What is used for a variable of the old function, KeyError for nothing."""
        return self._variables[var.ssa]

    # ---- expressions ----

    def visit_constant_(self, op: Computed) -> Expr:
        """What a constant becomes."""
        return op

    def visit_shape_expr_(self, op: Computed) -> Expr:
        """What a shape becomes."""
        return op

    def visit_prim_value_(self, op: Computed) -> Expr:
        """What a scalar becomes."""
        return op

    def visit_global_ref_(self, op: Computed) -> Expr:
        """What a function of the module as a value becomes."""
        return self._rebuilt(op)

    def visit_var_(self, op: Var) -> Expr:
        """What a variable becomes where it is used."""
        return op if op.value is None else self._variables.get(op.value, op)

    def visit_dataflow_var_(self, op: Var) -> Expr:
        """What a variable of a dataflow block becomes where it is used."""
        return op if op.value is None else self._variables.get(op.value, op)

    def visit_global_var_(self, op: GlobalVar) -> GlobalVar:
        """The function of the module that is called instead."""
        return op

    def visit_op_(self, op: OperatorName) -> OperatorName:
        """The operator of a call, which only `visit_call_` can change."""
        return op

    def visit_extern_func_(self, op: ExternName) -> ExternName:
        """The function of the runtime that is called instead."""
        return op

    def visit_tuple_(self, op: Computed) -> Expr:
        """What a tuple becomes."""
        return self._rebuilt(op)

    def visit_tuple_getitem_(self, op: Computed) -> Expr:
        """What a field of a tuple becomes."""
        return self._rebuilt(op)

    def visit_call_(self, op: Call) -> Expr:
        """What a call becomes."""
        return self._rebuilt(op)

    def _rebuilt(self, expr: Computed) -> Computed:
        """The expression of what its operands and its callee become."""
        placeholders = Placeholders()
        new = [self._expect(self.visit_expr(each), each) for each in expr.operands]
        values = [placeholders.of(each) for each in new]
        op = expr.with_operands(values)
        callee = _callee(op)
        if callee is not None and not isinstance(callee, OperatorName):
            changed = self.visit_expr(callee)
            if isinstance(changed, GlobalVar):
                op.properties["callee"] = SymbolRefAttr(changed.name_hint)
            elif isinstance(changed, ExternName):
                op.properties["callee"] = StringAttr(changed.name)
        result = placeholders.expr(_retyped(op, expr.op))
        return Call(result.op, result.operands) if isinstance(expr, Call) else result

    def _expect(self, given: object, old: object) -> Expr:
        """What a method has returned. Raises TypeError for what is no expression."""
        if not isinstance(given, Expr):
            raise TypeError(
                f"{type(self).__name__}.{_method(old)} must return an expression, not "
                f"{type(given).__name__}"
            )
        return given

    # ---- functions and blocks ----

    def visit_function_(self, op: relax.FuncOp | Computed) -> Any:
        """The new function of the module, or what a literal becomes."""
        func = _function(op)
        params = [Var(arg.name_hint or "_", arg.type) for arg in func.args]
        self._variables.update(zip(func.args, params, strict=True))
        for arg in func.args:
            self.visit_var_def(self._reader.var(arg))
        sequence = self._reader.sequence(func.body.block)
        if isinstance(func, relax.LambdaOp):
            return self._literal(func, params, sequence)
        name, attributes = func.sym_name.data, func.attributes
        with self.builder_.function(name, params, attributes, func.is_pure, private=True):
            body = self._expect(self.visit_expr(sequence), sequence)
            self.builder_.emit_func_output(body)
        result = self.builder_.take(name)
        if is_base_of(func.output_type, result.output_type):
            inputs = [arg.type for arg in result.args]
            result.function_type = FunctionType.from_lists(inputs, [func.output_type])
        result.location = func.location
        result.verify()
        return result

    def _literal(
        self, func: relax.LambdaOp, params: Sequence[Var], sequence: SeqExpr
    ) -> Expr:
        own = func.own_value
        all_params = list(params)
        if own is not None:
            itself = Var(own.name_hint or "_", own.type)
            self._variables[own] = itself
            all_params.insert(0, itself)
        pure = func.is_pure and not func.is_forced_pure
        with self.builder_.function_literal(all_params, pure) as block:
            body = self._expect(self.visit_expr(sequence), sequence)
            block.add_op(relax.ReturnOp(self.builder_.value_of(body)))
        new = relax.LambdaOp(
            [param.struct_info for param in params],
            func.type.ret,
            Region(block),
            symbols=func.symbol_names,
            attributes=func.attributes,
            impure=not func.is_pure,
            recursive=own is not None,
            var_name=None if func.var_name is None else func.var_name.data,
        )
        new.location = func.location
        return Computed(new, ())

    def visit_seq_expr_(self, op: SeqExpr) -> Expr:
        """Visit the blocks of a body; what its result becomes."""
        for block in op.blocks:
            self.visit_binding_block(block)
        return self._expect(self.visit_expr(op.body), op.body)

    def visit_if_(self, op: Computed) -> Expr:
        """What a choice becomes: it is emitted, branch by branch."""
        true, false = (self._reader.sequence(region.block) for region in op.op.regions)
        condition = self._expect(self.visit_expr(op.operands[0]), op.operands[0])
        with self.builder_.If(condition, op.op.results[0].name_hint or "") as result:
            with self.builder_.Then():
                self.builder_.emit_branch_output(self.visit_expr(true))
            with self.builder_.Else():
                self.builder_.emit_branch_output(self.visit_expr(false))
        return result

    def visit_dataflow_block_(self, block: DataflowBlock) -> None:
        """Build a dataflow block of what its bindings become."""
        outputs = list[Expr]()
        with self.builder_.dataflow():
            self.visit_binding_block_(block)
            for value in block.op.output_op.values:
                expr = self._reader.expr(value)
                new = self._expect(self.visit_expr(expr), expr)
                outputs.append(self.builder_.emit_output(new, value.name_hint or ""))
        self._variables.update(zip(block.op.outputs, outputs, strict=True))

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Bind a variable to what its value becomes."""
        self.visit_var_def(binding.var)
        new = self._expect(self.visit_expr(binding.value), binding.value)
        if isinstance(binding.value, Var):
            # A second name stays one.
            new = self.builder_.emit(new, binding.var.name_hint)
            self._variables[binding.var.ssa] = new
        else:
            self.bind(binding.var, new)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """Bind a variable to what is cast."""
        self.visit_var_def(binding.var)
        new = self._expect(self.visit_expr(binding.value), binding.value)
        name = binding.var.name_hint
        cast_value = self.builder_.match_cast(new, binding.struct_info, name)
        self._variables[binding.var.ssa] = cast_value

    def bind(self, var: Var, value: Expr) -> None:
        """Emit a value and use it where a variable of the old function was used."""
        if isinstance(value, Var) and value.struct_info == var.struct_info:
            new: Expr = value
        else:
            new = self.builder_.emit(value, var.name_hint)
        if var.value is not None:
            self._variables[var.value] = new


def visitor(visitor_cls: _Class) -> _Class:
    """Marks a subclass of `PyExprVisitor`, as TVM does. TypeError for other classes."""
    return _checked(visitor_cls, PyExprVisitor, "visitor")


def mutator(mutator_cls: _Class) -> _Class:
    """Marks a subclass of `PyExprMutator`, as TVM does. TypeError for other classes."""
    return _checked(mutator_cls, PyExprMutator, "mutator")


def _checked(cls: _Class, base: type, name: str) -> _Class:
    if not isinstance(cast("object", cls), type) or not issubclass(cls, base):
        raise TypeError(
            f"relax.expr_functor.{name} decorates a subclass of {base.__name__}, not "
            f"{getattr(cls, '__name__', cls)!r}"
        )
    unknown = [
        key for key in vars(cls) if key.startswith("visit_") and not hasattr(base, key)
    ]
    if unknown:
        hint = did_you_mean(unknown[0], [k for k in dir(base) if k.startswith("visit_")])
        raise TypeError(f"{cls.__name__}: nothing calls {unknown[0]}{hint}")
    return cls
