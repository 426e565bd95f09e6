"""xDSL's own passes keep what our dialects compute: folds, patterns and effects.

They run on all examples and on evenly spaced inputs of FileCheck tests; with
`XDSL_TVM_FUZZ=1000` on all of these.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import paths
from support.filecheck_semantics import modules
from support.lit_sample import sample
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))
PIPELINES: Sequence[Sequence[type[ModulePass]]] = (
    (CanonicalizePass, CommonSubexpressionElimination, DeadCodeElimination),
    # Without the canonicalizer before them, which removes dead code too.
    (CommonSubexpressionElimination,),
    (DeadCodeElimination,),
)
INPUTS = [
    *sorted(paths.EXAMPLES.rglob("*.mlir")),
    *(path for path in sample(COUNT) if not path.stem.endswith("-invalid")),
]


@pytest.mark.parametrize(
    "path", INPUTS, ids=lambda path: str(path.relative_to(paths.ROOT))
)
def test_programs_compute_the_same(path: Path) -> None:
    for module in modules(path):
        checker = SemanticsChecker(module.clone(), runs=1)
        for pipeline in PIPELINES:
            current = module.clone()
            for one in pipeline:
                one().apply(new_context(allow_unregistered=True), current)
                current.verify()
                if checker.report.checked:
                    checker.check(one.name, current)


@pytest.mark.parametrize("path", sorted(paths.FILECHECK.rglob("canonicalize*.mlir")))
def test_canonicalizing_twice_changes_nothing(path: Path) -> None:
    for module in modules(path):
        once, context = module.clone(), new_context(allow_unregistered=True)
        CanonicalizePass().apply(context, once)
        twice = once.clone()
        CanonicalizePass().apply(context, twice)
        assert twice.is_structurally_equivalent(once)
