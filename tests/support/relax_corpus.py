"""The programs of tests/tvmscript/relax_corpus."""

from __future__ import annotations

from support import paths
from support.script_corpus import scripts_of

FILES = sorted((paths.TESTS / "tvmscript" / "relax_corpus").glob("*.py"))
PROGRAMS = {script.id: script for file in FILES for script in scripts_of(file)}
"""The programs by id."""
