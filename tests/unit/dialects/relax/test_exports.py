"""The dialect consists of what its modules define, and exports it by class name."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.definitions import attributes_of, operations_of


def _modules() -> list[ModuleType]:
    return [
        importlib.import_module(f"{relax.__name__}.{module.name}")
        for module in pkgutil.iter_modules(relax.__path__)
    ]


def test_all_definitions_belong_to_the_dialect():
    modules = _modules()
    assert set(operations_of(*modules)) == set(relax.Relax.operations)
    assert set(attributes_of(*modules)) == set(relax.Relax.attributes)


def test_all_definitions_are_exported():
    for definition in (*relax.Relax.operations, *relax.Relax.attributes):
        assert getattr(relax, definition.__name__, None) is definition


def test_names_are_exported_by_the_module_that_defines_them():
    for module in _modules():
        for name in getattr(module, "__all__", ()):
            exported = getattr(module, name)
            assert getattr(relax, name) is exported
            assert getattr(exported, "__module__", module.__name__) == module.__name__


def test_bases_are_no_definitions():
    operations = operations_of(*_modules())
    assert relax.AddOp in operations
    assert relax.BinaryOperatorOp not in operations
