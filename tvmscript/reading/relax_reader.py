"""Reads Relax functions: bindings, dataflow blocks, branches (spec tvmscript.md §11).

Expressions are evaluated as in TIR; what functions of `R` and operators on values make
becomes operations in the order of the text. Names may be given new values. A function in
a function is a literal, `relax.lambda`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from xdsl.dialects.builtin import LocationAttr, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.relax.algebra import erase_symbols, infer_call
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.dialects.relax.prim_func import verify_call_tir
from xdsl_tvm.dialects.relax.types import used_symbols
from xdsl_tvm.dialects.tir.purity import is_pure_function
from xdsl_tvm.tvmscript.errors import ScriptError
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError
from xdsl_tvm.tvmscript.nodes.relax_attributes import relax_attributes
from xdsl_tvm.tvmscript.nodes.relax_operators import operators
from xdsl_tvm.tvmscript.nodes.relax_types import Devices, annotated_type
from xdsl_tvm.tvmscript.reading.expression_reader import ExpressionReader
from xdsl_tvm.tvmscript.reading.macros import Macro
from xdsl_tvm.tvmscript.reading.relax_calls import FUNCTIONS, arguments, output
from xdsl_tvm.tvmscript.reading.relax_values import FunctionBuilder, Operand, Value
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
_NO_ANNOTATIONS: Mapping[str, object] = MappingProxyType({})


class DataflowFrame:
    """`R.dataflow()`, which `with` opens."""


@dataclass(frozen=True)
class RelaxMarker:
    """Marks a Relax function; what its decorator says."""

    check_well_formed: bool = True
    private: bool = False
    pure: bool = True


@dataclass
class ReadRelaxFunction:
    """A Relax function that was read, and where."""

    op: relax.FuncOp
    source: Source
    node: ast.FunctionDef
    check_well_formed: bool
    calls: Sequence[tuple[Operation, object]]
    """Calls of functions of the module, and the statements that hold them."""

    def check(self) -> None:
        """Verify the function in its module. Raises ScriptError."""
        functions = {
            each.sym_name.data: each
            for each in _siblings(self.op)
            if isinstance(each, tir.FuncOp)
        }
        for call, place in self.calls:
            if isinstance(call, relax.AnyCallTIROp):
                callee = functions.get(call.callee.root_reference.data)
                if callee is not None:
                    self._blame(place, lambda c=call, f=callee: verify_call_tir(c, f))
        self._blame(self.node, self.op.verify)

    def _blame(self, place: object, check: Callable[[], None]) -> None:
        try:
            check()
        except VerifyException as error:
            node = place if isinstance(place, ast.AST) else self.node
            text = " ".join(str(error).split())
            raise self.source.error(node, text) from error


def _siblings(op: Operation) -> Iterable[Operation]:
    block = op.parent_block()
    return () if block is None else block.ops


@dataclass
class _Declared:
    """A function whose signature has been read."""

    node: ast.FunctionDef
    options: RelaxMarker
    scope: Scope
    params: list[tuple[str, Attribute]]
    result: Attribute | None
    read: ReadRelaxFunction | None = None
    is_open: bool = False


class RelaxFunctions:
    """The Relax functions of a module: declared first, read when they are needed.

    `known` are the functions that were built before.
    """

    def __init__(self, source: Source, *, devices: Devices = ()) -> None:
        self.source = source
        self.devices = devices
        self.known: dict[str, relax.FuncOp] = {}
        self.prim_funcs: dict[str, Callable[[], tir.FuncOp | None]] = {}
        """Makes the TIR functions of the module, which were read before."""
        self._pure_prim_funcs: dict[str, bool] = {}
        self._declared: dict[str, _Declared] = {}

    def declare(
        self,
        node: ast.FunctionDef,
        options: RelaxMarker,
        scope: Scope,
        annotations: Mapping[str, object] = _NO_ANNOTATIONS,
    ) -> None:
        """Read a signature."""
        self._declared[node.name] = self._signature(node, options, scope, annotations)

    def _signature(
        self,
        node: ast.FunctionDef,
        options: RelaxMarker,
        scope: Scope,
        annotations: Mapping[str, object],
    ) -> _Declared:
        reader = SignatureReader(self.source, scope, self.devices, annotations)
        params = reader.params(node)
        result = None if node.returns is None else reader.type_of(node.returns, "return")
        return _Declared(node, options, scope, params, result)

    def __contains__(self, name: str) -> bool:
        return name in self._declared or name in self.known

    def names(self) -> list[str]:
        """The functions that are declared, in order."""
        return list(self._declared)

    def type_of(self, name: str) -> relax.FuncType:
        """The type of a function; it is read if only its body says what it returns."""
        if name in self.known:
            return self.known[name].type
        declared = self._declared[name]
        if declared.result is None:
            return self.read(name).op.type
        types = [type_ for _, type_ in declared.params]
        return relax.FuncType.of(types, declared.result, declared.options.pure)

    def is_pure_prim_func(self, name: str) -> bool:
        """Whether a direct call of a TIR function has no effects; found when asked."""
        found = self._pure_prim_funcs.get(name)
        if found is None:
            make = self.prim_funcs.get(name)
            function = None if make is None else make()
            found = function is not None and is_pure_function(function)
            self._pure_prim_funcs[name] = found
        return found

    def read(self, name: str) -> ReadRelaxFunction:
        """The function."""
        declared = self._declared[name]
        if declared.read is None:
            if declared.is_open:
                raise ScriptTypeError(
                    f"'{name}' calls itself, so it needs an annotation of what it returns"
                )
            declared.is_open = True
            declared.read = self._read(name, declared)
        return declared.read

    def _read(self, name: str, declared: _Declared) -> ReadRelaxFunction:
        node, options = declared.node, declared.options
        builder = self._builder(declared, None)
        result = self._body(declared, builder, builder.entry.args)
        attributes = self._attributes(node, builder)
        if not options.private:
            attributes.setdefault("global_symbol", StringAttr(name))
        elif "global_symbol" in attributes:
            raise self.source.error(node, "a private function has no 'global_symbol'")
        op = relax.FuncOp(
            name,
            [type_ for _, type_ in declared.params],
            declared.result or _erased(result.type, declared),
            Region(builder.entry),
            attributes=attributes,
            impure=not options.pure,
        )
        op.location = self._location(node)
        return ReadRelaxFunction(
            op, self.source, node, options.check_well_formed, builder.calls
        )

    def _builder(
        self, declared: _Declared, around: FunctionBuilder | None
    ) -> FunctionBuilder:
        options = declared.options
        return FunctionBuilder(
            [type_ for _, type_ in declared.params],
            is_pure=options.pure and options.check_well_formed,
            devices=self.devices,
            operators=_operator,
            function_type=self.value_type,
            around=around,
            locate=self._location,
        )

    def _location(self, place: object) -> LocationAttr:
        """The location of what a statement becomes."""
        if not isinstance(place, ast.stmt):
            return UnknownLoc()
        return self.source.location(place.lineno, place.col_offset)

    def _body(
        self,
        declared: _Declared,
        builder: FunctionBuilder,
        args: Sequence[BlockArgument],
    ) -> Value:
        """Read the body, up to its terminator; what it returns."""
        scope = declared.scope
        reader = RelaxBodyReader(self, scope, builder)
        with builder.entered(), scope.body():
            for (param, _), arg in zip(declared.params, args, strict=True):
                set_name_hint(arg, param)
                scope.define(param, Value(arg, is_named=True), shadow=True)
            with scope.body():
                result = reader.read_function(declared.node)
        builder.finish().add_op(relax.ReturnOp(result.ssa))
        return result

    def value_type(self, name: str) -> Attribute:
        """The type of a function as a value; one of TIR is any object."""
        return self.type_of(name) if name in self else relax.OBJECT

    def _attributes(
        self, node: ast.FunctionDef, builder: FunctionBuilder
    ) -> dict[str, Attribute]:
        try:
            return relax_attributes(builder.attrs)
        except ScriptTypeError as error:
            raise self.source.error(node, str(error)) from error

    def literal(
        self,
        node: ast.FunctionDef,
        options: RelaxMarker,
        scope: Scope,
        around: FunctionBuilder,
    ) -> relax.LambdaOp:
        """A function in a function; one that names itself is recursive."""
        declared = self._signature(node, options, scope, _NO_ANNOTATIONS)
        builder = self._builder(declared, around)
        names = (each for stmt in node.body for each in ast.walk(stmt))
        recursive = any(
            isinstance(each, ast.Name) and each.id == node.name for each in names
        )
        own: BlockArgument | None = None
        if recursive:
            if declared.result is None:
                raise ScriptTypeError(
                    f"'{node.name}' calls itself, so it needs an annotation of what it "
                    "returns"
                )
            types = [type_ for _, type_ in declared.params]
            type_ = relax.FuncType.of(types, declared.result, options.pure)
            own = builder.entry.insert_arg(type_, 0)
            set_name_hint(own, node.name)
        args = builder.entry.args[recursive:]
        with scope.body():
            if own is not None:
                scope.define(node.name, Value(own, is_named=True), shadow=True)
            result = self._body(declared, builder, args)
        around.calls += builder.calls
        attributes = self._attributes(node, builder)
        return relax.LambdaOp(
            [type_ for _, type_ in declared.params],
            declared.result or _erased(result.type, declared),
            Region(builder.entry),
            attributes=attributes,
            impure=not options.pure,
            recursive=recursive,
            var_name=node.name,
        )


def _erased(type_: Attribute, declared: _Declared) -> Attribute:
    """The type of a result, without what the parameters do not tell."""
    types = [param for _, param in declared.params]
    return erase_symbols(type_, set(parameter_symbols(types)))


def _operator(name: str, args: Sequence[object], named: Mapping[str, object]) -> object:
    found = operators().get(name) or FUNCTIONS[name]
    return found(*args, **named)


class SignatureReader(ExpressionReader):
    """Reads the annotations of a function; `known` is what Python made of them."""

    def __init__(
        self,
        source: Source,
        scope: Scope,
        devices: Devices,
        known: Mapping[str, object],
    ) -> None:
        super().__init__(source, scope)
        self._devices = devices
        self._known = known

    def params(self, node: ast.FunctionDef) -> list[tuple[str, Attribute]]:
        """The parameters of a function: their names and types."""
        found: list[tuple[str, Attribute]] = []
        for arg in (*node.args.posonlyargs, *node.args.args):
            if arg.annotation is None:
                raise self.error(
                    arg,
                    f"parameter '{arg.arg}' needs an annotation, such as "
                    'R.Tensor((4,), "float32")',
                )
            found.append((arg.arg, self.type_of(arg.annotation, arg.arg)))
        return found

    def type_of(self, node: ast.expr, name: str) -> Attribute:
        """The type that an annotation says."""
        try:
            value = self.evaluate(node)
        except ScriptError:
            known = self._known.get(name)
            if known is None or isinstance(known, str):
                raise
            value = known
        with self.blaming(node):
            return annotated_type(value, self._devices)


class RelaxBodyReader(ExpressionReader):
    """Reads the body of a function into a builder."""

    def __init__(
        self,
        functions: RelaxFunctions,
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

    def read_function(self, node: ast.FunctionDef) -> Value:
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

    def _returned(self, node: ast.Return) -> Value:
        if node.value is None:
            raise ScriptTypeError("'return' needs a value; R.tuple() is none")
        value = self.evaluate(node.value)
        with self.blaming(node.value):
            return Value(self._builder.value(value))

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
                    raise TypeError("a call of a function takes no keywords")
                return self._call_global(function, args)
            case _:
                return super()._call(function, args, named)

    def _call_global(self, function: ex.GlobalVar, args: Sequence[object]) -> object:
        operands = arguments(self._builder, list(args))
        name = function.name
        if name in self._functions:
            callee = self._functions.type_of(name)
            try:
                types = [operand.type for operand in operands]
                result = infer_call(f"function {name}", callee, types)
            except VerifyException as error:
                raise ScriptTypeError(str(error)) from None
            impure = not callee.is_pure
            return self._builder.emit(relax.CallOp(name, operands, result, impure))
        returned = function.ret_type
        result = None if returned is None else relax.PrimType.of(returned)
        is_pure = self._functions.is_pure_prim_func(name)
        if is_pure and result is None:
            # It does nothing; a pure call has a result, so that it means something.
            if self._builder.allows_effects:
                is_pure = False
            else:
                result = relax.VOID
        return self._builder.emit(relax.CallOp(name, operands, result, not is_pure))

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
        if isinstance(value, Value) and isinstance(value.type, relax.TupleType):
            count = len(value.type.fields.data)
            return [self._builder.field(value, index) for index in range(count)]
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
        if isinstance(value, Value):
            value.is_named = True
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
            if not isinstance(bound, Value):
                raise ScriptTypeError(
                    f"a {type(value).__name__} is no value of Relax, it has no annotation"
                )
            typed = self._typed(bound, type_)
            if typed.is_named:
                typed = self._builder.alias(typed)
        self._name_value(target.id, typed)

    def _annotated_value(self, value: object) -> object:
        if value is None:
            return self._with_result()
        # A name that gets a type is an alias once, not twice.
        return value if isinstance(value, Value) else self._builder.bound(value)

    def _annotation(self, node: ast.AnnAssign) -> Attribute:
        annotation = self.evaluate(node.annotation)
        with self.blaming(node.annotation):
            found = annotated_type(annotation, self._builder.devices)
            self._builder.check_visible(used_symbols(found))
            return found

    def _typed(self, value: Value, type_: Attribute) -> Value:
        """The value under a type that is declared for it."""
        if value.type == type_:
            return value
        found = value.type
        if relax.base_check(type_, found) == relax.Check.IMPOSSIBLE:
            raise ScriptTypeError(f"the value is a {found}, but {type_} is declared")
        op = value.ssa.owner
        if not value.is_named and isinstance(op, _INFERRED):
            Rewriter.replace_value_with_new_type(op.results[0], type_)
            try:
                op.verify(verify_nested_ops=False)
                return Value(op.results[0])
            except VerifyException:
                Rewriter.replace_value_with_new_type(op.results[0], found)
                value = Value(op.results[0])
        if not relax.is_base_of(type_, found):
            raise ScriptTypeError(
                f"the value is a {found}, which is not always the declared {type_}; use "
                "R.match_cast to check when the program runs"
            )
        return self._builder.alias(value, type_)

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
        if isinstance(value, Value) and value.type == relax.VOID:
            return
        if value is not None:
            kind = "value" if isinstance(value, Operand) else type(value).__name__
            raise TypeError(
                f"a {kind} that is not used is no statement; bind it to a name"
            )

    def _with(self, node: ast.With) -> None:
        if len(node.items) != 1 or node.items[0].optional_vars is not None:
            raise SyntaxError("'with' opens one R.dataflow(), which has no name")
        frame = self.evaluate(node.items[0].context_expr)
        if not isinstance(frame, DataflowFrame):
            raise TypeError("'with' opens R.dataflow() in a Relax function")
        if self._builder.dataflow is not None:
            raise TypeError("a dataflow block cannot stand in another one")
        self._dataflow(node)

    def _dataflow(self, node: ast.With) -> None:
        builder, block = self._builder, Block()
        *body, last = node.body
        builder.dataflow = block
        try:
            with builder.inside(block), self.scope.body():
                self._read_all(body)
                self._at(last)
                names = self._output(last)
                values = [self._output_value(last, name, block) for name in names]
                symbols = builder.symbols
        finally:
            builder.dataflow = None
        builder.symbols = symbols
        block.add_op(relax.OutputOp(*(value.ssa for value in values)))
        types = [value.type for value in values]
        op = relax.DataflowOp(types, Region(block))
        self._at(node)
        builder.emit(op)
        for name, result in zip(names, op.results, strict=True):
            self._name_value(name, Value(result))

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

    def _output_value(self, node: ast.stmt, name: str, block: Block) -> Value:
        with self.blaming(node):
            value = self.scope[name]
            if not isinstance(value, Value):
                raise ScriptTypeError(f"R.output: '{name}' is no variable")
            owner = value.ssa.owner
            if not isinstance(owner, Operation) or owner.parent is not block:
                raise ScriptTypeError(
                    f"R.output: '{name}' is no variable of this dataflow block"
                )
            return value

    # ---- branches ----

    def _if(self, node: ast.If) -> tuple[str, Value] | None:
        condition = self.evaluate(node.test)
        if isinstance(condition, bool):
            self._read_all(node.body if condition else node.orelse)
            return None
        with self.blaming(node.test):
            operand = self._builder.value(condition)
        if self._builder.dataflow is not None:
            raise TypeError("a dataflow block holds no 'if'; put it before or after")
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
            types = [each.declared or each.value.type for each in (first, second)]
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

    def _last_value(self, name: str, node: ast.expr) -> Value:
        value = self.evaluate(node)
        with self.blaming(node):
            if isinstance(value, Value) and value.is_named:
                return value
            return self._as_value(self._bind(name, value))

    def _as_value(self, value: object) -> Value:
        if isinstance(value, Value):
            return value
        return Value(self._builder.value(value))

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
    value: Value
    block: Block
    declared: Attribute | None = None
