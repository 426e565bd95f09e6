"""Reads Relax functions: signatures, and the functions of a module that call each other.

A function in a function is a literal, `relax.lambda`. Bodies are read by `relax_body`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from xdsl.dialects.builtin import LocationAttr, StringAttr, UnknownLoc
from xdsl.ir import Attribute, BlockArgument, Operation, Region
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.relax.algebra import erase_symbols
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.dialects.relax.prim_func import verify_call_tir
from xdsl_tvm.dialects.tir.purity import is_pure_function
from xdsl_tvm.relax.expr import Var
from xdsl_tvm.tvmscript.errors import ScriptError
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError
from xdsl_tvm.tvmscript.nodes.relax_attributes import relax_attributes
from xdsl_tvm.tvmscript.nodes.relax_types import Devices, annotated_type
from xdsl_tvm.tvmscript.reading.captured import Captured
from xdsl_tvm.tvmscript.reading.expression_reader import ExpressionReader
from xdsl_tvm.tvmscript.reading.relax_body import RelaxBodyReader, RelaxMarker
from xdsl_tvm.tvmscript.reading.relax_values import FunctionBuilder
from xdsl_tvm.tvmscript.reading.relax_vocabulary import vocabulary
from xdsl_tvm.tvmscript.reading.scope import Scope
from xdsl_tvm.tvmscript.reading.source import Source

_NO_ANNOTATIONS: Mapping[str, object] = MappingProxyType({})
_NOTHING: Mapping[str, tuple[Var, Attribute]] = MappingProxyType({})


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
            declared.result or _erased(result.struct_info, declared),
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
            declared.node.name,
            [type_ for _, type_ in declared.params],
            is_pure=options.pure and options.check_well_formed,
            devices=self.devices,
            vocabulary=_call,
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
        captured: Mapping[str, tuple[Var, Attribute]] = _NOTHING,
    ) -> Var:
        """Read the body, up to its terminator; what it returns.

        `captured` are values of the function around, with their types in this one.
        """
        scope = declared.scope
        reader = RelaxBodyReader(self, scope, builder)
        with builder.entered(), scope.body():
            for (param, _), arg in zip(declared.params, args, strict=True):
                set_name_hint(arg, param)
                scope.define(param, Var.bound(param, arg), shadow=True)
            for name, (var, type_) in captured.items():
                cast = builder.match_cast(var.ssa, type_)
                set_name_hint(cast, name)
                scope.define(name, Var.bound(name, cast), shadow=True)
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
        """A function in a function; one that names itself is recursive.

        Symbols of the function around are not visible in it. Where it needs them, it
        has symbols of its own, which casts of the values that it captures define.
        """
        hidden = set(around.all_symbols())
        declared = self._signature(node, options, scope, _NO_ANNOTATIONS)
        builder = self._builder(declared, around)
        missed: ScriptError | None = None
        if hidden.isdisjoint(builder.symbols):
            try:
                return self._literal(declared, builder, around, scope, {})
            except ScriptError as error:
                if hidden.isdisjoint(builder.missing):
                    raise
                missed = error
                builder.give_up()
        with scope.body():
            captured = Captured.of(node, scope)
            captured.rename(scope)
            declared = self._signature(node, options, scope, _NO_ANNOTATIONS)
            if declared.result is not None:
                declared.result = _erased(declared.result, declared)
            casts = captured.casts([type_ for _, type_ in declared.params])
            builder = self._builder(declared, around)
            try:
                return self._literal(declared, builder, around, scope, casts)
            except ScriptError:
                # What no cast defines is named as it is in the text.
                if missed is not None and builder.missing:
                    raise missed from None
                raise

    def _literal(
        self,
        declared: _Declared,
        builder: FunctionBuilder,
        around: FunctionBuilder,
        scope: Scope,
        captured: Mapping[str, tuple[Var, Attribute]],
    ) -> relax.LambdaOp:
        node, options = declared.node, declared.options
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
                scope.define(node.name, Var.bound(node.name, own), shadow=True)
            result = self._body(declared, builder, args, captured)
        around.calls += builder.calls
        attributes = self._attributes(node, builder)
        return relax.LambdaOp(
            [type_ for _, type_ in declared.params],
            declared.result or _erased(result.struct_info, declared),
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


def _call(name: str, args: Sequence[object], named: Mapping[str, object]) -> object:
    return vocabulary()[name](*args, **named)


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
