"""The vocabulary of modules in scripts: `from xdsl_tvm.tvmscript import ir as I`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn, cast

from xdsl.dialects.builtin import UnitAttr

from xdsl_tvm.dialects.relax import VDeviceAttr
from xdsl_tvm.dialects.tir import Target
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.tvmscript.builder import BuilderError, IRBuilder
from xdsl_tvm.tvmscript.decorators import ir_module as ir_module
from xdsl_tvm.tvmscript.expressions import ScriptTypeError


def module_attrs(attrs: Mapping[str, object]) -> None:
    """The attributes of the module. Raises BuilderError where they are given twice.

    Outside of a script, as when Python runs the body of a class, this does nothing.
    """
    if IRBuilder.is_active():
        builder = IRBuilder.current()
        if builder.module_attrs:
            raise BuilderError("I.module_attrs is given twice")
        builder.module_attrs.update(attrs)


def module_global_infos(infos: Mapping[str, Sequence[object]]) -> None:
    """Lists of global infos by name, such as `{"vdevice": [I.vdevice("llvm")]}`.

    Raises BuilderError where they are given twice. Outside of a script this does nothing.
    """
    if IRBuilder.is_active():
        builder = IRBuilder.current()
        if builder.global_infos:
            raise BuilderError("I.module_global_infos is given twice")
        builder.global_infos.update({name: list(each) for name, each in infos.items()})


def vdevice(
    target: str | Mapping[str, object] | Target | None = None,
    vdevice_id: int = 0,
    memory_scope: str = "global",
) -> VDeviceAttr:
    """A virtual device: a target, an index among its devices, and a memory scope."""
    if not isinstance(cast(object, vdevice_id), int):
        raise ScriptTypeError("I.vdevice: the number of a device must be an integer")
    if not isinstance(cast(object, memory_scope), str):
        raise ScriptTypeError("I.vdevice: the memory scope must be a string")
    parsed = None if target is None else Target.parse(target)
    return VDeviceAttr.of(parsed, vdevice_id, memory_scope)


def dummy_global_info() -> UnitAttr:
    """A global info that says nothing."""
    return UnitAttr()


def __getattr__(name: str) -> NoReturn:
    known = [each for each in globals() if not each.startswith("_")]
    raise AttributeError(f"I has no {name}{did_you_mean(name, known)}")
