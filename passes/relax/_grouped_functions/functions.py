"""The functions that groups of bindings become, shared by groups that compute alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import substitute_symbols
from xdsl_tvm.passes.infra.module_symbols import (
    SymbolNames,
    UniqueNames,
    module_symbols,
    named_symbols,
)
from xdsl_tvm.passes.relax._grouped_functions.group_body import GroupBody
from xdsl_tvm.passes.relax.rewriting.symbols import defined_symbols, rename_symbols

COMPOSITE = "Composite"
"""The attribute of functions that a pattern has made: its name."""
CODEGEN = "Codegen"
"""The attribute of functions that another compiler makes: its name."""
PRIMITIVE = "Primitive"
"""The attribute of functions that are one kernel each."""


class GroupedFunctions:
    """Makes functions of groups, in a module."""

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self._symbols = module_symbols(module)
        self._names = SymbolNames(module)
        self._made: dict[object, str] = {}

    def make(
        self, body: GroupBody, name: str, attributes: Mapping[str, Attribute]
    ) -> str:
        """The name of a private function of that body, made if there is none.

        `name` is what it is called where that is free.
        """
        key = (body.key(), tuple(sorted(attributes.items())))
        if (known := self._made.get(key)) is None:
            known = self._made[key] = self._names.unique(name)
            self._add(body.function(known, attributes), body)
        return known

    def make_codegen(self, body: GroupBody, name: str, codegen: str) -> str:
        """The name of a function for a code generator, which holds what it calls.

        The operations of the body are calls of functions with the attribute `Composite`;
        they become calls of literals that are copies of these functions.
        """
        key = (body.key(), codegen)
        if (known := self._made.get(key)) is None:
            known = self._made[key] = self._names.unique(name)
            attributes = {
                CODEGEN: StringAttr(codegen),
                "global_symbol": StringAttr(known),
            }
            func = body.function(known, attributes, dataflow=False)
            names = UniqueNames(defined_symbols(func))
            for call in [op for op in func.walk() if isinstance(op, relax.CallOp)]:
                composite = self._symbols[call.callee.root_reference.data]
                assert isinstance(composite, relax.FuncOp), "verified"
                _inline_as_literal(call, composite, names)
            self._add(func, body)
        return known

    def annotate_codegen(self, names: Collection[str]) -> None:
        """Wrap calls of functions with `Composite` for their code generators.

        The functions themselves are erased where nothing else names them.
        """
        kept = set[str]()
        for op in list(self.module.walk()):
            name = op.callee.root_reference.data if isinstance(op, relax.CallOp) else ""
            if not isinstance(op, relax.CallOp) or name not in names:
                kept.update(named_symbols(op))
            elif not self._wrap(op, name):
                kept.add(name)
        for name in names:
            if name not in kept:
                Rewriter.erase_op(self._symbols.pop(name))

    def _wrap(self, call: relax.CallOp, name: str) -> bool:
        composite = self._symbols[name].attributes[COMPOSITE]
        assert isinstance(composite, StringAttr), "made with it"
        body, codegen = GroupBody([call]), codegen_of(composite.data)
        if not body.can_replace(call):
            return False
        outer = self.make_codegen(body, f"{name}_{codegen}", codegen)
        body.replace_by_call(outer)
        return True

    def _add(self, func: relax.FuncOp, body: GroupBody) -> None:
        func.location = body.members[-1].location
        self._symbols[func.sym_name.data] = func
        self.module.body.block.add_op(func)


def _inline_as_literal(
    call: relax.CallOp, func: relax.FuncOp, names: UniqueNames
) -> None:
    """Let a literal that is a copy of the function take its place in a call."""
    copy = func.clone()
    # A literal does not see the symbols around it, and must not use their names either.
    symbols = sorted(defined_symbols(copy))
    renamed = {name: Dim.symbol(names.unique(name)) for name in symbols}
    rename_symbols(copy, renamed)
    attributes = {key: v for key, v in copy.attributes.items() if key != PRIMITIVE}
    literal = relax.LambdaOp(
        [arg.type for arg in copy.args],
        substitute_symbols(copy.output_type, renamed),
        copy.detach_region(copy.body),
        attributes=attributes,
        var_name="local_func",
    )
    assert call.result is not None, "verified"
    new = relax.CallIndirectOp(literal.result, call.arguments, call.result.type)
    literal.location = new.location = call.location
    Rewriter.insert_op(literal, InsertPoint.before(call))
    Rewriter.replace_op(call, new)


def is_grouped(func: relax.FuncOp) -> bool:
    """Whether a function was made of a group already."""
    return any(key in func.attributes for key in (COMPOSITE, CODEGEN, PRIMITIVE))


def codegen_of(name: str) -> str:
    """The code generator that the name of a pattern begins with: `dnnl.conv2d`."""
    return name.partition(".")[0]
