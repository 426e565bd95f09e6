"""Fixtures of the tests of interpreters."""

import pytest

from xdsl_tvm.interpreters.gpu import lockstep_threads as _lockstep_threads


@pytest.fixture(params=["together", "one by one"])
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test with the threads of small launches together, where they can be, and
    with one thread after the other."""
    least = 0 if request.param == "together" else 1 << 62
    monkeypatch.setattr(_lockstep_threads, "LEAST_THREADS", least)
    return request.param
