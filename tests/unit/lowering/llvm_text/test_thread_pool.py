"""The text of the thread pool: every placeholder filled, every file used."""

from importlib import resources
from string import Template

import pytest

from xdsl_tvm.lowering.llvm_text import thread_pool
from xdsl_tvm.lowering.llvm_text.thread_pool import (
    POOLS,
    System,
    filled,
    thread_pool_ir,
)

SYSTEMS = [
    System(family, name)
    for family in ("x86_64", "aarch64", "riscv64")
    for name in ("linux", "darwin", "win32")
]


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("system", SYSTEMS)
def test_no_placeholder_is_left(system: System, linked: bool):
    for pool in POOLS:
        if pool == "futex" and system.family == "riscv64":
            with pytest.raises(ValueError, match="no futex pool for riscv64; use"):
                thread_pool_ir(system, pool, linked=linked)
            continue
        text = thread_pool_ir(system, pool, linked=linked)
        assert "$" not in text
        assert ("define weak " in text) == linked


def test_every_file_is_a_part(monkeypatch: pytest.MonkeyPatch):
    read: set[str] = set()
    original = Template.substitute

    def substitute(self: Template, mapping: dict[str, object]) -> str:
        read.add(self.template)
        return original(self, mapping)

    monkeypatch.setattr(Template, "substitute", substitute)
    for system in SYSTEMS:
        for pool in POOLS[1:] if system.family == "riscv64" else POOLS:
            thread_pool_ir.__wrapped__(system, pool)
    files = [
        path
        for path in resources.files(thread_pool).iterdir()
        if path.name.endswith(".ll")
    ]
    assert files
    assert {path.read_text(encoding="utf-8") for path in files} == read


def test_placeholders_and_values_belong_together():
    with pytest.raises(KeyError, match="futex_syscall"):
        filled("futex")
    with pytest.raises(ValueError, match=r"pthread\.ll has no placeholder linkage"):
        filled("pthread", linkage="")
