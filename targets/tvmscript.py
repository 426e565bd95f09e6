"""`-t tvmscript`: the script of a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from xdsl_tvm.tvmscript.printer import VERSIONS, print_script


@dataclass(frozen=True)
class TVMScriptTarget(Target):
    """TVMScript, which TVM and `xdsl_tvm.tvmscript.parse` read.

    The module holds functions of the `tir` dialect. `version` is the version of TVM that
    is to read the text. With `sugar=false` every node is written out.

    Raises DiagnosticException for what TVMScript cannot say, such as ops of other
    dialects, and for an unknown version.
    """

    name = "tvmscript"

    version: str = "0.20"
    sugar: bool = True

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        if self.version not in VERSIONS:
            raise DiagnosticException(
                f"tvmscript: there is no version '{self.version}'; use "
                f"{' or '.join(VERSIONS)}"
            )
        output.write(print_script(module, version=self.version, sugar=self.sugar))
