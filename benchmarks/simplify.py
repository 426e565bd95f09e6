"""Time of the simplifiers by the size of expressions.

Random index expressions of three sizes are simplified, each by an analyzer that knows
nothing of the others. The ratio is to a walk over the same trees in the same run that
asks each node once for the nodes it is made of. Time by size should be near to linear:
the last column is the time of a node.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.expr_trees import Trees, leaves_of
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, fold, postorder
from xdsl_tvm.dialects.integers import Bound

SIZES = (5, 20, 100)
LEAVES = leaves_of(i32, i32, i32, i32)


def expressions(size: int, count: int) -> list[Expr]:
    """Random trees with `size` nodes, up to a tenth."""
    trees = Trees(LEAVES, size, index_only=True)
    found: list[Expr] = []
    while len(found) < count:
        root = trees.integer(size + 2)
        if abs(len(list(postorder(root))) - size) <= size / 10:
            found.append(root)
    return found


def analyzer() -> Analyzer:
    """An analyzer that knows that the leaves are loop variables."""
    result = Analyzer()
    for leaf in LEAVES:
        result.update(leaf, Bound(0, 1023))
    return result


def walk(root: Expr) -> object:
    return fold(root, lambda node, operands: 1 + sum(operands))


METHODS: dict[str, Callable[[Expr], object]] = {
    "walk": walk,
    "analyzer alone": lambda root: analyzer(),
    "rewrite_simplify": lambda root: analyzer().rewrite_simplify(root),
    "canonical_simplify": lambda root: analyzer().canonical_simplify(root),
    "simplify": lambda root: analyzer().simplify(root),
    "const_int_bound": lambda root: analyzer().const_int_bound(root),
}


def microseconds(method: Callable[[Expr], object], roots: Sequence[Expr]) -> float:
    """The mean time of an expression, the least of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for root in roots:
            method(root)
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / len(roots)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="expressions of a size")
    count = parser.parse_args().count
    print(f"{'':20}{'nodes':>7}{'us':>10}{'walks':>8}{'us/node':>9}")
    by_size = {size: expressions(size, count) for size in SIZES}
    base = {size: microseconds(walk, roots) for size, roots in by_size.items()}
    for name, method in METHODS.items():
        for size, roots in by_size.items():
            taken = microseconds(method, roots)
            ratio = taken / base[size]
            print(f"{name:20}{size:7}{taken:10.1f}{ratio:8.1f}{taken / size:9.2f}")


if __name__ == "__main__":
    main()
