"""The contract that every pass states in its docstring, read and written as pages.

A contract is a class docstring of fixed fields in a fixed order, each starting a line
as `Field: text`, with continuation lines indented. `FIELDS` lists them.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.passes import ModulePass, PassOptionInfo, get_pass_option_infos

from xdsl_tvm.registry import all_passes, pass_modules

FIELDS = (
    "Summary",
    "TVM name",
    "Input form",
    "Output form",
    "Options",
    "Rewrites",
    "Leaves alone",
    "Errors",
    "Attributes",
    "Differs from TVM",
)
_FIELD = re.compile(rf"^({'|'.join(FIELDS)}):[ \t]*(.*)$", re.MULTILINE)


class ContractError(ValueError):
    """A pass whose docstring is no contract; the message names class and field."""


@dataclass(frozen=True)
class Contract:
    """What one pass promises, and how it is called."""

    name: str
    class_name: str
    module: str
    options: tuple[PassOptionInfo, ...]
    fields: dict[str, str]

    @property
    def summary(self) -> str:
        return " ".join(self.fields["Summary"].split())

    @property
    def tvm_name(self) -> str:
        return " ".join(self.fields["TVM name"].split())


def parse_contract(text: str, owner: str) -> dict[str, str]:
    """The fields of a contract docstring; `owner` names its class in errors.

    Raises ContractError if a field is missing, empty, repeated or out of order.
    """
    text = inspect.cleandoc(text)
    matches = list(_FIELD.finditer(text))
    found = tuple(match[1] for match in matches)
    if found != FIELDS or matches[0].start() != 0:
        missing = [name for name in FIELDS if name not in found]
        what = f"lacks {', '.join(missing)}" if missing else "has fields out of order"
        raise ContractError(f"{owner}: the contract docstring {what}")
    ends = [match.start() for match in matches[1:]] + [len(text)]
    fields: dict[str, str] = {}
    for match, end in zip(matches, ends, strict=True):
        rest = inspect.cleandoc("\n" + text[match.end() : end])
        fields[match[1]] = f"{match[2]}\n{rest}".strip("\n")
        if not fields[match[1]].strip():
            raise ContractError(f"{owner}: the field '{match[1]}' is empty")
    return fields


def contract_of(name: str) -> Contract:
    """The contract of the pass called `name`.

    Raises ContractError if its docstring is none, KeyError for an unknown name.
    """
    module = pass_modules()[name]
    kind: type[ModulePass] = all_passes()[name]()
    owner = f"{module}.{kind.__name__}"
    # Not inspect.getdoc, which would take the base class's docstring for a missing one.
    fields = parse_contract(kind.__dict__.get("__doc__") or "", owner)
    # What a constructor accepts only from Python is kept in a field that it does not set.
    given = {
        field.name.replace("_", "-") for field in dataclasses.fields(kind) if field.init
    }
    options = tuple(
        option
        for option in get_pass_option_infos(kind)
        if option.name.replace("_", "-") in given
    )
    return Contract(name, kind.__name__, module, options, fields)


def all_contracts() -> list[Contract]:
    """The contracts of all passes of the package, by name."""
    return [contract_of(name) for name in pass_modules()]


def names_by_tvm_name() -> dict[str, str]:
    """TVM's name of a pass, such as `tir.Simplify`, -> our name of it."""
    found: dict[str, str] = {}
    for contract in all_contracts():
        for tvm_name in re.findall(r"\b(?:tir|relax)\.\w+", contract.tvm_name):
            found.setdefault(tvm_name, contract.name)
    return found


def is_documented_by_tvm(contract: Contract) -> bool:
    """Whether the pass is a transform of TVM's documentation, not one of ours."""
    return not contract.tvm_name.startswith("none")


def option_text(option: PassOptionInfo) -> str:
    """An option as `name: type = default`."""
    # Types are strings where the module postpones its annotations.
    kind = option.expected_type.strip("'")
    if option.default_value is None:
        return f"{option.name}: {kind}"
    return f"{option.name}: {kind} = {option.default_value}"


def plain_list(contracts: Iterable[Contract]) -> str:
    """The passes for a terminal: name, TVM's name, summary, options."""
    lines: list[str] = []
    for contract in contracts:
        lines.append(f"{contract.name}  [TVM: {contract.tvm_name}]")
        lines.append(f"    {contract.summary}")
        lines += [f"    option {option_text(option)}" for option in contract.options]
    return "".join(f"{line}\n" for line in lines)


def markdown_table(contracts: Iterable[Contract], pages: str | None = None) -> str:
    """The passes as a Markdown table.

    `pages` is the path of the folder of pass pages, to link every name to its page.
    """
    lines = ["| Pass | TVM name | Options | Summary |", "|---|---|---|---|"]
    for contract in contracts:
        name = f"`{contract.name}`"
        if pages is not None:
            name = f"[{name}]({pages}/{contract.name}.md)"
        options = "<br>".join(f"`{option_text(one)}`" for one in contract.options)
        cells = (name, contract.tvm_name, options, contract.summary)
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    return "".join(f"{line}\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(contract: Contract) -> str:
    """The Markdown page of one pass."""
    lines = [f"# {contract.name}", "", contract.summary, ""]
    class_path = f"{contract.module}.{contract.class_name}"
    lines += [f"- Python: `{class_path}`", f"- TVM name: {contract.tvm_name}"]
    lines += [f"- Option: `{option_text(option)}`" for option in contract.options]
    for field in FIELDS[2:]:
        text = contract.fields[field]
        body = ["```text", text, "```"] if field == "Rewrites" else [text]
        lines += ["", f"## {field}", "", *body]
    return "\n".join(lines) + "\n"
