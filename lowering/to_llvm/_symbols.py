"""Symbols that a lowering adds: external functions and string constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from xdsl_tvm.dialects.quick_operation import create, segments
from xdsl_tvm.lowering.to_llvm._conversion import NO_FASTMATH, fail

_C_CONVENTION = llvm.CallingConventionAttr("ccc")
_NO_BUNDLES = DenseArrayBase.from_list(i32, ())
_VISIBILITY = IntegerAttr(0, 64)
_ALLOCATED = ArrayAttr([DictionaryAttr({"llvm.noalias": UnitAttr()})])


@cache
def _linkage(name: str) -> llvm.LinkageAttr:
    return llvm.LinkageAttr(name)


def new_function(
    name: StringAttr,
    type: llvm.LLVMFunctionType,
    linkage: str,
    body: Region | None = None,
    properties: Mapping[str, Attribute] | None = None,
) -> llvm.FuncOp:
    """What `llvm.FuncOp` makes of these, in less time; without a body, a declaration."""
    return create(
        llvm.FuncOp,
        properties={
            **(properties or {}),
            "sym_name": name,
            "function_type": type,
            "CConv": _C_CONVENTION,
            "linkage": _linkage(linkage),
            "visibility_": _VISIBILITY,
        },
        regions=[Region() if body is None else body],
    )


def new_call(
    callee: SymbolRefAttr, arguments: Sequence[SSAValue], result: Attribute | None
) -> llvm.CallOp:
    """What `llvm.CallOp` makes of these, in less time."""
    return create(
        llvm.CallOp,
        operands=arguments,
        result_types=[] if result is None else [result],
        properties={
            "callee": callee,
            "fastmathFlags": NO_FASTMATH,
            "CConv": _C_CONVENTION,
            "op_bundle_sizes": _NO_BUNDLES,
            "operandSegmentSizes": segments(len(arguments), 0),
        },
    )


@lru_cache(maxsize=256)
def _function_type(
    inputs: tuple[Attribute, ...], output: Attribute | None
) -> llvm.LLVMFunctionType:
    return llvm.LLVMFunctionType(inputs, output)


def symbol_table(op: Operation) -> Operation:
    """The nearest `builtin.module` or `gpu.module` around `op`."""
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ModuleOp) or parent.name == "gpu.module":
            return parent
        parent = parent.parent_op()
    raise fail(op, "it is in no module; put its function in a builtin.module")


class Symbols:
    """The symbols of the modules that a pass works on, each module read once."""

    def __init__(self) -> None:
        self._tables: dict[Operation, dict[str, Operation]] = {}
        self._numbers: dict[tuple[Operation, str], int] = {}

    def table(self, module: Operation) -> dict[str, Operation]:
        """The symbols of `module`, a builtin.module or gpu.module, by name."""
        found = self._tables.get(module)
        if found is None:
            found = self._tables[module] = {}
            for op in module.regions[0].block.ops:
                symbol = op.properties.get("sym_name") or op.attributes.get("sym_name")
                if isinstance(symbol, StringAttr):
                    found[symbol.data] = op
        return found

    def add(self, module: Operation, name: str, op: Operation) -> SymbolRefAttr:
        """Puts `op`, whose name is `name`, at the start of `module`."""
        self.table(module)[name] = op
        block = module.regions[0].block
        first = block.first_op
        if first is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, first)
        return SymbolRefAttr(name)

    def declare_function(
        self,
        user: Operation,
        name: str,
        inputs: Sequence[Attribute],
        output: Attribute | None,
        *,
        allocates: bool = False,
    ) -> SymbolRefAttr:
        """Makes sure that the C function `name` is declared in the module of `user`.

        `allocates`: nothing else points to what its result does.
        Raises PassFailedException if `name` already is something else.
        """
        module = symbol_table(user)
        type = _function_type(tuple(inputs), output)
        found = self.table(module).get(name)
        if found is None:
            properties = {"res_attrs": _ALLOCATED} if allocates else None
            function = new_function(
                StringAttr(name), type, "external", properties=properties
            )
            return self.add(module, name, function)
        if not isinstance(found, llvm.FuncOp) or found.function_type != type:
            raise fail(
                user,
                f"the symbol '{name}' is taken by '{found.name}' of another type; "
                "rename that operation",
            )
        return SymbolRefAttr(name)

    def unique(self, module: Operation, stem: str) -> str:
        """A name that no symbol of `module` has yet: `stem`, or one with a number."""
        table = self.table(module)
        name, number = stem, self._numbers.get((module, stem), 0)
        while name in table:
            number += 1
            name = f"{stem}_{number}"
        self._numbers[module, stem] = number
        return name

    def string_constant(self, module: Operation, text: str) -> SymbolRefAttr:
        """A new private, zero-terminated constant holding `text`; gives its symbol."""
        table = self.table(module)
        number = len(table)
        while f"string_{number}" in table:
            number += 1
        name = f"string_{number}"
        type = llvm.LLVMArrayType(len(text.encode()) + 1, i8)
        value = StringAttr(text + "\0")
        return self.add(
            module,
            name,
            llvm.GlobalOp(type, name, "private", constant=True, value=value),
        )
