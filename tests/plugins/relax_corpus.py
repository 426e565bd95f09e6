"""The programs of tests/tvmscript/relax_corpus."""

from __future__ import annotations

from pathlib import Path

from script_corpus import scripts_of

FILES = sorted((Path(__file__).parents[1] / "tvmscript" / "relax_corpus").glob("*.py"))
PROGRAMS = {script.id: script for file in FILES for script in scripts_of(file)}
"""The programs by id."""
