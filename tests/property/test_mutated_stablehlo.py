"""Texts of StableHLO with random changes are converted, or refused in one line."""

import os
import random
import re

import pytest
from support import paths
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.passes.infra.error_lines import UserError, error_line
from xdsl_tvm.runtime.load import load_module

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))

FOLDER = paths.ROOT / "tests" / "unit" / "passes" / "stablehlo" / "programs"
FILECHECKS = [
    paths.FILECHECK / "passes" / "stablehlo" / "to-relax.mlir",
    paths.FILECHECK / "dialects" / "stablehlo" / "operations.mlir",
]
_WORD = re.compile(r"[%@#!]?[\w.$]+|\s+|.", re.DOTALL)
_NUMBERS = ("0", "1", "-1", "2", "3", "7", "64", "99999999999", "4611686018427387904")
_TYPES = ("f32", "f16", "bf16", "f64", "i1", "i8", "i32", "i64", "ui8", "ui32", "index")


def _texts() -> dict[str, str]:
    texts = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.mlir"))}
    for path in FILECHECKS:
        lines = [x for x in path.read_text().splitlines() if not x.startswith("//")]
        texts[path.stem] = "\n".join(lines)
    return texts


TEXTS = _texts()
NAMES = sorted(set(re.findall(r"(?:stableh|ch)lo\.\w+", "".join(TEXTS.values()))))


def mutated(text: str, rng: random.Random) -> str:
    """The text with one to three changes of words."""
    words = _WORD.findall(text)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(words))
        word = words[place]
        kind = rng.randrange(6)
        if kind == 0:
            words[place] = ""
        elif kind == 1:
            words.insert(place, word)
        elif kind == 2:
            other = rng.randrange(len(words))
            words[place], words[other] = words[other], word
        else:
            words[place : place + 40] = _replaced(words[place : place + 40], kind, rng)
    return "".join(words)


def _replaced(words: list[str], kind: int, rng: random.Random) -> list[str]:
    """The words, the first of a kind replaced by another of it."""
    for index, word in enumerate(words):
        if kind == 3 and re.fullmatch(r"-?\d+", word):
            return [*words[:index], rng.choice(_NUMBERS), *words[index + 1 :]]
        if kind == 4 and "lo." in word:
            return [*words[:index], rng.choice(NAMES), *words[index + 1 :]]
        if kind == 5 and (found := re.search(r"(\d*x)*(b?f|u?i)\d+$", word)):
            dims = "".join(re.findall(r"\d*x", found[0]))
            dims = rng.choice([dims, dims[2:], f"2x{dims}", "0x", "?x", "100000x"])
            return [*words[:index], dims + rng.choice(_TYPES), *words[index + 1 :]]
    return words


@pytest.mark.parametrize("name", TEXTS)
def test_a_changed_text_is_read_or_refused(name: str) -> None:
    converted = 0
    for seed in range(FIRST, FIRST + COUNT):
        text = mutated(TEXTS[name], random.Random(f"{name} {seed}"))
        try:
            load_module(text)
        except (DiagnosticException, UserError) as error:
            line = error_line(error)
            assert "internal error" not in line, f"{name}, seed {seed}: {line}"
        else:
            converted += 1
    # No function of the file of all operations has a result that is converted.
    assert COUNT < 50 or name == "operations" or 0 < converted < COUNT
