"""The vocabulary of modules in scripts: `from xdsl_tvm.tvmscript import ir as I`."""

from __future__ import annotations

from collections.abc import Mapping as _Mapping
from collections.abc import Sequence as _Sequence
from typing import NoReturn as _NoReturn
from typing import cast as _cast

from xdsl.dialects.builtin import UnitAttr as _UnitAttr

from xdsl_tvm.dialects.relax import VDeviceAttr as _VDeviceAttr
from xdsl_tvm.dialects.tir import Target as _Target
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean as _did_you_mean
from xdsl_tvm.tvmscript.builder import BuilderError as _BuilderError
from xdsl_tvm.tvmscript.builder import IRBuilder as _IRBuilder
from xdsl_tvm.tvmscript.decorators import ir_module as ir_module
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError as _ScriptTypeError


def module_attrs(attrs: _Mapping[str, object]) -> None:
    """The attributes of the module. Raises BuilderError where they are given twice.

    Outside of a script, as when Python runs the body of a class, this does nothing.
    """
    if _IRBuilder.is_active():
        builder = _IRBuilder.current()
        if builder.module_attrs:
            raise _BuilderError("I.module_attrs is given twice")
        builder.module_attrs.update(attrs)


def module_global_infos(infos: _Mapping[str, _Sequence[object]]) -> None:
    """Lists of global infos by name, such as `{"vdevice": [I.vdevice("llvm")]}`.

    Raises BuilderError where they are given twice. Outside of a script this does nothing.
    """
    if _IRBuilder.is_active():
        builder = _IRBuilder.current()
        if builder.global_infos:
            raise _BuilderError("I.module_global_infos is given twice")
        builder.global_infos.update({name: list(each) for name, each in infos.items()})


def vdevice(
    target: str | _Mapping[str, object] | _Target | None = None,
    vdevice_id: int = 0,
    memory_scope: str = "global",
) -> _VDeviceAttr:
    """A virtual device: a target, an index among its devices, and a memory scope."""
    if not isinstance(_cast(object, vdevice_id), int):
        raise _ScriptTypeError("I.vdevice: the number of a device must be an integer")
    if not isinstance(_cast(object, memory_scope), str):
        raise _ScriptTypeError("I.vdevice: the memory scope must be a string")
    parsed = None if target is None else _Target.parse(target)
    return _VDeviceAttr.of(parsed, vdevice_id, memory_scope)


def dummy_global_info() -> _UnitAttr:
    """A global info that says nothing."""
    return _UnitAttr()


def __getattr__(name: str) -> _NoReturn:
    known = [each for each in globals() if not each.startswith("_")]
    raise AttributeError(f"I has no {name}{_did_you_mean(name, known)}")
