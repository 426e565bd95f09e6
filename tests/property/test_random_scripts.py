"""Random scripts are read, printed and read again as the same programs.

The ordinary run takes a few; `XDSL_TVM_FUZZ=1000` takes that many, `XDSL_TVM_FUZZ_FROM`
is the first of them.
"""

from __future__ import annotations

import os

import pytest
from support.random_scripts import random_script

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.tvmscript import parse
from xdsl_tvm.tvmscript.printer import print_script

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_round_trip(seed: int) -> None:
    module = parse(random_script(seed))
    module.verify()
    printed = print_script(module)
    again = parse(printed)
    assert_structural_equal(module, again)
    assert print_script(again) == printed
    assert_structural_equal(module, parse(print_script(module, sugar=False)))
