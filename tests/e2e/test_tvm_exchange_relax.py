"""Exchange of Relax with TVM 0.27: it reads what we print, and we what it prints of that.

Needs the `[tvm]` extra. All programs of the Relax corpus are printed in the spelling of
0.27 and read by TVM's parser, unless they hold what 0.27 has not; most come back from the
text that TVM prints as the same programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.relax_corpus import PROGRAMS
from support.relax_scripts import as_scripts_say
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.tvmscript import parse, print_script

pytest.importorskip("tvm", reason="pip install 'xdsl-tvm[tvm]'")
from_source: Callable[[str], Any] = pytest.importorskip("tvm.script").from_source

NOT_READ = {
    "TVM 0.27 has other arguments": {
        "operators.layouts",
    },
    "TVM 0.27 does not read it": {"operators.inspection"},
    "TVM 0.27 infers another type, or finds it not well-formed": {
        "calls.Unchecked",
        "control.attributes",
        "operators.binary",
        "operators.gathers",
    },
    "TVM 0.27 ends with a segmentation fault": {
        "control.symbol_of_block",
        "operators.sorting",
        "shapes.casts",
    },
    "TVM has no shape of which a part is known": {"shapes.known_in_part"},
}
DIFFERENT = {
    "TVM leaves constants out of its text": {
        "bindings.constants",
        "bindings.empty_constant",
        "bindings.long_constants",
        "bindings.small_floats",
        "calls.newer",
        "control.less_known_result",
        "operators.indexing",
    },
    "TVM writes more exact types, or those of scalars without values": {
        "bindings.less_known",
        "bindings.scalars",
        "shapes.little_known",
    },
    "TVM binds more or fewer names": {
        "calls.packed",
        "control.branches_of_leaves",
        "operators.views",
    },
    "TVM declares a variable of a TIR function outside of it": {"calls.VirtualMachine"},
    "TVM fills in paddings and layouts": {"operators.convolutions", "operators.pools"},
    "TVM has scalars of float64": {"operators.creation", "operators.ternary"},
    "TVM completes targets": {"calls.Devices"},
    "TVM prints operands in another order than it reads": {"operators.attention"},
}
NO_TEXT = {"calls.SeveralOutputs": "newer TVM has no tir_vars"}
UNREAD = frozenset(name for names in NOT_READ.values() for name in names)
OTHERS = frozenset(name for names in DIFFERENT.values() for name in names)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in UNREAD])
def test_tvm_reads_what_we_print(name: str) -> None:
    module = parse(PROGRAMS[name].text)
    if name in NO_TEXT:
        with pytest.raises(DiagnosticException, match=NO_TEXT[name]):
            print_script(module, version="0.27")
        return
    text = print_script(module, version="0.27")
    read = from_source(text)
    if name not in OTHERS:
        again = as_scripts_say(parse(read.script()))
        assert_structural_equal(again, as_scripts_say(parse(text)))


def test_names() -> None:
    assert not (UNREAD | OTHERS | set(NO_TEXT)) - set(PROGRAMS)
