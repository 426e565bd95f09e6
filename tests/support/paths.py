"""Folders of the repository, for tests wherever they are."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
EXAMPLES = ROOT / "examples"
FILECHECK = TESTS / "filecheck"
