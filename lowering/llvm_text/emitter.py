"""LLVM IR text from modules of the llvm, `tvm_llvm` and `nvvm` dialects.

One walk over the operations, in order; equal modules give equal text. Nothing is left
out silently: an operation, type or attribute that cannot be written raises
DiagnosticException. Attributes of foreign dialects are ignored, as MLIR prescribes.

Sources: the LLVM Language Reference for LLVM 22; MLIR's translation of the llvm dialect.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import nvvm
from xdsl_tvm.lowering.llvm_text.attributes import (
    FUNCTION_KEYWORDS,
    FUNCTION_STRINGS,
    FUNCTION_UNITS,
    HANDLED_FUNCTION_ATTRIBUTES,
    PARAMETER_INTEGERS,
    PARAMETER_TYPES,
    PARAMETER_UNITS,
    REFUSED_FUNCTION_ATTRIBUTES,
)
from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.lowering.llvm_text.function import FunctionEmitter
from xdsl_tvm.lowering.llvm_text.module_tables import ModuleTables
from xdsl_tvm.lowering.llvm_text.ops import emit_block
from xdsl_tvm.lowering.llvm_text.types import (
    constant_text,
    element_count,
    name_text,
    quote,
    scalar_of,
)

_VISIBILITY = ("", "hidden ", "protected ")
_UNNAMED_ADDR = ("", "local_unnamed_addr ", "unnamed_addr ")


class ModuleEmitter:
    """Collects the parts of one LLVM module; `text` puts them together."""

    def __init__(self, sm: int, data: list[Datum] | None = None) -> None:
        self.nvptx = sm > 0
        self._data = data
        self.tables = ModuleTables(sm)
        self.types = self.tables.types
        self._parts: list[str] = []

    # ------------------------------------------------------------------ module

    def add(self, operations: Iterable[Operation]) -> None:
        """Writes the functions and globals among `operations`.

        Raises DiagnosticException for any other operation and for a symbol defined
        twice.
        """
        operations = list(top_level(operations))
        for op in operations:
            self._add_symbol(op)
        for op in operations:
            if isinstance(op, llvm.FuncOp):
                self._function(op)
            elif isinstance(op, llvm.GlobalOp):
                self._global(op)

    def text(self) -> str:
        """The module as LLVM IR."""
        structs = [f"{name} = {body}" for name, body in self.types.structs.items()]
        declarations = [
            text
            for name, text in sorted(self.tables.declarations.items())
            if name not in self.tables.symbols
        ]
        header = ['target triple = "nvptx64-nvidia-cuda"'] if self.nvptx else []
        sections = [
            header,
            structs,
            self._parts,
            declarations,
            self.tables.metadata_lines,
        ]
        return "\n\n".join("\n".join(section) for section in sections if section) + "\n"

    def _add_symbol(self, op: Operation) -> None:
        if not isinstance(op, llvm.FuncOp | llvm.GlobalOp):
            raise DiagnosticException(
                f"cannot write '{op.name}' at the top level of an LLVM module: "
                "only llvm.func and llvm.mlir.global belong there"
            )
        name = op.sym_name.data
        if name in self.tables.symbols:
            raise DiagnosticException(
                f"symbol '@{name}' is defined twice: rename one of the two"
            )
        self.tables.symbols[name] = op

    # ----------------------------------------------------------------- globals

    def _global(self, op: llvm.GlobalOp) -> None:
        if self._data is not None and (datum := _datum(op)) is not None:
            self._data.append(datum)
            name, size = name_text(datum.name), len(datum.data)
            self._parts.append(
                f"@{name} = external constant [{size} x i8], align {datum.alignment}"
            )
            return
        type, initializer = self._initializer(op)
        linkage = op.linkage.linkage.data
        external = initializer is None and linkage in ("external", "extern_weak")
        if external:
            prefix = f"{linkage} "
        elif initializer is None:
            prefix, initializer = f"{linkage} ", "undef"
        else:
            prefix = "" if linkage == "external" else f"{linkage} "
        words = [f"@{name_text(op.sym_name.data)} = {prefix}"]
        if op.visibility_ is not None:
            words.append(_VISIBILITY[op.visibility_.value.data])
        if op.dso_local is not None:
            words.append("dso_local ")
        if op.thread_local_ is not None:
            words.append("thread_local ")
        if op.unnamed_addr is not None:
            words.append(_UNNAMED_ADDR[op.unnamed_addr.value.data])
        if space := op.addr_space.value.data:
            words.append(f"addrspace({space}) ")
        words.append("constant " if op.constant is not None else "global ")
        words.append(type if initializer is None else f"{type} {initializer}")
        if op.section is not None:
            words.append(f', section "{quote(op.section.data.encode())}"')
        words.append(_global_alignment(op, type))
        self._parts.append("".join(words))

    def _initializer(self, op: llvm.GlobalOp) -> tuple[str, str | None]:
        """The type and the value of a global; the value is None if it has none."""
        type = self.types.text(op.global_type)
        value = op.value
        if value is None:
            return type, self._region_initializer(op)
        if isinstance(value, StringAttr):
            return type, f'c"{quote(value.data.encode())}"'
        if isinstance(value, DenseIntOrFPElementsAttr):
            return self._dense_global(
                cast("DenseIntOrFPElementsAttr[IntegerType]", value), op.global_type
            )
        return type, constant_text(value, op.global_type, self.types)

    def _dense_global(
        self, value: DenseIntOrFPElementsAttr[IntegerType], type: Attribute
    ) -> tuple[str, str]:
        data = value.data.data
        element = scalar_of(type)
        if element != cast(Attribute, value.type.element_type):
            raise DiagnosticException(
                f"a global of {type} cannot hold elements of {value.type.element_type}"
            )
        if len(value) != element_count(type):
            raise DiagnosticException(
                f"a global of {type} cannot hold {len(value)} elements"
            )
        if not any(data):
            return self.types.text(type), "zeroinitializer"
        if not _is_plain_memory(type, element):
            return self.types.text(type), constant_text(value, type, self.types)
        if element == IntegerType(1):
            data = bytes(byte & 1 for byte in data)
        # Bytes are several times shorter than a list of typed constants, and pointers
        # are opaque: nobody sees the type of the object.
        return f"[{len(data)} x i8]", f'c"{quote(data)}"'

    def _region_initializer(self, op: llvm.GlobalOp) -> str | None:
        if not op.body.blocks:
            return None
        emitter = FunctionEmitter(self.tables)
        values: dict[SSAValue, str] = emitter.values
        for inner in op.body.block.ops:
            if isinstance(inner, llvm.ReturnOp) and inner.arg is not None:
                return values[inner.arg]
            if not emitter.add_constant(inner):
                raise DiagnosticException(
                    f"cannot write '{inner.name}' in the initializer of "
                    f"'@{op.sym_name.data}': only constants are supported there"
                )
        raise DiagnosticException(
            f"the initializer of '@{op.sym_name.data}' returns no value"
        )

    # --------------------------------------------------------------- functions

    def _function(self, op: llvm.FuncOp) -> None:
        head = self._head(op)
        if not op.body.blocks:
            self._parts.append(f"declare {head}")
            return
        emitter = FunctionEmitter(self.tables)
        emitter.name_all(op)
        for block in op.body.blocks:
            emit_block(emitter, block)
        body = "\n".join(emitter.lines)
        self._parts.append(f"define {head} {{\n{body}\n}}")

    def _head(self, op: llvm.FuncOp) -> str:
        name, type = op.sym_name.data, op.function_type
        words: list[str] = []
        linkage = op.linkage.linkage.data
        if not op.body.blocks and linkage not in ("external", "extern_weak"):
            raise DiagnosticException(
                f"function '@{name}' has no body and cannot be '{linkage}'"
            )
        if linkage != "external":
            words.append(linkage)
        words.append(_VISIBILITY[op.visibility_.value.data].strip())
        words.append(self._convention(op))
        words.append(self._parameter_attributes(op.res_attrs, 0, name))
        words.append(self.types.text(type.output))
        words.append(f"@{name_text(name)}({self._parameters(op)})")
        if op.unnamed_addr is not None:
            words.append(_UNNAMED_ADDR[op.unnamed_addr.value.data].strip())
        words.append(function_attributes(op))
        return " ".join(word for word in words if word)

    def _convention(self, op: llvm.FuncOp) -> str:
        convention = op.CConv.convention.data
        if nvvm.KERNEL not in op.attributes:
            return "" if convention == "ccc" else convention
        if not isinstance(op.function_type.output, llvm.LLVMVoidType):
            raise DiagnosticException(
                f"kernel '@{op.sym_name.data}' returns {op.function_type.output}: "
                "a kernel returns nothing"
            )
        return "ptx_kernel"

    def _parameters(self, op: llvm.FuncOp) -> str:
        parameters: list[str] = []
        for index, type in enumerate(op.function_type.inputs):
            attributes = self._parameter_attributes(op.arg_attrs, index, op.sym_name.data)
            name = f"%a{index}" if op.body.blocks else ""
            words = (self.types.text(type), attributes, name)
            parameters.append(" ".join(word for word in words if word))
        if op.function_type.is_variadic:
            parameters.append("...")
        return ", ".join(parameters)

    def _parameter_attributes(
        self, attributes: ArrayAttr[DictionaryAttr] | None, index: int, function: str
    ) -> str:
        if attributes is None or index >= len(attributes.data):
            return ""
        words: list[str] = []
        for key, value in attributes.data[index].data.items():
            if key in PARAMETER_UNITS:
                words.append(PARAMETER_UNITS[key])
            elif key in PARAMETER_INTEGERS and isinstance(value, IntegerAttr):
                words.append(PARAMETER_INTEGERS[key].format(value.value.data))
            elif key in PARAMETER_TYPES:
                words.append(f"{PARAMETER_TYPES[key]}({self.types.text(value)})")
            elif key.startswith(("llvm.", "nvvm.", "tvm_llvm.")):
                raise DiagnosticException(
                    f"cannot write parameter attribute '{key}' of '@{function}'"
                )
        return " ".join(words)


_LEAST_DATA = 256
"""Bytes of a constant from which on it is kept out of the text."""


def _datum(op: llvm.GlobalOp) -> Datum | None:
    """A large constant that nothing outside of the module can see, as bytes."""
    value = op.value
    if not isinstance(value, DenseIntOrFPElementsAttr) or op.constant is None:
        return None
    if op.linkage.linkage.data not in ("internal", "private"):
        return None
    element = scalar_of(op.global_type)
    data = cast("DenseIntOrFPElementsAttr[IntegerType]", value).data.data
    if (
        len(data) < _LEAST_DATA
        or op.addr_space.value.data
        or op.section is not None
        or op.thread_local_ is not None
        or not isinstance(element, FixedBitwidthType)
        or element == IntegerType(1)
        or not _is_plain_memory(op.global_type, element)
    ):
        return None
    alignment = element.size
    if op.alignment is not None:
        alignment = op.alignment.value.data
    return Datum(op.sym_name.data, data, alignment)


_BYTE_SIZES = (8, 16, 32, 64)
_BYTE_FLOATS = (BFloat16Type, Float16Type, Float32Type, Float64Type)


def _is_plain_memory(type: Attribute, element: Attribute) -> bool:
    """Whether LLVM lays `type` out as its elements of `element`, one after another."""
    if element == IntegerType(1):
        # An array has a byte for each element, a vector only a bit.
        while isinstance(type, llvm.LLVMArrayType):
            type = type.type
        return type == element
    if isinstance(element, IntegerType):
        return element.bitwidth in _BYTE_SIZES
    return isinstance(element, _BYTE_FLOATS)


def _global_alignment(op: llvm.GlobalOp, type: str) -> str:
    if op.alignment is not None:
        return f", align {op.alignment.value.data}"
    element = scalar_of(op.global_type)
    if type.endswith(" x i8]") and isinstance(element, FixedBitwidthType):
        # Written as bytes, the object keeps the alignment of its elements.
        return f", align {element.size}" if element.size > 1 else ""
    return ""


def top_level(operations: Iterable[Operation]) -> Iterable[Operation]:
    """The operations, with every `builtin.module` among them replaced by its own."""
    for op in operations:
        if isinstance(op, ModuleOp):
            yield from top_level(op.body.ops)
        else:
            yield op


def function_attributes(op: llvm.FuncOp) -> str:
    """The attributes after a function's parameter list.

    Raises DiagnosticException for an attribute of the llvm, nvvm or tvm_llvm dialect
    that is not known.
    """
    words: list[str] = []
    for key, value in {**op.properties, **op.attributes}.items():
        if key in FUNCTION_UNITS:
            words.append(FUNCTION_UNITS[key])
        elif key in FUNCTION_STRINGS:
            words.append(f'"{FUNCTION_STRINGS[key]}"="{_attribute_text(key, value)}"')
        elif key == "passthrough" and isinstance(value, ArrayAttr):
            words.extend(
                _passthrough(item) for item in cast("ArrayAttr[Attribute]", value)
            )
        elif key in REFUSED_FUNCTION_ATTRIBUTES or (
            key not in HANDLED_FUNCTION_ATTRIBUTES
            and key.startswith(("llvm.", "nvvm.", "tvm_llvm."))
        ):
            raise DiagnosticException(
                f"cannot write attribute '{key}' of function '@{op.sym_name.data}'"
            )
    return " ".join(words)


def _attribute_text(key: str, value: Attribute) -> str:
    if isinstance(value, StringAttr):
        return quote(value.data.encode())
    if isinstance(value, IntegerAttr):
        return str(value.value.data)
    if isinstance(value, DenseArrayBase):
        numbers = cast("DenseArrayBase[IntegerType]", value).get_values()
        return ",".join(map(str, numbers))
    if isinstance(value, llvm.TargetFeaturesAttr):
        return ",".join(feature.data for feature in value.features)
    if isinstance(value, llvm.FramePointerKindAttr):
        return value.data.value
    raise DiagnosticException(f"function attribute '{key}' cannot be {value}")


def _passthrough(item: Attribute) -> str:
    if isinstance(item, StringAttr):
        if item.data in FUNCTION_KEYWORDS:
            return item.data
        return f'"{quote(item.data.encode())}"'
    if isinstance(item, ArrayAttr):
        pair = cast("ArrayAttr[Attribute]", item).data
        if len(pair) == 2 and all(isinstance(part, StringAttr) for part in pair):
            key, value = (cast(StringAttr, part).data for part in pair)
            return f'"{quote(key.encode())}"="{quote(value.encode())}"'
    raise DiagnosticException(f"'passthrough' cannot hold {item}")


def emit_llvm_ir(
    operations: ModuleOp | Iterable[Operation],
    *,
    sm: int = 0,
    data: list[Datum] | None = None,
) -> str:
    """LLVM IR text of a module, or of a list of functions and globals.

    Nested `builtin.module`s are opened. `sm` is the architecture of an NVIDIA GPU, 80 for
    sm_80, whose target triple is added, or 0 for a CPU. With `data`, large constants that
    are internal to the module are appended to it, and declared only in the text: who
    links the module defines them. Raises DiagnosticException, naming the operation, for
    anything that is not of the llvm, `tvm_llvm` or `nvvm` dialect.
    """
    emitter = ModuleEmitter(sm, data)
    emitter.add(operations.body.ops if isinstance(operations, ModuleOp) else operations)
    return emitter.text()
