"""Modules saved as files whose first line runs them again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer


def write_reproducer(
    path: Path,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    message: str,
    options: str = "",
) -> None:
    """Writes `module` under a RUN line that applies `passes` to it, and `message`.

    `options` are further options of `xdsl-tvm opt`.
    """
    pipeline = shlex.quote(",".join(str(one.spec()) for one in passes))
    command = f"xdsl-tvm opt %s -p {pipeline} {options}".rstrip()
    with path.open("w") as stream:
        stream.write(f"// RUN: {command}\n")
        stream.writelines(f"// {line}\n" for line in message.splitlines())
        Printer(stream=stream).print_op(module)
        stream.write("\n")
