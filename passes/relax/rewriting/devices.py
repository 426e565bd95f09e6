"""Virtual devices in types, and those that a module lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.dialects.relax.types import FuncType, TensorInfo, TupleType
from xdsl_tvm.dialects.tir.module import VDEVICES

DeviceMap: TypeAlias = Callable[[VDeviceAttr | None], VDeviceAttr | None]


def map_vdevices(type_: Attribute, mapping: DeviceMap) -> Attribute:
    """The type with the devices of its tensors replaced, those of functions, too."""
    if isinstance(type_, TupleType):
        return TupleType.of(map_vdevices(field, mapping) for field in type_.fields.data)
    if isinstance(type_, FuncType):
        types = type_.param_types
        params = None if types is None else [map_vdevices(t, mapping) for t in types]
        return FuncType.of(params, map_vdevices(type_.ret, mapping), type_.is_pure)
    info = TensorInfo.of(type_)
    if info is None or info.dims is None:
        return type_
    device = mapping(info.vdevice)
    return type_ if device == info.vdevice else replace(info, vdevice=device).type


def listed_vdevices(module: ModuleOp) -> list[VDeviceAttr]:
    """The virtual devices of a module, in order."""
    found = module.attributes.get(VDEVICES)
    return list(found) if isa(found, ArrayAttr[VDeviceAttr]) else []


def device_indices(module: ModuleOp) -> dict[VDeviceAttr | None, int]:
    """What allocations have for a device: its position; 0 for tensors on none."""
    return {None: 0} | {each: i for i, each in enumerate(listed_vdevices(module))}


def values_in(func: relax.FuncOp) -> Iterator[SSAValue]:
    """The parameters of a function, and all results and arguments of blocks in it."""
    ops: list[Operation] = list(func.walk())
    for op in ops:
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args
