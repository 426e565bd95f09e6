"""Modules in the spelling of upstream MLIR, which MLIR's own tools read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, cast

from xdsl.dialects import gpu, llvm
from xdsl.dialects.builtin import (
    AnyDenseElement,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    UnregisteredAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import nvvm, tvm_llvm

_OURS = ("tir", "relax", "tvm_llvm")
"""Dialects that MLIR does not have."""

_LOOP_HINTS = {
    "unroll.disable": ("unroll", "disable = true"),
    "unroll.enable": ("unroll", "disable = false"),
    "unroll.full": ("unroll", "full = true"),
    "unroll.count": ("unroll", "count = {} : i32"),
    "unroll_and_jam.disable": ("unrollAndJam", "disable = true"),
    "unroll_and_jam.enable": ("unrollAndJam", "disable = false"),
    "unroll_and_jam.count": ("unrollAndJam", "count = {} : i32"),
    "licm.disable": ("licm", "disable = true"),
    "distribute.enable": ("distribute", "disable = {}"),
    "vectorize.enable": ("vectorize", "disable = {}"),
    "vectorize.predicate.enable": ("vectorize", "predicateEnable = {}"),
    "vectorize.scalable.enable": ("vectorize", "scalableEnable = {}"),
    "vectorize.width": ("vectorize", "width = {} : i32"),
    "interleave.count": ("interleave", "count = {} : i32"),
}
"""Key of `#tvm_llvm.loop` -> group and field of `#llvm.loop_annotation`."""

_OTHER_FORM = (
    nvvm.CpAsyncBulkTensorOp,
    nvvm.WgmmaMmaAsyncOp,
    tvm_llvm.RegisterFenceOp,
    tvm_llvm.TensorMapOp,
)
_NVVM_KINDS: dict[type[Operation], tuple[str, str]] = {
    nvvm.ShflOp: ("kind", "shfl_kind"),
    nvvm.VoteSyncOp: ("kind", "vote_sync_kind"),
    nvvm.ReduxOp: ("kind", "redux_kind"),
    nvvm.CpAsyncOp: ("modifier", "load_cache_modifier"),
}
"""Operation -> the property that holds a name, and MLIR's attribute for that name."""

_NEGATED = frozenset({"distribute.enable", "vectorize.enable"})
"""Keys whose field says the opposite."""


def print_upstream_mlir(
    module: ModuleOp, output: IO[str], *, generic: bool = False
) -> None:
    """Writes a module, which is left as it is, with MLIR's names and attributes.

    It is written at the level it has. With `generic`, all operations are in generic form.
    Raises DiagnosticException for operations of `tir` and `relax`, and for tensor copies
    and products of warpgroups.
    """
    for op in all_ops(module):
        if _dialect(op.name) in ("tir", "relax"):
            raise DiagnosticException(
                f"upstream-mlir: MLIR has no operation '{op.name}'; lower the module "
                "first, as with '-p tvm-lower-to-llvm', or print it with '-t mlir'"
            )
        if isinstance(op, _OTHER_FORM):
            raise DiagnosticException(
                f"upstream-mlir: '{op.name}' has another form in MLIR, which is not "
                "written; print the module with '-t mlir'"
            )
    module = module.clone()
    _UpstreamSpelling(generic).spell(module)
    _UpstreamPrinter(stream=output, print_generic_format=generic).print_op(module)
    output.write("\n")


class _UpstreamPrinter(Printer):
    """Prints `tvm_llvm.x` as `llvm.x`."""

    def print_op(self, op: Operation) -> None:
        if _dialect(op.name) != "tvm_llvm":
            super().print_op(op)
            return
        name = op.name.removeprefix("tvm_")
        self._print_results(op)
        if self.print_generic_format:
            self.print_string(f'"{name}"')
            self.print_op_with_default_format(op)
        else:
            self.print_string(name)
            op.print(self)


