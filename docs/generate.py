"""Writes what the documentation says about passes and dialects from the code.

    python docs/generate.py            # rewrite the files that changed
    python docs/generate.py --check    # name the files that would, and exit with 1

Generated are one page a pass in `docs/passes/`, with the program `docs/examples/PASS.py`
where there is one, the index of them, `docs/tir.md`, `docs/relax.md`,
`docs/relax-transforms.md`, `docs/tir-builtins.md`, `docs/tir-attributes.md`,
`docs/pipelines.md`, `docs/configuration.md` and `docs/tvm-words.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from attributes_page import attributes_page
from builtins_page import builtins_page
from configuration_page import configuration_page
from pipelines_page import pipelines_page
from relax_page import relax_page
from relax_transforms_page import relax_transforms_page
from tir_page import tir_page
from tvm_words_page import tvm_words_page

from xdsl_tvm.passes.infra.contract import Contract, all_contracts, markdown_table, page

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "passes"
EXAMPLES = ROOT / "docs" / "examples"
BUILTINS = ROOT / "docs" / "tir-builtins.md"
ATTRIBUTES = ROOT / "docs" / "tir-attributes.md"
PIPELINES = ROOT / "docs" / "pipelines.md"
CONFIGURATION = ROOT / "docs" / "configuration.md"
TIR = ROOT / "docs" / "tir.md"
RELAX = ROOT / "docs" / "relax.md"
TVM_WORDS = ROOT / "docs" / "tvm-words.md"
RELAX_TRANSFORMS = ROOT / "docs" / "relax-transforms.md"
SECTIONS = {
    "TIR": "passes.tir",
    "Relax": "passes.relax",
    "StableHLO": "passes.stablehlo",
    "Lowering TIR to memref, scf, arith, vector and gpu": "lowering.tir",
    "Lowering Relax to memref, scf and arith": "lowering.relax",
    "Lowering to the llvm dialect": "lowering.to_llvm",
    "Printing an analysis, for tests": "passes.testing",
}
"""Titles of the index of passes, and the modules of the passes below them."""


def filecheck_path(contract: Contract) -> Path:
    """Where the FileCheck test of a pass is, relative to the repository."""
    folders = contract.module.split(".")[1:-1]
    name = contract.module.split(".")[-1].replace("_", "-")
    return Path("tests", "filecheck", *folders, f"{name}.mlir")


def _tests(contract: Contract) -> str:
    """The FileCheck tests of a pass for its page."""
    path = filecheck_path(contract)
    links = [
        f"[{one.name}](../../{one})"
        for one in (path, path.with_name(f"{path.stem}-invalid.mlir"))
        if (ROOT / one).exists()
    ]
    return f"\n## Tests\n\n{', '.join(links)}\n"


def _example(contract: Contract) -> str:
    """The example program of a pass for its page, where there is one."""
    path = EXAMPLES / f"{contract.name}.py"
    if not path.exists():
        return ""
    return f"\n## Example\n\n```python\n{path.read_text()}```\n"


def _passes_page(contracts: list[Contract]) -> str:
    """The index of the passes, by where their files are."""
    parts = [
        "# Passes",
        "",
        "Each name links to the contract of the pass and its tests. `xdsl-tvm passes` "
        "prints the same.",
        "",
    ]
    left = list(contracts)
    for title, prefix in SECTIONS.items():
        chosen = [one for one in left if one.module.startswith(f"xdsl_tvm.{prefix}.")]
        left = [one for one in left if one not in chosen]
        parts += [f"## {title}", "", markdown_table(chosen, pages="."), ""]
    if left:
        raise SystemExit(f"error: no section of docs/passes/README.md has {left[0].name}")
    return "\n".join(parts).rstrip() + "\n"


def generated_files() -> dict[Path, str]:
    """Path -> text of every generated file."""
    contracts = all_contracts()
    files = {
        PAGES / f"{one.name}.md": page(one) + _tests(one) + _example(one)
        for one in contracts
    }
    files[BUILTINS] = builtins_page()
    files[ATTRIBUTES] = attributes_page()
    files[PIPELINES] = pipelines_page()
    files[CONFIGURATION] = configuration_page()
    files[TIR] = tir_page()
    files[RELAX] = relax_page()
    files[TVM_WORDS] = tvm_words_page()
    files[RELAX_TRANSFORMS] = relax_transforms_page()
    files[PAGES / "README.md"] = _passes_page(contracts)
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
