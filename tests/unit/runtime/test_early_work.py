"""Work that threads do before it is asked for."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.passes.relax.bind_params import BindParams
from xdsl_tvm.runtime import early_work
from xdsl_tvm.runtime._addresses import address_of
from xdsl_tvm.runtime.constant_memory import ReservedMemory
from xdsl_tvm.runtime.early_constants import EarlyConstants
from xdsl_tvm.runtime.early_work import EarlyWork
from xdsl_tvm.runtime.load import load_module

LARGE = np.arange(1 << 19, dtype="f4")
"""Two MiB."""


@pytest.fixture(params=[1, 2])
def processors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    count: int = request.param
    monkeypatch.setattr(early_work, "available_processors", lambda: count)
    return count


def test_tasks_begin_where_there_are_threads(processors: int) -> None:
    with EarlyWork() as work:
        assert work.has_threads == (processors > 1)
        future = work.begin(sum, [1, 2])
        assert (future is None) == (processors == 1)
        assert future is None or future.result() == 3


def test_threads_begin_soon_until_they_have_ended(processors: int) -> None:
    before = sys.getswitchinterval()
    one, other = EarlyWork(), EarlyWork()
    for work in (one, other):
        assert (sys.getswitchinterval() < before) == (processors > 1)
        work.stop()
    assert sys.getswitchinterval() == before


def test_no_thread_is_left(processors: int) -> None:
    """So that the process may be copied."""
    before = threading.active_count()
    with EarlyWork() as work:
        gate = threading.Event()
        begun = work.begin(gate.wait)
        left_out = work.begin(gate.wait)
        gate.set()
        work.stop()
        assert threading.active_count() == before
        assert begun is None or begun.result()
        assert left_out is None or left_out.done()
        assert work.begin(gate.wait) is None
    assert threading.active_count() == before


def test_large_arrays_become_constants(processors: int) -> None:
    """Those that no thread has begun are made by this one."""
    params: dict[str | int, object] = {"w": LARGE, 0: LARGE[:9], "b": 3}
    with EarlyWork() as work:
        gate = threading.Event()
        work.begin(gate.wait)
        constants = EarlyConstants(params, work, ReservedMemory())
        assert bool(constants) == (processors > 1)
        assert constants.values() == {**params, "w": dense_of(LARGE)}
        gate.set()


def test_elements_are_where_memory_has_places(processors: int) -> None:
    given = [LARGE, LARGE.reshape(1024, 512).T, np.arange(1 << 20, dtype=">i2")]
    params: dict[str | int, np.ndarray] = dict(enumerate(given * 3))
    with EarlyWork() as work:
        memory = ReservedMemory(work)
        made = EarlyConstants(params, work, memory).values()
    for key, array in params.items():
        data = made[key].data.data
        assert bytes(data) == dense_of(array).data.data
        assert memory.holding(address_of(np.frombuffer(data, "u1"))) is not None
        assert hash(made[key]) == hash(dense_of(array))


def test_what_has_no_attribute_is_left_as_it_is(processors: int) -> None:
    """The error is that of whoever binds it."""
    params: dict[str | int, object] = {0: np.zeros(1 << 17, "c16")}
    with EarlyWork() as work:
        constants = EarlyConstants(params, work, ReservedMemory())
        assert constants.values() == params


def test_early_constants_bind() -> None:
    module = load_module("""
    !x = tensor<524288xf32>
    relax.func @main(%w: !x) -> !x attributes {global_symbol = "main"} {
      %y = relax.add %w, %w : (!x, !x) -> !x
      relax.return %y : !x
    }
    """)
    with EarlyWork() as work:
        constants = EarlyConstants({"w": LARGE}, work, ReservedMemory())
        bound = BindParams("main", {**constants.values()})(module)
    assert str(bound) == str(BindParams("main", {"w": LARGE})(module))
