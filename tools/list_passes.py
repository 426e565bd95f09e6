"""`xdsl-tvm passes`: this package's passes with summaries, options and TVM names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from xdsl_tvm.passes.infra.contract import all_contracts, markdown_table, plain_list
from xdsl_tvm.tools.opt import refuse_arguments


def main(arguments: Sequence[str]) -> None:
    """Runs the command; errors are raised, for the caller to print."""
    parser = argparse.ArgumentParser("xdsl-tvm passes", description=__doc__)
    parser.error = refuse_arguments
    parser.add_argument("--markdown", action="store_true", help="as a table")
    parser.add_argument("--traceback", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    contracts = all_contracts()
    text = markdown_table(contracts) if options.markdown else plain_list(contracts)
    print(text, end="")
