"""Links and citations lead somewhere, and the README stays short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.paths import ROOT

PAGES = sorted(
    path
    for path in (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / "benchmarks").rglob("*.md"),
    )
    if path.parent.name != "spec" or path.name == "README.md"
)
FOLDERS = (
    "analysis",
    "benchmarks",
    "dialects",
    "frontend",
    "interpreters",
    "lowering",
    "namespaces",
    "passes",
    "relax",
    "runtime",
    "src",
    "targets",
    "tests",
    "tools",
    "tvmscript",
)
LINK = re.compile(r"\[[^\]\[]*\]\(([^)\s]+)\)")
SECTION = r"§(?P<section>[A-Z]?\.?[\d.a-z]*\d|[A-Z])"
CITATION = re.compile(r"docs/spec/(?P<file>[\w-]+\.md)")


@cache
def _anchors(path: Path) -> frozenset[str]:
    """The anchors of a page's headings, by the rule of Markdown viewers."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-"))
    return frozenset(found)


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path):
    for target in LINK.findall(_without_code(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in _anchors(path), target


@cache
def _sections(file: str) -> frozenset[str]:
    """The numbers of the sections of a page of the specification."""
    text = (ROOT / "docs" / "spec" / file).read_text()
    heads = re.findall(r"^#+ §?([A-Z]?\.?\d[\w.]*|[A-Z]\.)", text, re.MULTILINE)
    return frozenset(head.rstrip(".") for head in heads)


def _sources() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "corpus" not in path.parent.name and not path.is_symlink():
                yield path


def _cited(text: str) -> Iterator[tuple[str, str]]:
    """File and section of each citation; the sections of one file follow each other."""
    file, end = "", 0
    for found in re.finditer(rf"{CITATION.pattern}|{SECTION}", text):
        if found["file"] is not None:
            file, end = found["file"], found.end()
            continue
        between = text[end : found.start()]
        assert file, f"no file before {found.group()}"
        assert len(between) < 80, f"no file close before {found.group()}"
        end = found.end()
        yield file, found["section"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_citations_lead_to_sections(folder: str):
    for path in _sources():
        if path.relative_to(ROOT).parts[0] != folder:
            continue
        text = path.read_text()
        for found in CITATION.finditer(text):
            name = found["file"]
            assert (ROOT / "docs" / "spec" / name).exists(), f"{path}: {name}"
        if path == Path(__file__):
            continue
        for file, section in _cited(text):
            assert section in _sections(file), f"{path}: {file} §{section}"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 200
