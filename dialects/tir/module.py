"""What a module holds besides functions: attributes and global infos.

docs/spec/tir-ir.md §9.3.

TVM's `IRModule.attrs` is the dictionary `tir.module_attrs` of a `builtin.module`; its
`global_infos` are the dictionary `tir.global_infos`, but for the virtual devices, which
are the list `relax.vdevices`.

    builtin.module attributes {tir.module_attrs = {system_lib_prefix = "a_"}} {
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerType,
    ModuleOp,
    i64,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir.annotations import MODULE_ATTRIBUTES, verify_annotations

MODULE_ATTRS: Final = "tir.module_attrs"
GLOBAL_INFOS: Final = "tir.global_infos"
VDEVICES: Final = "relax.vdevices"
CONSTANTS: Final = "constants"
"""The module attribute that `tir.allocate_const` counts in."""


@irdl_attr_definition
class DummyGlobalInfoAttr(ParametrizedAttribute):
    """A global info that says nothing: TVM's `DummyGlobalInfo`."""

    name = "tir.dummy_global_info"


@irdl_attr_definition
class DeviceMeshAttr(ParametrizedAttribute):
    """Devices in a grid: TVM's `DeviceMesh`, the shape and the ids in row-major order.

    Printed `#tir.device_mesh<[2, 2], [0, 1, 2, 3]>`.
    """

    name = "tir.device_mesh"

    shape: DenseArrayBase[IntegerType]
    device_ids: DenseArrayBase[IntegerType]

    def __init__(self, shape: Sequence[int], device_ids: Sequence[int]) -> None:
        super().__init__(
            DenseArrayBase.from_list(i64, list(shape)),
            DenseArrayBase.from_list(i64, list(device_ids)),
        )

    def verify(self) -> None:
        shape, ids = self.shape.get_values(), self.device_ids.get_values()
        if not shape or min(shape) < 1 or prod(shape) != len(ids):
            raise VerifyException(
                f"tir.device_mesh: the shape {list(shape)} must have one place for each "
                f"of the {len(ids)} devices"
            )
        if len(set(ids)) != len(ids) or min(ids) < 0:
            raise VerifyException(
                f"tir.device_mesh: device ids must differ and not be negative, got "
                f"{list(ids)}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def numbers() -> Attribute:
            found = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
            )
            return DenseArrayBase.from_list(i64, found)

        with parser.in_angle_brackets():
            shape = numbers()
            parser.parse_punctuation(",")
            return shape, numbers()

    def print_parameters(self, printer: Printer) -> None:
        shape, ids = self.shape.get_values(), self.device_ids.get_values()
        printer.print_string(f"<{list(shape)}, {list(ids)}>")


def module_attributes(module: ModuleOp) -> dict[str, Attribute]:
    """The attributes of TVM's module. Raises VerifyException if they are malformed."""
    return _dictionary(module, MODULE_ATTRS)


def set_module_attribute(module: ModuleOp, key: str, value: Attribute | None) -> None:
    """Set an attribute of the module, or remove it where `value` is None."""
    attributes = module_attributes(module)
    attributes.pop(key, None)
    if value is not None:
        attributes[key] = value
    if attributes:
        module.attributes[MODULE_ATTRS] = DictionaryAttr(attributes)
    else:
        module.attributes.pop(MODULE_ATTRS, None)


def global_infos(module: ModuleOp) -> dict[str, tuple[Attribute, ...]]:
    """The global infos by name, virtual devices under `vdevice`.

    Raises VerifyException if they are malformed.
    """
    found: dict[str, tuple[Attribute, ...]] = {}
    if (devices := module.attributes.get(VDEVICES)) is not None:
        found["vdevice"] = _items(module, VDEVICES, devices)
    for name, infos in _dictionary(module, GLOBAL_INFOS).items():
        if name == "vdevice":
            raise VerifyException(
                f"{module.name}: virtual devices are the module's attribute {VDEVICES}, "
                f"not an entry of {GLOBAL_INFOS}"
            )
        found[name] = _items(module, f"{GLOBAL_INFOS} '{name}'", infos)
    return found


def verify_module_attributes(module: ModuleOp) -> None:
    """Raise VerifyException for a malformed attribute or global info of a module."""
    verify_annotations(
        module, MODULE_ATTRIBUTES, module_attributes(module), f"in {MODULE_ATTRS}"
    )
    global_infos(module)


def _dictionary(op: Operation, name: str) -> dict[str, Attribute]:
    value = op.attributes.get(name, DictionaryAttr({}))
    if not isinstance(value, DictionaryAttr):
        raise VerifyException(
            f"{op.name}: the attribute {name} must be a dictionary, got {value}"
        )
    return dict(value.data)


def _items(op: Operation, what: str, value: Attribute) -> tuple[Attribute, ...]:
    if not isinstance(value, ArrayAttr):
        raise VerifyException(f"{op.name}: {what} must be a list, got {value}")
    return cast("ArrayAttr[Attribute]", value).data
