"""Tests in child processes, as those of GPUs are."""

from __future__ import annotations

import os
import time

import pytest
from support.apart import apart

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="they fork")


def test_outcomes() -> None:
    seen: list[int] = []

    def passes(value: int) -> None:
        seen.append(value)

    def fails() -> None:
        raise ValueError("wrong" * 50_000)

    def skips() -> None:
        pytest.skip("not here")

    def ends() -> None:
        os._exit(7)

    apart(10)(passes)(3)
    assert seen == []
    with pytest.raises(pytest.fail.Exception, match=r"in fails\n.*\nValueError: wrongw"):
        apart(10)(fails)()
    with pytest.raises(pytest.skip.Exception, match="not here"):
        apart(10)(skips)()
    with pytest.raises(pytest.fail.Exception, match=r"ended with status 7$"):
        apart(10)(ends)()
    with pytest.raises(pytest.fail.Exception, match=r"did not end in 0\.1 seconds$"):
        apart(0.1)(lambda: time.sleep(60))()
