"""What this package adds to the start of every xDSL tool, and starts from the cache.

Each measurement is a fresh interpreter; the least of several runs is taken, and ratios
are against xDSL's own universe in the same run. The last row is all that a process does
to call the classifier of `examples/models/digits_cnn.py`, whose text was compiled before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from models import MODELS

from xdsl_tvm.passes.relax.bind_params import BindParams, Key
from xdsl_tvm.registry import new_context

RUNS = 7
STATEMENTS = {
    "xdsl.universe": "import xdsl.universe",
    "+ this package's universe": "import xdsl.universe, xdsl_tvm.universe",
    "+ its dialects": (
        "import xdsl.universe, xdsl_tvm.universe as u\n"
        "for load in u.XDSL_TVM_UNIVERSE.all_dialects.values(): load()"
    ),
    "+ its passes": (
        "import xdsl.universe, xdsl_tvm.universe as u\n"
        "for load in u.XDSL_TVM_UNIVERSE.all_passes.values(): load()"
    ),
}
CACHED = "a start from the cache"
_START = """
from pathlib import Path
import numpy, xdsl_tvm
main = xdsl_tvm.compile(Path({path!r}))["main"]
main(numpy.zeros((1, 1, 8, 8), numpy.float32))
"""
_TIMED = """
import time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""


def seconds(statement: str) -> float:
    """The wall time of `statement` in a fresh interpreter, without its start."""
    program = _TIMED.format(statement=statement)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def write_classifier(path: Path) -> None:
    """Write the text of the classifier, with its weights."""
    model = MODELS["digits_cnn"]()
    module = model.build()
    params: dict[Key, Any] = {}
    params.update(enumerate(model.parameters().values(), len(model.inputs())))
    BindParams("main", params).apply(new_context(), module)
    path.write_text(str(module))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDSL_TVM_CACHE"] = f"{folder}/cache"
        path = Path(folder, "digits.mlir")
        write_classifier(path)
        start = _START.format(path=str(path))
        seconds(start)
        measure({**STATEMENTS, CACHED: start})


def measure(statements: dict[str, str]) -> None:
    """Print the times of statements."""
    best = dict.fromkeys(statements, float("inf"))
    for _ in range(RUNS):
        for name, statement in statements.items():
            best[name] = min(best[name], seconds(statement))
    base = best["xdsl.universe"]
    for name, time in best.items():
        print(f"{name:28}{1e3 * time:8.1f} ms{time / base:8.2f} x")


if __name__ == "__main__":
    main()
