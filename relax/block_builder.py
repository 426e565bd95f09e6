"""Building Relax functions binding by binding, as TVM's `relax.BlockBuilder` does.

    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(relax.op.exp(x))
            z = bb.emit_output(y + 1.0)
        bb.emit_func_output(z)
    module = bb.get()

What the rules of the dialect forbid raises VerifyException, one line, where it is said.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.relax.algebra import erase_symbols
from xdsl_tvm.dialects.relax.functions import FORCE_PURE, parameter_symbols
from xdsl_tvm.dialects.relax.types import verify_type
from xdsl_tvm.dialects.tir.annotations import annotation_attr, is_true
from xdsl_tvm.relax.expr import (
    Computed,
    Emittable,
    Expr,
    Placeholders,
    Var,
    as_expr,
    operands_first,
)
from xdsl_tvm.relax.function_body import FunctionBody
from xdsl_tvm.tvm_words import missing

_Kind: TypeAlias = Literal["function", "dataflow", "if", "branch"]


@dataclass
class _Scope:
    """What is open: a block that is filled, and which values are in it."""

    kind: _Kind
    block: Block = field(default_factory=Block)
    placed: dict[Expr, SSAValue] = field(default_factory=dict[Expr, SSAValue])
    """Values of the expressions that are part of the program."""
    outputs: list[Var] = field(default_factory=list[Var])
    """Of a dataflow block, what is visible after it; of a branch, its one result."""
    given_out: list[tuple[Var, Var]] = field(default_factory=list[tuple[Var, Var]])
    """Variables of a dataflow block, and what they are after it."""
    branches: dict[bool, Block] = field(default_factory=dict[bool, Block])
    """Of an if, the branches by the condition."""


@dataclass
class _Function:
    """The function that is built."""

    params: Sequence[Var]
    pure: bool
    attributes: dict[str, Attribute]
    body: FunctionBody
    op: relax.FuncOp | None = None
    """The operation, once the function has its result."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.body.name


_CURRENT: ContextVar[BlockBuilder | None] = ContextVar("block_builder", default=None)
"""The builder whose function is open."""


