"""Names of values: any name that a program has, its clones have, too."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import i32

from xdsl_tvm.dialects.name_hints import set_name_hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("x", "x"),
        ("x_1", "x"),
        ("x_1_2", "x"),
        ("_", "_"),
        ("_1", "_"),
        ("_1_2", "_"),
        ("__1", "_"),
        ("1", None),
        ("a b", None),
        ("", None),
        (None, None),
    ],
)
def test_a_hint_survives_clones(name: str | None, hint: str | None) -> None:
    op = test.TestOp(result_types=[i32])
    set_name_hint(op.results[0], name)
    for each in (op, op.clone(), op.clone().clone()):
        assert each.results[0].name_hint == hint
