"""`python -m tests.property.fuzz_simplify --n 100000`: see `simplify_fuzz`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1]))
    runpy.run_module("support.simplify_fuzz", run_name="__main__")
