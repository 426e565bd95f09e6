"""Writes what the documentation says about passes and dialects from the code.

    python docs/generate.py            # rewrite the files that changed
    python docs/generate.py --check    # name the files that would, and exit with 1

Generated are one page a pass in `docs/passes/`, with the program `docs/examples/PASS.py`
where there is one, the tables between the two markers in the README and in
`docs/status.md`, `docs/tir.md`, `docs/relax.md`, `docs/tir-builtins.md`,
`docs/tir-attributes.md` and `docs/pipelines.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from attributes_page import attributes_page
from builtins_page import builtins_page
from pipelines_page import pipelines_page
from relax_page import relax_page
from tir_page import tir_page

from xdsl_tvm.passes.infra.contract import Contract, all_contracts, markdown_table, page

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "passes"
EXAMPLES = ROOT / "docs" / "examples"
STATUS = ROOT / "docs" / "status.md"
BUILTINS = ROOT / "docs" / "tir-builtins.md"
ATTRIBUTES = ROOT / "docs" / "tir-attributes.md"
PIPELINES = ROOT / "docs" / "pipelines.md"
TIR = ROOT / "docs" / "tir.md"
RELAX = ROOT / "docs" / "relax.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- passes: begin -->\n", "<!-- passes: end -->\n"


def filecheck_path(contract: Contract) -> Path:
    """Where the FileCheck test of a pass lies, relative to the repository."""
    folders = contract.module.split(".")[1:-1]
    name = contract.module.split(".")[-1].replace("_", "-")
    return Path("tests", "filecheck", *folders, f"{name}.mlir")


def _status_table(contracts: list[Contract]) -> str:
    lines = [
        "| Pass | TVM name | FileCheck | Errors |",
        "|---|---|---|---|",
    ]
    for contract in contracts:
        path = filecheck_path(contract)
        invalid = path.with_name(f"{path.stem}-invalid.mlir")
        link = f"[`{contract.name}`](passes/{contract.name}.md)"
        cells = [link, contract.tvm_name, _test_link(path), _test_link(invalid)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _example(contract: Contract) -> str:
    """The example program of a pass for its page, where there is one."""
    path = EXAMPLES / f"{contract.name}.py"
    if not path.exists():
        return ""
    return f"\n## Example\n\n```python\n{path.read_text()}```\n"


def _test_link(path: Path) -> str:
    return f"[{path.name}](../{path})" if (ROOT / path).exists() else "none"


def _with_table(path: Path, table: str) -> str:
    """The text of a file with its generated table replaced."""
    before, begin, rest = path.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"error: {path} lacks the markers of the table of passes")
    return f"{before}{begin}{table}{end}{after}"


def generated_files() -> dict[Path, str]:
    """Path -> text of every generated file."""
    contracts = all_contracts()
    files = {PAGES / f"{one.name}.md": page(one) + _example(one) for one in contracts}
    files[BUILTINS] = builtins_page()
    files[ATTRIBUTES] = attributes_page()
    files[PIPELINES] = pipelines_page()
    files[TIR] = tir_page()
    files[RELAX] = relax_page()
    files[STATUS] = _with_table(STATUS, _status_table(contracts))
    files[README] = _with_table(README, markdown_table(contracts, pages="docs/passes"))
    return files


def main(check: bool) -> int:
    files = generated_files()
    changed = [
        path
        for path, text in files.items()
        if not path.exists() or path.read_text() != text
    ]
    stale = sorted(set(PAGES.glob("*.md")) - files.keys())
    for path in changed + stale:
        print(path.relative_to(ROOT))
    if check:
        return int(bool(changed or stale))
    PAGES.mkdir(exist_ok=True)
    for path in changed:
        path.write_text(files[path])
    for path in stale:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
