"""Renews the table of docs/torch.md: python tests/support/torch_table.py docs/torch.md.

Without a page it prints the table, and with `--interpret` nothing is compiled. It needs
torch, and onnx for what writes tables.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.torch_operators import Outcome, all_cases, full_name, run
from xdsl_tvm.frontend.torch.graph import RANDOM, SKIPPED
from xdsl_tvm.frontend.torch.node import COMPLEX, CONVERTERS
from xdsl_tvm.tools.onnx_conformance import with_table

SIZES = frozenset(
    f"aten.{name}"
    for name in ("sym_numel.default", "sym_size.int", "sym_storage_offset.default")
) | {"aten.sym_stride.int"}
"""Operators whose results are sizes, which torch computes."""

REMARKS: Mapping[str, str] = {
    "aten._fft_c2c.default": "complex numbers within a program",
    "aten._fft_c2r.default": "complex numbers within a program",
    "aten._fft_r2c.default": "complex numbers within a program",
    "aten._local_scalar_dense.default": "an integer, as a size",
    "aten._native_batch_norm_legit.default": "its new statistics are results",
    "aten.atan2.out": "what is written is a result",
    "aten.index.Tensor": "masks alone",
    "aten.item.default": "an integer, as a size",
    "aten.sym_is_contiguous.default": "torch has decided it",
    **dict.fromkeys(RANDOM, "random, with a seed"),
}


def core_operators() -> set[str]:
    """The operators of the Core ATen IR, by their tag."""
    torch: Any = importlib.import_module("torch")
    found: set[str] = set()
    for name in dir(torch.ops.aten):
        packet: Any = getattr(torch.ops.aten, name, None)
        for overload in packet.overloads() if hasattr(packet, "overloads") else ():
            operator = getattr(packet, overload)
            if torch.Tag.core in operator.tags:
                found.add(str(operator))
    return found


def table(outcomes: Iterable[Outcome], core: set[str], how: str) -> str:
    """The rows of the operators, and how many calls agree."""
    by_target: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_target[full_name(outcome.case.target)].append(outcome)
    everything = [each for found in by_target.values() for each in found]
    good = sum(not each.failure for each in everything)
    rows = {
        target: _row(target, by_target[target], core)
        for target in sorted({*core, *by_target, *CONVERTERS, *COMPLEX})
    }
    converted = [target for target in core if "| not converted" not in rows[target]]
    return "\n".join(
        [
            f"{good} of {len(everything)} calls agree with torch, {how}. Of the "
            f"{len(core)} core operators {len(converted)} are converted.",
            "",
            "| Operator | Core | Converted by | Calls | Remark |",
            "|---|---|---|---|---|",
            *rows.values(),
        ]
    )


def _row(target: str, outcomes: Sequence[Outcome], core: set[str]) -> str:
    good = [each for each in outcomes if not each.failure]
    if target in SIZES:
        how = "torch: it is a size"
    elif target in CONVERTERS or target in COMPLEX:
        how = "converter"
    elif target in SKIPPED:
        how = "left out"
    else:
        how = "torch's decomposition" if good else "not converted"
    remark = REMARKS.get(target, "")
    failures = [each.failure for each in outcomes if each.failure]
    if failures and not remark:
        remark = failures[0].replace("|", "/").replace("<", "less")[:100]
    name = target.removeprefix("aten.").removesuffix(".default").replace("_", "\\_")
    is_core = "yes" if target in core else ""
    calls = f"{len(good)} of {len(outcomes)}" if outcomes else ""
    return f"| {name} | {is_core} | {how} | {calls} | {remark} |"


def main(arguments: Sequence[str]) -> None:
    """Runs all cases and writes the table."""
    parser = argparse.ArgumentParser("torch_table", description=__doc__)
    parser.add_argument("page", nargs="?", type=Path, help="renew its table")
    parser.add_argument("--interpret", action="store_true", help="without a compiler")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    outcomes: list[Outcome] = []
    for case in all_cases():
        outcome = run(case, compiled=not options.interpret)
        outcomes.append(outcome)
        if outcome.failure:
            print(f"{case.target}: {outcome.failure}", flush=True)
    how = "interpreted" if options.interpret else "interpreted and compiled"
    text = table(outcomes, core_operators(), how)
    if options.page is None:
        print(text)
        return
    page: Path = options.page
    page.write_text(with_table(page.read_text(), text))


if __name__ == "__main__":
    main(sys.argv[1:])
