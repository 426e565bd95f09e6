"""Prints up to N evenly spaced FileCheck tests: the ones that CI also runs with lit."""

import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "filecheck"


def sample(count: int) -> list[Path]:
    files = sorted(f for f in FOLDER.rglob("*.mlir") if "Inputs" not in f.parts)
    step = max(1, -(-len(files) // count))
    return files[::step]


if __name__ == "__main__":
    for path in sample(int(sys.argv[1])):
        print(path)