class BlockBuilder:
    """Collects functions, and the bindings of the one that is open.

    An expression is part of the program once it is emitted, or is part of one that is;
    it is computed once in the block where it is emitted, and where that is visible.
    """

    def __init__(self, mod: ModuleOp | None = None) -> None:
        """A builder of a new module, or of a copy of one."""
        self._start = IRModule() if mod is None else IRModule.of(mod)
        """The module without the functions that are built: its attributes."""
        self._functions = {var.name_hint: op for var, op in self._start.functions.items()}
        for op in self._functions.values():
            op.detach()
        self._scopes: list[_Scope] = []
        self._function: _Function | None = None
        self._open_names: set[str] = set()
        """Of the functions that are not finished, which are built one aside the other."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing("relax.BlockBuilder", name)

    @staticmethod
    def current() -> BlockBuilder | None:
        """The builder whose function is open, the innermost one; None without one."""
        return _CURRENT.get()

    # ---- functions ----

    @contextmanager
    def function(
        self,
        name: str,
        params: Var | Sequence[Var] = (),
        attrs: Mapping[str, object] | None = None,
        pure: bool = True,
        private: bool = False,
    ) -> Generator[None]:
        """Build a function; `emit_func_output` ends it.

        A function that is not private can be called from outside of the module by its
        name, its attribute `global_symbol`. Raises VerifyException for a name that is
        taken, and for parameters that are variables of something else. Variables that
        were parameters of a finished function may be those of another.
        """
        if self._function is not None:
            raise VerifyException(
                f"relax.func @{name}: @{self._function.name} is not finished yet"
            )
        if not name:
            raise VerifyException("relax.func: it needs a name")
        if name in self._functions or name in self._open_names:
            raise VerifyException(f"relax.func @{name}: there is such a function already")
        variables = [params] if isinstance(params, Var) else list(params)
        attributes = _attributes(name, attrs or {}, private)
        before = _earlier_values(name, variables)
        body = _function_body(name, variables)
        body.is_pure = pure and not is_true(attributes.get(FORCE_PURE))
        self._function = _Function(variables, pure, attributes, body)
        self._scopes = [_Scope("function", body.entry)]
        self._open_names.add(name)
        outer = _CURRENT.set(self)
        try:
            yield
            if (func := self._function.op) is None:
                raise VerifyException(
                    f"relax.func @{name}: the result is missing; call emit_func_output"
                )
            self._functions[name] = func
        finally:
            _CURRENT.reset(outer)
            self._open_names.discard(name)
            if name not in self._functions:
                # They can be parameters of another try.
                for variable, value in zip(variables, before, strict=True):
                    variable.value = value
            self._function = None
            self._scopes = []

    @contextmanager
    def aside(self) -> Generator[None]:
        """Build other functions before the open one is gone on with."""
        outer = self._function, self._scopes
        self._function, self._scopes = None, []
        try:
            yield
        finally:
            self._function, self._scopes = outer

    def emit_func_output(
        self, output: Emittable, params: Sequence[Var] | None = None
    ) -> GlobalVar:
        """End the function with its result; gives what calls it.

        The type of the result holds only symbols of the parameters. `params` may repeat
        what the function was begun with; they must be given there.
        """
        function, scope = self._open("emit_func_output", "function")
        if params is not None and list(params) != list(function.params):
            raise VerifyException(
                f"relax.func @{function.name}: parameters are given where the function "
                "is begun, as in bb.function(name, params)"
            )
        value = self._place(as_expr(output))
        inputs = [param.struct_info for param in function.params]
        visible = parameter_symbols(inputs)
        scope.block.add_op(relax.ReturnOp(value))
        func = relax.FuncOp(
            function.name,
            inputs,
            erase_symbols(value.type, visible),
            Region(scope.block),
            attributes=function.attributes,
            impure=not function.pure,
        )
        func.verify_()
        function.op = func
        return GlobalVar(function.name, func.type)

    def add_func(self, func: Operation, name_hint: str) -> GlobalVar:
        """Add a function that was made otherwise, of TIR or Relax, under a free name.

        A module with one function is taken for that. Raises VerifyException for what is
        no function.
        """
        if isinstance(func, ModuleOp):
            functions = list(func.body.block.ops)
            if len(functions) != 1:
                raise VerifyException(
                    f"add_func: the module must hold one function, not {len(functions)}"
                )
            func = functions[0]
        if not isinstance(func, tir.FuncOp | relax.FuncOp):
            raise VerifyException(
                f"add_func: '{name_hint}' must be a function of tir or relax, "
                f"not {func.name}"
            )
        name = self.free_name(name_hint)
        added = func.clone()
        if "global_symbol" in added.attributes and added.sym_name.data != name:
            added.attributes["global_symbol"] = StringAttr(name)
        self._functions[name] = added
        return GlobalVar(name, added.type if isinstance(added, relax.FuncOp) else None)

    def update_func(self, gv: GlobalVar, updated_func: Operation) -> None:
        """Put a function of TIR or Relax in the place of one.

        Raises VerifyException if there is none, and for what is no function.
        """
        name = gv.name_hint
        if name not in self._functions:
            raise VerifyException(f"update_func: there is no function @{name}")
        if not isinstance(updated_func, tir.FuncOp | relax.FuncOp):
            raise VerifyException(
                f"update_func: '{name}' must be a function of tir or relax, not "
                f"{updated_func.name}"
            )
        self._functions[name] = updated_func.clone()

    def take_func(self, gv: GlobalVar) -> Operation:
        """Remove a function from the module, and return it."""
        return self._functions.pop(gv.name_hint)

    def free_name(self, hint: str) -> str:
        """A name that no function has: the hint, with a number if it is taken."""
        taken = self._functions.keys() | self._open_names
        name, count = hint, 0
        while name in taken:
            count += 1
            name = f"{hint}_{count}"
        return name

    def get(self) -> IRModule:
        """The module of all functions, verified. Functions can be added afterwards."""
        if self._function is not None:
            raise VerifyException(
                f"relax.func @{self._function.name} is not finished yet"
            )
        module = self._start.clone()
        module.update({name: op.clone() for name, op in self._functions.items()})
        for func in module.body.block.ops:
            if isinstance(func, relax.FuncOp):
                func.verify_()
        module.verify()
        return module

    def finalize(self) -> IRModule:
        """The module of all functions, as `get` gives it."""
        return self.get()

    # ---- bindings ----

    def emit(self, value: Emittable, name_hint: str = "") -> Var:
        """Compute a value here and bind it to a variable.

        A variable that is emitted is bound under another name. Raises VerifyException for
        symbols that are not known here, for impure calls in a dataflow block or in a pure
        function, and for values that are not visible here.
        """
        scope = self._fillable("emit")
        expr = as_expr(value)
        if isinstance(expr, Var):
            operands = Placeholders()
            expr = operands.expr(relax.AliasOp(operands.of(expr)))
        assert isinstance(expr, Computed)
        op = self._emit(expr, name_hint)
        if not op.results:
            return Var(name_hint or "void", relax.VOID)
        scope.placed[expr] = op.results[0]
        return Var.bound(op.results[0].name_hint or self._default_name, op.results[0])

    def match_cast(self, value: Expr, struct_info: Attribute, name_hint: str = "") -> Var:
        """Bind a value under a type that is checked when the program runs.

        Symbols of the type that are not known here, and are a dimension by themselves,
        are defined by it. Raises VerifyException for a type that the value cannot have.
        """
        self._fillable("match_cast")
        verify_type(struct_info)
        operand = self._place(as_expr(value))
        found = self._body.match_cast(operand, struct_info)
        self._name_result(found, name_hint)
        return Var.bound(found.name_hint or self._default_name, found)

    @contextmanager
    def dataflow(self) -> Generator[None]:
        """A block of bindings without side effects; `emit_output` gives what it makes."""
        self._fillable("dataflow")
        with self._body.dataflow() as block:
            inner = _Scope("dataflow", block)
            with self._inside(inner):
                yield
        values = [output.ssa for output in inner.outputs]
        results = self._body.add_dataflow(block, values)
        for output, result in zip(inner.outputs, results, strict=True):
            set_name_hint(result, output.name_hint)
            output.value = result
        for inside, output in inner.given_out:
            inside.value = output.value

    def emit_output(self, value: Emittable, name_hint: str = "") -> Var:
        """Bind a value that is visible after the dataflow block, too.

        A variable of the block is given out as it is, and is visible after it, too.
        """
        scope = self._scopes[-1] if self._scopes else None
        if scope is None or scope.kind != "dataflow":
            raise VerifyException("emit_output must be in `with bb.dataflow():`")
        expr = as_expr(value)
        if not isinstance(expr, Var):
            expr = self.emit(expr, name_hint or "gv")
        placed = self._place(expr)
        result = Var.bound(name_hint or expr.name_hint, placed)
        scope.outputs.append(result)
        if isinstance(placed.owner, Operation) and placed.owner.parent is scope.block:
            scope.given_out.append((expr, result))
        return result

    @contextmanager
    def function_literal(
        self, params: Sequence[Var], pure: bool = True
    ) -> Generator[Block]:
        """Fill the block of a function in the open one; its parameters are `params`.

        What is visible outside can be used in it. The block has no terminator yet.
        """
        self._fillable("function_literal")
        assert self._function is not None
        name = self._function.name
        _earlier_values(name, params)
        inner = _Function(params, pure, {}, _function_body(name, params))
        inner.body.is_pure = pure
        outer, self._function = self._function, inner
        try:
            with self._inside(_Scope("function", inner.body.entry)):
                yield inner.body.entry
        finally:
            self._function = outer

    # ---- choices ----

    @contextmanager
    def If(self, condition: Expr, name_hint: str = "") -> Generator[Var]:
        """One of two values: `with bb.If(c) as result:` holds a `Then` and an `Else`.

        `result` can be used after it; its type is what both branches have in common.
        Raises VerifyException where it is in a dataflow block and where the condition
        is no bool scalar.
        """
        self._fillable("If")
        condition = as_expr(condition)
        self._body.check_if(condition.struct_info)
        value = self._place(condition)
        result = Var(name_hint or "gv", relax.OBJECT)
        scope = _Scope("if")
        with self._inside(scope):
            yield result
        if set(scope.branches) != {True, False}:
            raise VerifyException("relax.if: it needs both `bb.Then()` and `bb.Else()`")
        true, false = (Region(scope.branches[key]) for key in (True, False))
        op = relax.IfOp(value, true, false)
        self._insert(op, result.name_hint)
        result.struct_info, result.value = op.result.type, op.result

    @contextmanager
    def Then(self) -> Generator[None]:
        """What is computed where the condition holds; `emit_branch_output` ends it."""
        with self._branch(True, "Then"):
            yield

    @contextmanager
    def Else(self) -> Generator[None]:
        """What is computed where the condition fails; `emit_branch_output` ends it."""
        with self._branch(False, "Else"):
            yield

    @contextmanager
    def _branch(self, key: bool, word: str) -> Generator[None]:
        outer = self._scopes[-1] if self._scopes else None
        if outer is None or outer.kind != "if":
            raise VerifyException(f"{word} must be directly in `with bb.If(…):`")
        if key in outer.branches:
            raise VerifyException(f"relax.if: {word} is there twice")
        scope = _Scope("branch")
        with self._body.inside(scope.block), self._inside(scope):
            yield
        if not isinstance(scope.block.last_op, relax.YieldOp):
            raise VerifyException(
                f"relax.if: the result of {word} is missing; call emit_branch_output"
            )
        outer.branches[key] = scope.block

    def emit_branch_output(self, value: Emittable) -> None:
        """End a branch of an `If` with its result."""
        _, scope = self._open("emit_branch_output", "branch")
        scope.block.add_op(relax.YieldOp(self._place(as_expr(value))))

    # ---- scopes ----

    def _open(self, what: str, kind: _Kind) -> tuple[_Function, _Scope]:
        """The function and the innermost scope, which must be of the kind and open."""
        if self._function is None or self._scopes[-1].kind != kind:
            raise VerifyException(f"{what} must be directly in a {kind}")
        self._fillable(what)
        return self._function, self._scopes[-1]

    def _fillable(self, what: str) -> _Scope:
        """The innermost scope, which must take bindings."""
        if not self._scopes:
            raise VerifyException(f"{what} must be in `with bb.function(…):`")
        scope = self._scopes[-1]
        if scope.kind == "if":
            raise VerifyException(f"{what} must be in a Then or an Else of the If")
        if isinstance(scope.block.last_op, relax.ReturnOp | relax.YieldOp):
            raise VerifyException(f"{what} is after the result of its {scope.kind}")
        return scope

    @contextmanager
    def _inside(self, scope: _Scope) -> Generator[None]:
        """The scope is the innermost one, until it is left, by an error perhaps."""
        depth = len(self._scopes)
        self._scopes.append(scope)
        try:
            yield
        finally:
            del self._scopes[depth:]

    @property
    def _body(self) -> FunctionBody:
        assert self._function is not None
        return self._function.body

    @property
    def _default_name(self) -> str:
        return "lv" if self._scopes[-1].kind == "dataflow" else "gv"

    # ---- from expressions to operations ----

    def _place(self, expr: Expr) -> SSAValue:
        """The value of an expression, computed here unless it is already."""
        for current in operands_first(expr, lambda each: self._find(each) is not None):
            op = self._build(current)
            self._insert(op, "")
            self._scopes[-1].placed[current] = _result(op)
        return self._value_here(expr)

    def _emit(self, expr: Computed, name_hint: str) -> Operation:
        """Insert the operation of an expression, even if it was computed before."""
        for operand in expr.operands:
            self._place(operand)
        op = self._build(expr)
        self._insert(op, name_hint)
        return op

    def _build(self, expr: Computed) -> Operation:
        """The operation of an expression whose operands are computed."""
        return expr.with_operands([self._value_here(each) for each in expr.operands])

    def _insert(self, op: Operation, name_hint: str) -> None:
        self._body.add(op)
        for result in op.results:
            self._name_result(result, name_hint)

    def _name_result(self, result: SSAValue, name_hint: str) -> None:
        name = name_hint or self._default_name
        if not SSAValue.is_valid_name(name):
            owner = result.owner
            what = owner.name if isinstance(owner, Operation) else "relax.func"
            raise VerifyException(f"{what}: '{name}' cannot be the name of a variable")
        set_name_hint(result, name)

    def _find(self, expr: Expr) -> SSAValue | None:
        for scope in reversed(self._scopes):
            if (value := scope.placed.get(expr)) is not None:
                return value
        return None

    def _value_here(self, expr: Expr) -> SSAValue:
        if not isinstance(expr, Var):
            value = self._find(expr)
            assert value is not None, "placed before"
            return value
        owner = expr.ssa.owner
        block = owner if isinstance(owner, Block) else owner.parent
        if all(scope.block is not block for scope in self._scopes):
            raise VerifyException(
                f"relax.Var '{expr.name_hint}' is not visible here: it belongs to "
                "another function, or to a dataflow block or branch that is closed"
            )
        return expr.ssa


def _result(op: Operation) -> SSAValue:
    if not op.results:
        raise VerifyException(f"{op.name} gives nothing that could be used")
    return op.results[0]


def _earlier_values(name: str, params: Sequence[Var]) -> list[SSAValue | None]:
    """The values of variables that are to be parameters, as those of other functions."""
    for param in params:
        _expect_var(name, param)
        if param.value is not None and not _is_parameter(param.value):
            raise VerifyException(
                f"relax.func @{name}: relax.Var '{param.name_hint}' cannot be a "
                "parameter, it has a value already"
            )
        verify_type(param.struct_info)
    if len(set(params)) != len(params):
        raise VerifyException(f"relax.func @{name}: a parameter is there twice")
    return [param.value for param in params]


def _function_body(name: str, params: Sequence[Var]) -> FunctionBody:
    body = FunctionBody(name, [param.struct_info for param in params], is_pure=True)
    for param, value in zip(params, body.entry.args, strict=True):
        set_name_hint(value, param.name_hint)
        param.value = value
    return body


def _is_parameter(value: SSAValue) -> bool:
    """Whether a value is a parameter of a function that is finished."""
    return isinstance(value.owner, Block) and isinstance(
        value.owner.parent_op(), relax.FuncOp
    )


def _expect_var(name: str, param: object) -> None:
    if not isinstance(param, Var):
        raise VerifyException(
            f"relax.func @{name}: a parameter must be a relax.Var, not {param!r}"
        )


def _attributes(
    name: str, attrs: Mapping[str, object], private: bool
) -> dict[str, Attribute]:
    result: dict[str, Attribute] = {}
    if not private:
        result["global_symbol"] = StringAttr(name)
    for key, value in attrs.items():
        try:
            result[key] = annotation_attr(value)
        except ValueError as error:
            raise VerifyException(f"relax.func @{name}: {key}: {error}") from None
    return result
