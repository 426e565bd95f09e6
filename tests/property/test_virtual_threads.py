"""Random programs with virtual threads compute the same without them."""

from __future__ import annotations

import os

import pytest
from support.ir import parse
from support.virtual_threads import random_virtual_threads
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.inject_virtual_thread import InjectVirtualThread
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def stores(module: ModuleOp) -> int:
    return sum(isinstance(op, tir.StoreOp) for op in module.walk())


def expanded(module: ModuleOp) -> ModuleOp:
    module = module.clone()
    InjectVirtualThread().apply(new_context(), module)
    module.verify()
    assert not any(isinstance(op, tir.LaunchThreadOp) for op in module.walk())
    return module


@pytest.mark.parametrize("shared", [False, True])
def test_threads_are_written_out(shared: bool) -> None:
    """With and without equal values being one, loads among them."""
    copied = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_virtual_threads(seed))
        if shared:
            CommonSubexpressionElimination().apply(new_context(), module)
        check_semantics(module, (InjectVirtualThread(),), seed=seed, runs=1)
        copied += stores(expanded(module)) > stores(module)
    assert copied >= COUNT // 2


def test_an_expansion_has_nothing_left_to_expand() -> None:
    for seed in range(FIRST, FIRST + 6):
        module = expanded(parse(random_virtual_threads(seed)))
        assert str(expanded(module)) == str(module)
