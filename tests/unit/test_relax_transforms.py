"""Every name of TVM's `relax.transform` is a pass of ours, or has a reason not to be."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest
from support.paths import ROOT

from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.relax import transform


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    return importlib.import_module("relax_transforms_page")


def test_every_name_is_found_or_has_a_reason(page: ModuleType) -> None:
    passes = page.our_passes()
    assert len(set(page.NAMES)) == len(page.NAMES)
    assert set(page.REASONS) <= set(page.NAMES)
    for name in page.NAMES:
        found = getattr(transform, name, None)
        assert (found is not None) != (name in page.REASONS and name not in passes), name
        if name in passes:
            assert isinstance(found, type), name
            assert issubclass(found, CompilerPass), name
            assert found.name == passes[name].name, name


def test_former_names_are_found() -> None:
    assert transform.VMBuiltinLower is transform.LowerRuntimeBuiltin


def test_the_page_names_all_of_them(page: ModuleType) -> None:
    text = (ROOT / "docs" / "relax-transforms.md").read_text()
    for name in page.NAMES:
        assert f"\n| `{name}` | " in text
    assert "`relax-default-pipeline`" in text
