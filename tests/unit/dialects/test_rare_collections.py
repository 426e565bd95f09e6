"""The passes of `run_pipeline` run without Python's collector of cycles."""

import gc
import weakref
from collections.abc import Generator
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import rare_collections
from xdsl_tvm.lowering import pipelines
from xdsl_tvm.lowering.pipelines import run_pipeline
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.registry import new_context

pytestmark = pytest.mark.usefixtures("small_heap")


@dataclass(frozen=True)
class _Watch(CompilerPass):
    """A pass that notes whether the collector runs, and may fail."""

    name = "tir-watch"
    fails: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _SEEN.append(gc.isenabled())
        if self.fails:
            raise PassFailedException("it fails")


_SEEN: list[bool] = []


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    monkeypatch.setattr(pipelines, "find_pass", {"tir-watch": _Watch}.get)
    _SEEN.clear()
    assert gc.isenabled()
    yield
    gc.enable()


def test_is_enabled_after_success() -> None:
    run_pipeline(new_context(), ModuleOp([]), "tir-watch,tir-watch")
    assert _SEEN == [False, False]
    assert gc.isenabled()


def test_is_enabled_after_a_failing_pass() -> None:
    with pytest.raises(PassFailedException, match="it fails"):
        run_pipeline(new_context(), ModuleOp([]), "tir-watch,tir-watch{fails=true}")
    assert _SEEN == [False, False]
    assert gc.isenabled()


def test_stays_disabled() -> None:
    gc.disable()
    run_pipeline(new_context(), ModuleOp([]), "tir-watch")
    with pytest.raises(PassFailedException, match="it fails"):
        run_pipeline(new_context(), ModuleOp([]), "tir-watch{fails=true}")
    assert not gc.isenabled()


@pytest.mark.parametrize(("limit", "collections"), [(-1, 3), (10**9, 0)])
def test_collects_between_steps(
    monkeypatch: pytest.MonkeyPatch, limit: int, collections: int
) -> None:
    monkeypatch.setattr(rare_collections, "_COLLECTED_AFTER", limit)
    done: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            done.append(phase)

    gc.callbacks.append(note)
    try:
        run_pipeline(new_context(), ModuleOp([]), "tir-watch,tir-watch")
    finally:
        gc.callbacks.remove(note)
    assert len(done) == collections


@pytest.mark.parametrize(("limit", "is_left"), [(-1, False), (10**9, True)])
def test_leaves_what_is_new_to_a_collection_of_all(
    monkeypatch: pytest.MonkeyPatch, limit: int, is_left: bool
) -> None:
    """Python's collector does not go through it before."""
    monkeypatch.setattr(rare_collections, "_COLLECTED_AFTER", limit)
    gc.unfreeze()
    with rare_collections.rare_collections():
        item = _Cycle()
        item.itself = item
        found = weakref.ref(item)
        del item
    gc.collect(1)
    assert (found() is not None) == is_left
    gc.collect()
    assert found() is None


class _Cycle:
    itself: object = None


def test_collects_nothing_where_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rare_collections, "_COLLECTED_AFTER", -1)
    gc.disable()
    done: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        done.append(phase)

    gc.callbacks.append(note)
    try:
        run_pipeline(new_context(), ModuleOp([]), "tir-watch")
    finally:
        gc.callbacks.remove(note)
    assert not done
