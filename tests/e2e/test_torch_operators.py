"""Calls of torch's operators agree with torch. They need torch.

By default evenly spaced ones are interpreted; with `XDSL_TVM_FUZZ` all are, and compiled.
`make torch` does so, too, and writes the table of docs/torch.md.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec

import pytest
from support.paths import ROOT
from support.torch_operators import Case, all_cases, full_name, run

from xdsl_tvm.frontend.torch.node import COMPLEX, CONVERTERS

FULL = "XDSL_TVM_FUZZ" in os.environ
CASES = all_cases()


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES if FULL else CASES[::40], ids=lambda c: c.target)
def test_a_call_agrees_with_torch(case: Case) -> None:
    outcome = run(case, compiled=FULL and find_spec("llvmlite") is not None)
    assert not outcome.failure


def test_each_converter_is_called_by_a_case() -> None:
    called = {full_name(case.target) for case in CASES}
    # An integer that is read out of a tensor is a size: test_torch_models.py.
    assert (CONVERTERS.keys() | COMPLEX.keys()) - called == {
        "aten._local_scalar_dense.default",
        "aten.item.default",
    }


def test_the_page_has_a_row_for_each_converter() -> None:
    page = (ROOT / "docs" / "torch.md").read_text()
    rows = re.findall(r"^\| (\S+) \|", page, re.MULTILINE)
    names = {full_name(name.replace("\\_", "_")) for name in rows}
    assert CONVERTERS.keys() | COMPLEX.keys() <= names
