"""Reads the bodies of Relax functions: bindings, dataflow blocks, branches.

Expressions are evaluated as in TIR; what functions of `R` and operators on values make
becomes operations in the order of the text. Names may be given new values (
docs/spec/tvmscript.md §11).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.dialects.relax.types import used_symbols
from xdsl_tvm.relax.expr import Expr, Var
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError
from xdsl_tvm.tvmscript.nodes.relax_types import annotated_type
from xdsl_tvm.tvmscript.reading.expression_reader import ExpressionReader
from xdsl_tvm.tvmscript.reading.macros import Macro
from xdsl_tvm.tvmscript.reading.relax_calls import output
from xdsl_tvm.tvmscript.reading.relax_values import FunctionBuilder
from xdsl_tvm.tvmscript.reading.scope import Scope
from xdsl_tvm.tvmscript.reading.source import Source

_UNSUPPORTED: Mapping[type[ast.stmt], str] = {
    ast.For: "a loop; Relax functions have none, call a function that calls itself",
    ast.While: "a loop; Relax functions have none, call a function that calls itself",
    ast.Assert: "'assert'; use R.assert_op",
    ast.Try: "'try'; use 'if'",
    ast.Delete: "'del'; a value ends with its last use",
    ast.Global: "'global'; names outside of the script are read without it",
    ast.Nonlocal: "'nonlocal'; names outside of the script are read without it",
    ast.ClassDef: "a nested class; put the function into a module of its own",
    ast.Raise: "'raise'; use R.assert_op",
    ast.Import: "an import; names outside of the script are visible in it",
    ast.ImportFrom: "an import; names outside of the script are visible in it",
    ast.Match: "'match'; use 'if'",
    ast.Break: "'break'",
    ast.Continue: "'continue'",
}
_INFERRED = (
    relax.OperatorOp,
    relax.CallOp,
    relax.CallIndirectOp,
    relax.GlobalRefOp,
    relax.IfOp,
)
"""Operations whose result may be declared otherwise than it is inferred."""


class DataflowFrame:
    """`R.dataflow()`, which `with` opens."""


@dataclass(frozen=True)
class RelaxMarker:
    """Marks a Relax function; what its decorator says."""

    check_well_formed: bool = True
    private: bool = False
    pure: bool = True


class FunctionTable(Protocol):
    """The functions of the module that is read, as far as bodies call them."""

    source: Source

    def __contains__(self, name: str) -> bool: ...

    def type_of(self, name: str) -> relax.FuncType:
        """The type of a Relax function."""
        ...

    def is_pure_prim_func(self, name: str) -> bool:
        """Whether a direct call of a TIR function has no effects."""
        ...

    def literal(
        self,
        node: ast.FunctionDef,
        options: RelaxMarker,
        scope: Scope,
        around: FunctionBuilder,
    ) -> relax.LambdaOp:
        """A function in a function."""
        ...


class RelaxBodyReader(ExpressionReader):
    """Reads the body of a function into a builder."""

    def __init__(
        self,
        functions: FunctionTable,
        scope: Scope,
        builder: FunctionBuilder,
    ) -> None:
        super().__init__(functions.source, scope)
        self._functions = functions
        self._builder = builder
        self._last_before: Operation | None = None
        """The last operation before the statement that is read."""
        self._handlers: dict[type[ast.stmt], Callable[[Any], object]] = {
            ast.Pass: lambda node: None,
            ast.Expr: self._expression,
            ast.Assign: self._assignment,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.If: self._if,
            ast.With: self._with,
            ast.FunctionDef: self._local,
        }

    # ---- bodies ----

    def read_function(self, node: ast.FunctionDef) -> Var:
        """The statements of a function; what it returns."""
        *body, last = node.body
        self._read_all(body)
        if not isinstance(last, ast.Return):
            self._read(last)
            raise self.error(
                node, f"function '{node.name}' must end with 'return' and a value"
            )
        self._at(last)
        with self.blaming(last):
            return self._returned(last)

    def _returned(self, node: ast.Return) -> Var:
        if node.value is None:
            raise ScriptTypeError("'return' needs a value; R.tuple() is none")
        value = self.evaluate(node.value)
        with self.blaming(node.value):
            return Var.bound("", self._builder.of(value))

    def _read_all(self, body: Iterable[ast.stmt]) -> None:
        for stmt in body:
            self._read(stmt)

    def _at(self, node: ast.stmt) -> None:
        """Starts a statement."""
        self._builder.position = node
        self._last_before = self._builder.block.last_op

    def _read(self, node: ast.stmt) -> object:
        self._at(node)
        with self.blaming(node):
            self.scope.rules.step()
            handler = self._handlers.get(type(node))
            if handler is not None:
                return handler(node)
            if isinstance(node, ast.Return):
                raise SyntaxError("'return' is the last statement of a function")
            what = _UNSUPPORTED.get(type(node), f"a {type(node).__name__} statement")
            raise SyntaxError(f"a Relax function cannot hold {what}")

    # ---- calls ----

    def _call(
        self, function: object, args: Sequence[object], named: Mapping[str, object]
    ) -> object:
        match function:
            case Macro():
                return self._splice(function, args, named)
            case ex.GlobalVar():
                if named:
                    raise TypeError("a call of a function accepts no keywords")
                return self._call_global(function, args)
            case _:
                return super()._call(function, args, named)

    def _call_global(self, function: ex.GlobalVar, args: Sequence[object]) -> object:
        name, builder = function.name, self._builder
        if name in self._functions:
            found = GlobalVar(name, self._functions.type_of(name))(*cast(Any, args))
            return found if isinstance(found, Var) else None
        operands = [builder.of(arg) for arg in args]
        returned = function.ret_type
        result = None if returned is None else relax.PrimType.of(returned)
        is_pure = self._functions.is_pure_prim_func(name)
        if is_pure and result is None:
            # It does nothing; a pure call has a result, so that it means something.
            if builder.allows_effects:
                is_pure = False
            else:
                result = relax.VOID
        return builder.emit(relax.CallOp(name, operands, result, not is_pure))

    def _splice(
        self, macro: Macro, args: Sequence[object], named: Mapping[str, object]
    ) -> object:
        """Reads the body of a macro in the place of its call; what it returns."""
        bound = macro.bind(args, named)
        evaluator = self._evaluator
        source, scope = evaluator.source, evaluator.scope
        if macro.hygienic:
            evaluator.scope = macro.scope()
        evaluator.source = macro.source
        try:
            with self.scope.body():
                for name, value in bound.items():
                    self.scope.define(name, value)
                *body, last = macro.node.body
                self._read_all(body)
                if isinstance(last, ast.Return) and last.value is not None:
                    return self.evaluate(last.value)
                self._read(last)
                return None
        finally:
            evaluator.source, evaluator.scope = source, scope

    # ---- bindings ----

    def _assignment(self, node: ast.Assign) -> None:
        if len(node.targets) > 1:
            raise SyntaxError(
                "a script cannot assign to several targets at once; write one assignment "
                "for each"
            )
        self._assign(node.targets[0], self.evaluate(node.value))

    def _assign(self, target: ast.expr, value: object) -> None:
        with self.blaming(target):
            match target:
                case ast.Name(id=name):
                    self._bind(name, value)
                case ast.Tuple(elts=targets) | ast.List(elts=targets):
                    parts = self._parts(value)
                    if len(parts) != len(targets):
                        raise ValueError(f"{len(targets)} names for {len(parts)} values")
                    for part, each in zip(targets, parts, strict=True):
                        self._assign(part, each)
                case _:
                    raise SyntaxError(
                        f"a Relax function cannot assign to '{ast.unparse(target)}'; "
                        "values do not change"
                    )

    def _parts(self, value: object) -> list[object]:
        """What a tuple is taken apart into."""
        if isinstance(value, list | tuple):
            return list(cast("Sequence[object]", value))
        if isinstance(value, Var) and isinstance(value.struct_info, relax.TupleType):
            return list(value)
        raise TypeError("only a tuple of known fields can be taken apart")

    def _bind(self, name: str, value: object) -> object:
        if isinstance(value, ex.Var):
            if not value.name:
                value.name = name
            bound = value
        elif value is None:
            bound = self._with_result()
        else:
            bound = self._builder.bound(value)
        self._name_value(name, bound)
        return bound

    def _name_value(self, name: str, value: object) -> None:
        if isinstance(value, Var):
            value.name_hint = name
            set_name_hint(value.ssa, name)
        self.scope.define(name, value, shadow=True)

    def _with_result(self) -> object:
        """What a call without a result is bound to: a tuple of no fields.

        A call of unknown code is made once more with one as its result. Raises TypeError
        where the statement is no call.
        """
        last = self._builder.block.last_op
        if last is None or last is self._last_before or last.results:
            raise TypeError("what is bound to a name is no value")
        if not isinstance(last, relax.CallPackedOp | relax.CallBuiltinWithCtxOp):
            return ()
        last.detach()
        again = type(last)(last.callee.data, last.arguments, relax.VOID)
        last.erase()
        return self._builder.value_of(again)

    def _annotated(self, node: ast.AnnAssign) -> None:
        target = node.target
        if not isinstance(target, ast.Name):
            raise SyntaxError("only a name can be annotated")
        if node.value is None:
            raise SyntaxError(f"'{target.id}' needs a value")
        value = self.evaluate(node.value)
        type_ = self._annotation(node)
        with self.blaming(node.value):
            bound = self._annotated_value(value)
            if isinstance(bound, tuple):
                if type_ == relax.VOID:
                    self._name_value(target.id, cast("tuple[object, ...]", bound))
                    return
                bound = self._builder.tuple([])
            if not isinstance(bound, Var):
                raise ScriptTypeError(
                    f"a {type(value).__name__} is no value of Relax, it has no annotation"
                )
            typed = self._typed(bound, type_)
            if typed.name_hint:
                typed = self._builder.alias(typed)
        self._name_value(target.id, typed)

    def _annotated_value(self, value: object) -> object:
        if value is None:
            return self._with_result()
        # A name that gets a type is an alias once, not twice.
        return value if isinstance(value, Var) else self._builder.bound(value)

    def _annotation(self, node: ast.AnnAssign) -> Attribute:
        annotation = self.evaluate(node.annotation)
        with self.blaming(node.annotation):
            found = annotated_type(annotation, self._builder.devices)
            self._builder.check_visible("", used_symbols(found))
            return found

    def _typed(self, value: Var, type_: Attribute) -> Var:
        """The value under a type that is declared for it."""
        found = value.struct_info
        if found == type_:
            return value
        if relax.base_check(type_, found) == relax.Check.IMPOSSIBLE:
            raise ScriptTypeError(f"the value is a {found}, but {type_} is declared")
        op = value.ssa.owner
        if isinstance(op, relax.MakeClosureOp) and isinstance(type_, relax.FuncType):
            found = self._closure_type(op)
            if not value.name_hint and relax.is_base_of(type_, found):
                Rewriter.replace_value_with_new_type(op.result, type_)
                return Var.bound("", op.result)
        if not value.name_hint and isinstance(op, _INFERRED):
            Rewriter.replace_value_with_new_type(op.results[0], type_)
            try:
                op.verify_()
                return Var.bound("", op.results[0])
            except VerifyException:
                Rewriter.replace_value_with_new_type(op.results[0], found)
                value = Var.bound("", op.results[0])
        if not relax.is_base_of(type_, found):
            raise ScriptTypeError(
                f"the value is a {found}, which is not always the declared {type_}; use "
                "R.match_cast to check when the program runs"
            )
        return self._builder.alias(value, type_)

    def _closure_type(self, op: relax.MakeClosureOp) -> Attribute:
        """The type of a function of the module without the arguments that are given."""
        name = op.callee.root_reference.data
        if name not in self._functions:
            return op.result.type
        func = self._functions.type_of(name)
        params = func.param_types or ()
        rest = params[: max(len(params) - len(op.captured), 0)]
        ret = relax.erase_symbols(func.ret, set(parameter_symbols(rest)))
        return relax.FuncType.of(rest, ret, func.is_pure)

    def _augmented(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise SyntaxError("values do not change; assign to a name")
        old = self.evaluate(ast.copy_location(ast.Name(node.target.id), node.target))
        with self.blaming(node):
            self._bind(
                node.target.id,
                self._evaluator.binary(type(node.op), old, self.evaluate(node.value)),
            )

    # ---- statements ----

    def _expression(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        value = self.evaluate(node.value)
        if isinstance(value, Var) and value.struct_info == relax.VOID:
            return
        if value is not None:
            kind = "value" if isinstance(value, Expr) else type(value).__name__
            raise TypeError(
                f"a {kind} that is not used is no statement; bind it to a name"
            )

    def _with(self, node: ast.With) -> None:
        if len(node.items) != 1 or node.items[0].optional_vars is not None:
            raise SyntaxError("'with' opens one R.dataflow(), which has no name")
        frame = self.evaluate(node.items[0].context_expr)
        if not isinstance(frame, DataflowFrame):
            raise TypeError("'with' opens R.dataflow() in a Relax function")
        self._dataflow(node)

    def _dataflow(self, node: ast.With) -> None:
        builder = self._builder
        *body, last = node.body
        with builder.dataflow() as block, self.scope.body():
            self._read_all(body)
            self._at(last)
            names = self._output(last)
            values = [self._output_value(last, name, block) for name in names]
        self._at(node)
        results = builder.add_dataflow(block, [value.ssa for value in values])
        for name, result in zip(names, results, strict=True):
            self._name_value(name, Var.bound(name, result))

    def _output(self, node: ast.stmt) -> list[str]:
        """The names that the last statement of a dataflow block gives out."""
        match node:
            case ast.Expr(value=ast.Call(args=args, keywords=[]) as call) if (
                self._is_output(call.func)
            ):
                pass
            case _:
                self._read(node)
                raise self.error(node, "a dataflow block ends with R.output(...)")
        names = [arg.id for arg in args if isinstance(arg, ast.Name)]
        if len(names) < len(args):
            raise self.error(node, "R.output takes names of variables of the block")
        if len(set(names)) < len(names):
            raise self.error(node, "R.output names a variable twice")
        return names

    def _is_output(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name | ast.Attribute) and (
            self.evaluate(node) is output
        )

    def _output_value(self, node: ast.stmt, name: str, block: Block) -> Var:
        with self.blaming(node):
            value = self.scope[name]
            if not isinstance(value, Var):
                raise ScriptTypeError(f"R.output: '{name}' is no variable")
            owner = value.ssa.owner
            if not isinstance(owner, Operation) or owner.parent is not block:
                raise ScriptTypeError(
                    f"R.output: '{name}' is no variable of this dataflow block"
                )
            return value

    # ---- branches ----

    def _if(self, node: ast.If) -> tuple[str, Var] | None:
        condition = self.evaluate(node.test)
        if isinstance(condition, bool):
            self._read_all(node.body if condition else node.orelse)
            return None
        with self.blaming(node.test):
            operand = self._builder.of(condition)
        self._builder.check_if(operand.type)
        if not node.orelse:
            raise SyntaxError("'if' needs 'else': each branch gives the result a value")
        first, second = self._branch(node.body), self._branch(node.orelse)
        if first.name != second.name:
            raise SyntaxError(
                f"both branches must end with the same variable, not '{first.name}' and "
                f"'{second.name}'"
            )
        regions = Region(first.block), Region(second.block)
        declared = [each.declared for each in (first, second) if each.declared]
        result = None
        if declared:
            types = [each.declared or each.value.struct_info for each in (first, second)]
            result = relax.common_base(*types)
        op = relax.IfOp(operand, *regions, result)
        self._at(node)
        found = self._builder.value_of(op)
        self._name_value(first.name, found)
        return first.name, found

    def _branch(self, body: Sequence[ast.stmt]) -> _Branch:
        block = Block()
        *first, last = body
        with self._builder.inside(block), self.scope.body():
            self._read_all(first)
            self._at(last)
            with self.blaming(last):
                branch = self._last(last, block)
        block.add_op(relax.YieldOp(branch.value.ssa))
        return branch

    def _last(self, node: ast.stmt, block: Block) -> _Branch:
        """What the last statement of a branch gives its result."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]):
                return _Branch(name, self._last_value(name, node.value), block)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Name() as value):
                found = self._last_value(name, value)
                return _Branch(name, found, block, self._annotation(node))
            case ast.AnnAssign(target=ast.Name(id=name)):
                self._annotated(node)
                return _Branch(name, self._as_value(self.scope[name]), block)
            case ast.FunctionDef():
                self._local(node)
                return _Branch(node.name, self._as_value(self.scope[node.name]), block)
            case ast.If():
                found = self._if(node)
                if found is not None:
                    return _Branch(found[0], found[1], block)
            case _:
                self._read(node)
        raise SyntaxError(
            "a branch ends with the variable that is its result, 'name = value'"
        )

    def _last_value(self, name: str, node: ast.expr) -> Var:
        value = self.evaluate(node)
        with self.blaming(node):
            if isinstance(value, Var) and value.name_hint:
                return value
            return self._as_value(self._bind(name, value))

    def _as_value(self, value: object) -> Var:
        if isinstance(value, Var):
            return value
        return Var.bound("", self._builder.of(value))

    # ---- functions in functions ----

    def _local(self, node: ast.FunctionDef) -> None:
        """A function literal under its name."""
        options = self._options(node)
        op = self._functions.literal(node, options, self.scope, self._builder)
        self._name_value(node.name, self._builder.value_of(op))

    def _options(self, node: ast.FunctionDef) -> RelaxMarker:
        marker = None
        if node.decorator_list:
            marker = self.evaluate(node.decorator_list[-1])
        if not isinstance(marker, RelaxMarker):
            raise self.error(node, "a function in a function needs @R.function")
        return RelaxMarker(marker.check_well_formed, True, marker.pure)


@dataclass(frozen=True)
class _Branch:
    """A branch of an `if`: what its result is called, and which value it is."""

    name: str
    value: Var
    block: Block
    declared: Attribute | None = None
