"""Facts of special memories by scope (docs/spec/tir-passes-c-memory-and-gpu.md, Memory
info).

A memory is described where the program is compiled, or in the module itself:

    register_memory_info("global.vtcm", MemoryInfo(8, 8 << 22, 1024))

    builtin.module attributes {tir.memory_info = {global.vtcm = {
        unit_bits = 8 : i32, max_num_bits = 33554432 : i32, max_simd_bits = 1024 : i32,
        head_address = "vtcm_base"}}} {
    }

Scopes are compared by their full name. What a module says of a scope takes precedence
over the registry, and an inner module over an outer one. A script has the same dictionary
as the entry `tir.memory_info` of `I.module_attrs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir.annotations import integer_of
from xdsl_tvm.dialects.tir.module import module_attributes
from xdsl_tvm.dialects.tir.storage_scope import StorageScope

MEMORY_INFO: Final = "tir.memory_info"
"""The attribute of a module that describes memories by scope."""


@dataclass(frozen=True)
class MemoryInfo:
    """A memory: its unit, its capacity, the widest access, and where it begins.

    Raises ValueError for a unit or an access that is not positive, and for a negative
    capacity.
    """

    unit_bits: int
    """The bits of an addressable unit."""
    max_num_bits: int
    """The capacity in bits."""
    max_simd_bits: int
    """The bits of the widest access; what is merged into one memory is aligned to it."""
    head_address: int | str | None = None
    """Where the memory begins: an address, or the name of an external function that
    returns it. None for memory that has no address."""

    def __post_init__(self) -> None:
        for name, least in (("unit_bits", 1), ("max_num_bits", 0), ("max_simd_bits", 1)):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")


_NUMBERS = ("unit_bits", "max_num_bits", "max_simd_bits")
_FIELDS = tuple(field.name for field in fields(MemoryInfo))
_REGISTERED: dict[str, MemoryInfo] = {}


def register_memory_info(scope: str, info: MemoryInfo | None) -> None:
    """Describe the memory of a scope, or forget what is registered where `info` is None.

    Raises ValueError for a name that is no storage scope.
    """
    name = str(StorageScope.parse(scope))
    if info is None:
        _REGISTERED.pop(name, None)
    else:
        _REGISTERED[name] = info


def memory_info_of(scope: str, op: Operation | None = None) -> MemoryInfo | None:
    """What is known of the memory of a scope, None where nothing is.

    `op` is a module, or an operation in one. Raises VerifyException for a malformed
    description in a module around it, and ValueError for a name that is no scope.
    """
    name = str(StorageScope.parse(scope))
    found = _REGISTERED if op is None else memory_infos(op)
    return found.get(name)


def memory_infos(op: Operation) -> Mapping[str, MemoryInfo]:
    """All memories that are described, by scope, for the code in or around `op`.

    Raises VerifyException for a malformed description in a module around it.
    """
    modules: list[ModuleOp] = []
    current: Operation | None = op
    while current is not None:
        if isinstance(current, ModuleOp):
            modules.append(current)
        current = current.parent_op()
    found = dict(_REGISTERED)
    for module in reversed(modules):
        found |= module_memory_infos(module)
    return found


def module_memory_infos(module: ModuleOp) -> Mapping[str, MemoryInfo]:
    """The memories that a module itself describes, by scope.

    Raises VerifyException for a malformed description.
    """
    found: dict[str, MemoryInfo] = {}
    for value in (
        module_attributes(module).get(MEMORY_INFO),
        module.attributes.get(MEMORY_INFO),
    ):
        if value is None:
            continue
        if not isinstance(value, DictionaryAttr):
            raise VerifyException(
                f"{module.name}: {MEMORY_INFO} must be a dictionary of scopes, got "
                f"{value}"
            )
        for scope, entry in value.data.items():
            try:
                found[str(StorageScope.parse(scope))] = _info_of(entry)
            except ValueError as error:
                raise VerifyException(
                    f"{module.name}: {MEMORY_INFO} of '{scope}': {error}"
                ) from error
    return found


def _info_of(entry: Attribute) -> MemoryInfo:
    if not isinstance(entry, DictionaryAttr):
        raise ValueError(f"it must be a dictionary of {', '.join(_FIELDS)}, got {entry}")
    unknown = entry.data.keys() - set(_FIELDS)
    if unknown:
        raise ValueError(
            f"unknown field {min(unknown)!r}; the fields are {', '.join(_FIELDS)}"
        )
    numbers: list[int] = []
    for name in _NUMBERS:
        number = integer_of(entry.data.get(name))
        if number is None:
            raise ValueError(f"{name} must be an integer, got {entry.data.get(name)}")
        numbers.append(number)
    unit_bits, max_num_bits, max_simd_bits = numbers
    return MemoryInfo(unit_bits, max_num_bits, max_simd_bits, _head_address(entry.data))


def _head_address(entry: Mapping[str, Attribute]) -> int | str | None:
    value = entry.get("head_address")
    if value is None:
        return None
    if isinstance(value, StringAttr):
        return value.data
    number = integer_of(value)
    if number is None:
        raise ValueError(
            f"head_address must be an integer or the name of a function, got {value}"
        )
    return number
