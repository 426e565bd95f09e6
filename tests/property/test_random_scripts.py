"""Random scripts are read, printed and read again as the same programs.

The ordinary run takes a few; `XDSL_TVM_FUZZ=1000` takes that many.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, note, settings
from support.script_strategy import scripts

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.tvmscript import parse
from xdsl_tvm.tvmscript.printer import print_script

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "16"))


@settings(
    max_examples=COUNT,
    derandomize="XDSL_TVM_FUZZ" not in os.environ,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(scripts())
def test_round_trip(text: str) -> None:
    note(text)
    module = parse(text)
    module.verify()
    printed = print_script(module)
    note(printed)
    again = parse(printed)
    assert_structural_equal(module, again)
    assert print_script(again) == printed
    assert_structural_equal(module, parse(print_script(module, sugar=False)))