@dataclass
class _UpstreamSpelling:
    """Changes attributes to those that MLIR has, in place."""

    generic: bool
    distinct: dict[tuple[str, ...], int] = field(
        default_factory=dict[tuple[str, ...], int]
    )
    """Number of each alias scope and of each domain of those."""

    def spell(self, module: ModuleOp) -> None:
        for op in all_ops(module):
            for attributes in (op.properties, op.attributes):
                for key, value in tuple(attributes.items()):
                    self._spell_attribute(op, attributes, key, value)
            if isinstance(op, gpu.FuncOp) and op.properties.pop("kernel", None):
                op.attributes["gpu.kernel"] = UnitAttr()
            elif isinstance(op, llvm.FuncOp) and "nvvm.kernel" in op.attributes:
                if isinstance(op.parent_op(), gpu.ModuleOp):
                    op.attributes["gpu.kernel"] = UnitAttr()
            elif isinstance(op, llvm.GlobalOp):
                _spell_initial_value(op)
            elif isinstance(op, gpu.LaunchFuncOp):
                module.attributes["gpu.container_module"] = UnitAttr()
            elif self.generic:
                _spell_properties(op)

    def _spell_attribute(
        self, op: Operation, attributes: dict[str, Attribute], key: str, value: Attribute
    ) -> None:
        if isinstance(value, tvm_llvm.LoopAttr):
            del attributes[key]
            hints = _unregistered("llvm.loop_annotation", _loop_annotation(value.hints))
            if isinstance(op, llvm.BrOp | llvm.CondBrOp):
                # Inherent in MLIR; the custom form reads it from either dictionary.
                target = op.properties if self.generic else op.attributes
                target["loop_annotation"] = hints
            else:
                op.attributes["llvm.loop_annotation"] = hints
        elif key in ("alias_scopes", "noalias_scopes") and isinstance(value, ArrayAttr):
            scopes = [
                self._alias_scope(scope)
                for scope in cast("ArrayAttr[Attribute]", value)
                if isinstance(scope, tvm_llvm.AliasScopeAttr)
            ]
            attributes[key] = ArrayAttr(scopes)
        elif attributes is op.attributes and (
            _dialect(key) in _OURS or any(_is_ours(part) for part in _parts(value))
        ):
            del attributes[key]

    def _alias_scope(self, scope: tvm_llvm.AliasScopeAttr) -> Attribute:
        domain, name = scope.domain.data, scope.scope.data
        return _unregistered(
            "llvm.alias_scope",
            f"id = distinct[{self._number(domain, name)}]<>, domain = "
            f"<id = distinct[{self._number(domain)}]<>, description = {scope.domain}>, "
            f"description = {scope.scope}",
        )

    def _number(self, *names: str) -> int:
        return self.distinct.setdefault(names, len(self.distinct))


def _spell_initial_value(op: llvm.GlobalOp) -> None:
    """MLIR translates arrays from tensors of one dimension."""
    value = op.value
    if isinstance(value, DenseIntOrFPElementsAttr):
        array = cast("DenseIntOrFPElementsAttr[AnyDenseElement]", value)
        type = TensorType(array.get_element_type(), array.get_shape())
        op.properties["value"] = DenseIntOrFPElementsAttr(type, array.data)


def _spell_properties(op: Operation) -> None:
    """Changes properties that the custom forms of MLIR and ours agree on, but for which
    MLIR has attributes of its own."""
    properties = op.properties
    if isinstance(op, tvm_llvm.CallIntrinsicOp):
        sizes = DenseArrayBase.from_list(i32, [len(op.args), 0])
        properties["operandSegmentSizes"] = sizes
        properties["op_bundle_sizes"] = DenseArrayBase.from_list(i32, [])
    elif isinstance(op, tvm_llvm.SwitchOp):
        values = op.case_values.get_values()
        type = VectorType(cast("IntegerType", op.value.type), [len(values)])
        properties["case_values"] = DenseIntOrFPElementsAttr.from_list(type, values)
    elif (key := _NVVM_KINDS.get(op.__class__)) is not None:
        name, attribute = key
        kind = properties[name]
        if isinstance(kind, StringAttr):
            properties[name] = _unregistered("nvvm", f"{attribute} {kind.data}")


def _loop_annotation(hints: DictionaryAttr) -> str:
    groups: dict[str, list[str]] = {}
    for key, value in hints.data.items():
        if key == "mustprogress":
            continue
        group, text = _LOOP_HINTS[key]
        if isinstance(value, IntegerAttr):
            number = value.value.data
            is_count = "i32" in text
            flag = bool(number) != (key in _NEGATED)
            text = text.format(number if is_count else str(flag).lower())
        groups.setdefault(group, []).append(text)
    parts = [f"{group} = <{', '.join(fields)}>" for group, fields in groups.items()]
    if "mustprogress" in hints.data:
        parts.append("mustProgress = true")
    return ", ".join(parts)


def _unregistered(name: str, text: str) -> Attribute:
    """`#name<text>`."""
    return UnregisteredAttr.with_name_and_type(name, False)(name, False, False, text)


def _dialect(name: str) -> str:
    return name.partition(".")[0] if "." in name else ""


def _is_ours(attribute: Attribute) -> bool:
    return _dialect(attribute.name) in _OURS


def _parts(attribute: Attribute) -> Iterator[Attribute]:
    """`attribute` and all that it is constructed from."""
    yield attribute
    if isinstance(attribute, ArrayAttr):
        children = tuple(cast("ArrayAttr[Attribute]", attribute))
    elif isinstance(attribute, DictionaryAttr):
        children = tuple(attribute.data.values())
    elif isinstance(attribute, ParametrizedAttribute):
        children = tuple(attribute.parameters)
    else:
        children = ()
    for child in children:
        yield from _parts(child)
