"""The package's dialects, passes and targets by name, found by where their files lie.

A pass is one file, and its name says where the file is: `passes/tir/lower_init_block.py`
holds the pass `tir-lower-init-block`, `lowering/to_llvm/convert_scf_to_cf.py` holds
`tvm-convert-scf-to-cf`. So there is no table to keep in step with the tree. Names are
read from the folders; a file is imported when its pass is first asked for. Modules whose
name starts with an underscore are shared helpers, not passes.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.utils.target import Target

_ROOT = Path(__file__).parent
PASS_FAMILIES: dict[tuple[str, ...], str] = {
    ("passes", "tir"): "tir",
    ("passes", "relax"): "relax",
    ("passes", "stablehlo"): "stablehlo",
    ("passes", "testing", "tir"): "tir-test",
    ("passes", "testing", "relax"): "relax-test",
    ("lowering", "tir"): "tir",
    ("lowering", "relax"): "relax",
    ("lowering", "to_llvm"): "tvm",
}
"""The folders of passes, and how the names of the passes in them begin."""
_T = TypeVar("_T")


def _modules(*folders: str) -> Iterator[str]:
    for module in pkgutil.iter_modules([str(_ROOT.joinpath(*folders))]):
        if not module.ispkg and not module.name.startswith("_"):
            yield module.name


@cache
def _only_class(module_name: str, base: type[_T], name: str) -> type[_T]:
    """The class of `module_name` that derives from `base` and is called `name`."""
    module = importlib.import_module(module_name)
    for value in vars(module).values():
        if (
            inspect.isclass(value)
            and value.__module__ == module_name
            and getattr(value, "name", None) == name
            # Asked last: the answer no goes through all classes that derive from it.
            and issubclass(value, base)
        ):
            return value
    raise ImportError(f"{module_name} defines no {base.__name__} named '{name}'")


def _loader(module_name: str, base: type[_T], name: str) -> Callable[[], type[_T]]:
    return lambda: _only_class(module_name, base, name)


@cache
def pass_modules() -> Mapping[str, str]:
    """Pass name -> dotted name of the module that holds it, sorted by name.

    The folders are read once in a process.
    """
    found = {
        f"{prefix}-{module.replace('_', '-')}": ".".join(("xdsl_tvm", *folders, module))
        for folders, prefix in PASS_FAMILIES.items()
        for module in _modules(*folders)
    }
    return MappingProxyType(dict(sorted(found.items())))


def find_pass(name: str) -> type[ModulePass] | None:
    """The pass of the package that has this name, if there is one."""
    module = pass_modules().get(name)
    return None if module is None else _only_class(module, ModulePass, name)


def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass of the package, by name, each loaded on demand."""
    return {
        name: _loader(module, ModulePass, name) for name, module in pass_modules().items()
    }


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """Every dialect of the package, by name, each loaded on demand.

    `chlo`, `nvvm` and `stablehlo` are left out as soon as xDSL itself has a dialect of
    that name.
    """

    def get_nvvm() -> Dialect:
        from xdsl_tvm.dialects.nvvm import NVVM

        return NVVM

    def get_relax() -> Dialect:
        from xdsl_tvm.dialects.relax import Relax

        return Relax

    def get_tir() -> Dialect:
        from xdsl_tvm.dialects.tir import TIR

        return TIR

    def get_tvm_llvm() -> Dialect:
        from xdsl_tvm.dialects.tvm_llvm import TVMLLVM

        return TVMLLVM

    def get_stablehlo() -> Dialect:
        from xdsl_tvm.dialects.stablehlo import StableHLO

        return StableHLO

    def get_chlo() -> Dialect:
        from xdsl_tvm.dialects.stablehlo import CHLO

        return CHLO

    from xdsl.dialects import get_all_dialects

    dialects: dict[str, Callable[[], Dialect]] = {
        "chlo": get_chlo,
        "nvvm": get_nvvm,
        "relax": get_relax,
        "stablehlo": get_stablehlo,
        "tir": get_tir,
        "tvm_llvm": get_tvm_llvm,
    }
    taken = get_all_dialects()
    for name in ("chlo", "nvvm", "stablehlo"):
        if name in taken:
            del dialects[name]
    return dialects


def all_targets() -> dict[str, Callable[[], type[Target]]]:
    """Every `-t` target of the package, by name, each loaded on demand.

    A target is one file: `targets/llvm_ir.py` holds `llvm-ir`.
    """
    from xdsl.targets import get_all_targets

    taken = get_all_targets()
    found: dict[str, Callable[[], type[Target]]] = {}
    for module in _modules("targets"):
        name = module.replace("_", "-")
        if name not in taken:
            found[name] = _loader(f"xdsl_tvm.targets.{module}", Target, name)
    return found


@cache
def _every_dialect() -> dict[str, Callable[[], Dialect]]:
    # The universe is made of this module, so it cannot be imported with it.
    from xdsl.universe import Universe

    return Universe.get_multiverse().all_dialects


def new_context(*, allow_unregistered: bool = False) -> Context:
    """A context that knows all dialects of xDSL and of its plugins.

    The plugins of the environment are looked up once per process.
    """
    context = Context(allow_unregistered=allow_unregistered)
    for name, dialect in _every_dialect().items():
        context.register_dialect(name, dialect)
    return context
