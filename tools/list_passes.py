"""`xdsl-tvm passes`: this package's passes with summaries, options and TVM names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from xdsl_tvm.passes.infra.contract import (
    all_contracts,
    contract_of,
    markdown_table,
    page,
    plain_list,
)
from xdsl_tvm.passes.infra.pipeline_runner import check_name, with_own_names
from xdsl_tvm.registry import pass_modules
from xdsl_tvm.tools.opt import refuse_arguments


def _pages(names: Sequence[str]) -> str:
    """The contracts of the passes with these names, ours or TVM's.

    Raises UserError, with the closest names, for one that this package does not have.
    """
    found: list[str] = []
    for name in map(with_own_names, names):
        check_name("pass of this package", name, pass_modules())
        found.append(page(contract_of(name)))
    return "\n".join(found)


def main(arguments: Sequence[str]) -> None:
    """Runs the command; errors are raised, for the caller to print."""
    parser = argparse.ArgumentParser("xdsl-tvm passes", description=__doc__)
    parser.error = refuse_arguments
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="print all that is said of these passes, such as tir-simplify or "
        "tir.Simplify; default: a list of all passes",
    )
    parser.add_argument("--markdown", action="store_true", help="the list as a table")
    parser.add_argument("--traceback", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.names:
        text = _pages(options.names)
    else:
        contracts = all_contracts()
        text = markdown_table(contracts) if options.markdown else plain_list(contracts)
    print(text, end="")
