"""A dialect consists of what its modules define, and exports it by class name."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import pytest
from xdsl.ir import Dialect

from xdsl_tvm.dialects import relax, tvm_llvm
from xdsl_tvm.dialects.definitions import attributes_of, operations_of

_DIALECTS = [(relax, relax.Relax), (tvm_llvm, tvm_llvm.TVMLLVM)]


def _modules(package: ModuleType) -> list[ModuleType]:
    return [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
    ]


@pytest.mark.parametrize(("package", "dialect"), _DIALECTS)
def test_all_definitions_belong_to_the_dialect(package: ModuleType, dialect: Dialect):
    modules = _modules(package)
    assert set(operations_of(*modules)) == set(dialect.operations)
    assert set(attributes_of(*modules)) == set(dialect.attributes)


@pytest.mark.parametrize(("package", "dialect"), _DIALECTS)
def test_all_definitions_are_exported(package: ModuleType, dialect: Dialect):
    for definition in (*dialect.operations, *dialect.attributes):
        assert getattr(package, definition.__name__, None) is definition


@pytest.mark.parametrize("package", [relax, tvm_llvm])
def test_names_are_exported_by_the_module_that_defines_them(package: ModuleType):
    for module in _modules(package):
        for name in getattr(module, "__all__", ()):
            exported = getattr(module, name)
            assert getattr(package, name) is exported
            if isinstance(exported, type):
                assert exported.__module__ == module.__name__


def test_bases_are_no_definitions():
    operations = operations_of(*_modules(relax))
    assert relax.AddOp in operations
    assert relax.BinaryOperatorOp not in operations
