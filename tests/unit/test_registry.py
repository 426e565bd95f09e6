"""Every pass agrees with its file, its tests and its page, and states a contract."""

import re

import pytest
from support import paths

from xdsl_tvm import registry
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.contract import (
    FIELDS,
    ContractError,
    contract_of,
    is_documented_by_tvm,
    parse_contract,
)

ROOT = paths.ROOT
PASSES = registry.pass_modules()


def test_every_pass_file_is_a_pass():
    """No file of a pass folder is left out of the registry."""
    files = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for folders in registry.PASS_FAMILIES
        for path in ROOT.joinpath(*folders).glob("[a-z]*.py")
    }
    modules = {
        module.removeprefix("xdsl_tvm.").replace(".", "/") for module in PASSES.values()
    }
    assert files == modules
    assert len(PASSES) == len(modules)


def test_folders_of_passes_are_known_to_the_registry():
    """A new family folder must not hold passes that nobody can name."""
    known = {module.rpartition(".")[0] for module in PASSES.values()}
    for root in ("passes", "lowering"):
        for path in (ROOT / root).rglob("*.py"):
            if path.parent.name == "infra":
                continue  # bases of passes, and passes made of Python callables
            text = path.read_text()
            if re.search(
                r"^    name = \"(tir|relax|tvm|stablehlo)-[a-z-]+\"", text, re.MULTILINE
            ):
                folder = path.parent.relative_to(ROOT).as_posix().replace("/", ".")
                assert f"xdsl_tvm.{folder}" in known, path


@pytest.mark.parametrize("name", PASSES)
def test_names_agree(name: str):
    """File, pass, class, FileCheck tests and page, each derived from the file."""
    module = PASSES[name]
    _, *folders, file = module.split(".")
    family = registry.PASS_FAMILIES[tuple(folders)]
    assert name == f"{family}-{file.replace('_', '-')}"
    kind = registry.all_passes()[name]()
    assert issubclass(kind, CompilerPass)
    prefix = "test" if folders[1] == "testing" else ""
    assert kind.__name__.lower() == prefix + file.replace("_", "")
    contract = contract_of(name)
    if is_documented_by_tvm(contract):
        assert contract.tvm_name.split()[0] == f"{family}.{kind.__name__}"
    tests = paths.FILECHECK.joinpath(*folders)
    stem = file.replace("_", "-")
    assert (tests / f"{stem}.mlir").exists()
    if contract.fields["Errors"].split()[0].rstrip(";.,") != "none":
        assert (tests / f"{stem}-invalid.mlir").exists()
    assert (ROOT / "docs" / "passes" / f"{name}.md").exists()


@pytest.mark.parametrize("name", PASSES)
def test_contract_is_complete(name: str):
    contract = contract_of(name)
    assert contract.summary.endswith(".")
    assert contract.summary[0].isupper()
    written = contract.fields["Options"]
    if not contract.options:
        assert written.split()[0].rstrip(";.,") == "none"
    for option in contract.options:
        assert f"`{option.name}`" in written


CONTRACT = "\n".join(f"{field}: about\n    {field}" for field in FIELDS)


def test_parse_contract():
    fields = parse_contract(CONTRACT, "Some")
    assert tuple(fields) == FIELDS
    assert fields["Errors"] == "about\nErrors"


def test_rewrites_keep_their_indentation():
    text = CONTRACT.replace(
        "    Rewrites\n", "\n        a {\n          b\n        }\n      after\n"
    )
    rewrites = parse_contract(text, "Some")["Rewrites"]
    assert "  a {\n    b\n  }\nafter" in rewrites


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lacks Summary, TVM name"),
        (CONTRACT.replace("Errors: about\n    Errors\n", ""), "lacks Errors"),
        (CONTRACT.replace("Errors: about\n    Errors", "Errors:"), "'Errors' is empty"),
        ("Errors: twice\n" + CONTRACT, "out of order"),
        ("Prose first.\n" + CONTRACT, "out of order"),
    ],
)
def test_parse_contract_refuses(text: str, message: str):
    with pytest.raises(ContractError, match=message):
        parse_contract(text, "Some")
