"""What this package adds to the start of every xDSL tool.

Each measurement is a fresh interpreter; the least of several runs is taken, and ratios
are against xDSL's own universe in the same run.
"""

from __future__ import annotations

import subprocess
import sys

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


def main() -> None:
    best = dict.fromkeys(STATEMENTS, float("inf"))
    for _ in range(RUNS):
        for name, statement in STATEMENTS.items():
            best[name] = min(best[name], seconds(statement))
    base = best["xdsl.universe"]
    for name, time in best.items():
        print(f"{name:28}{1e3 * time:8.1f} ms{time / base:8.2f} x")


if __name__ == "__main__":
    main()
