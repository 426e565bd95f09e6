"""Lowest common ancestors, compared with those found by climbing from each access."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
from xdsl.dialects import test
from xdsl.ir import Block, Operation, Region

from xdsl_tvm.analysis.tir.lca import CommonAncestors


def random_tree(rng: random.Random, size: int) -> Operation:
    root = test.TestOp(regions=[Region(Block())])
    nodes: list[Operation] = [root]
    for _ in range(size):
        node = test.TestOp(regions=[Region(Block())])
        rng.choice(nodes[-6:]).regions[0].block.add_op(node)
        nodes.append(node)
    return root


def around(op: Operation) -> list[Operation]:
    found = [op]
    while (parent := found[-1].parent_op()) is not None:
        found.append(parent)
    return found[::-1]


def common(places: list[Operation]) -> Operation:
    paths = [around(place) for place in places]
    shared = [level[0] for level in zip(*paths, strict=False) if len(set(level)) == 1]
    return shared[-1]


@pytest.mark.parametrize("seed", range(60))
def test_common_ancestors_are_those_found_by_climbing(seed: int) -> None:
    rng = random.Random(seed)
    root = random_tree(rng, rng.randint(1, 60))
    found = CommonAncestors[int](root)
    touched: dict[int, list[Operation]] = defaultdict(list)

    def visit(op: Operation) -> None:
        if op is not root:
            found.enter(op)
        for key in rng.sample(range(9), 2):
            path = around(op)
            place = rng.choice(path) if rng.random() < 0.2 else None
            found.touch(key, place)
            touched[key].append(op if place is None else place)
        for inner in op.regions[0].block.ops:
            visit(inner)
        if op is not root:
            assert found.innermost is op
            found.leave()

    visit(root)
    for key, places in touched.items():
        assert found[key] is common(places)
    assert set(found) == set(touched)
    keys = [key for key in range(5) if key in found]
    found.join(keys, 8)
    for key in keys:
        places = touched[key] + touched.get(8, [])
        assert found[key] is common(places)


def test_a_key_that_is_nowhere_joins_nothing() -> None:
    root = test.TestOp(regions=[Region(Block())])
    found = CommonAncestors[str](root)
    inner = test.TestOp(regions=[Region(Block())])
    found.enter(inner)
    found.touch("a")
    found.leave()
    found.join(["a", "b"], "c")
    assert found["a"] is inner
    assert "b" not in found
