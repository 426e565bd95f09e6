"""The page `docs/relax-transforms.md`: TVM's passes over Relax, and ours."""

from __future__ import annotations

from markdown_parts import table, title

from xdsl_tvm.passes.infra.contract import Contract, all_contracts
from xdsl_tvm.relax import transform
from xdsl_tvm.tvm_words import refused, words

_HEAD = """# Passes over Relax in TVM

Written by `python docs/generate.py`.

The names of `tvm.relax.transform` in v0.20, each with our pass or with the reason why
there is none. All passes are found under their TVM names in `xdsl_tvm.relax.transform`:

<!-- checked -->
```python
from xdsl_tvm.relax import transform

print(transform.ToMixedPrecision(out_dtype="float16"))
```

What a pass does otherwise than TVM's is in its contract, under "Differs from TVM".
"""

NAMES = words("relax.transform")
"""What `tvm.relax.transform` has in v0.20."""
REASONS = refused("relax.transform")
"""Why a name has no pass, where it has none."""
_OTHERS = {
    "DataflowBlockPass": "a base class of passes in Python",
    "FunctionPass": "a base class of passes in Python",
    "FusionPattern": "a pattern for `relax-fuse-ops-by-pattern`",
    "PatternCheckContext": "what checks of such patterns get",
    "VMBuiltinLower": "a former name of "
    "[`relax-lower-runtime-builtin`](passes/relax-lower-runtime-builtin.md)",
    "dataflowblock_pass": "a decorator that makes a pass of a Python function",
    "function_pass": "a decorator that makes a pass of a Python function",
}
"""Names that are no passes of their own."""


def our_passes() -> dict[str, Contract]:
    """Our passes over Relax, by TVM's name."""
    found: dict[str, Contract] = {}
    for contract in all_contracts():
        name, _, _ = contract.tvm_name.partition(" ")
        if contract.module.startswith("xdsl_tvm.passes.relax.") and "." in name:
            found[name.partition(".")[2]] = contract
    return found


def _row(name: str, passes: dict[str, Contract]) -> tuple[str, str]:
    if (contract := passes.get(name)) is not None:
        link = f"[`{contract.name}`](passes/{contract.name}.md)"
        return f"`{name}`", f"{link}: {contract.summary}"
    if name in _OTHERS and getattr(transform, name, None) is not None:
        return f"`{name}`", _OTHERS[name]
    return f"`{name}`", f"none: {REASONS[name]}"


def relax_transforms_page() -> str:
    """The page. Raises KeyError for a name without a pass and without a reason."""
    passes = our_passes()
    rows = [_row(name, passes) for name in NAMES]
    own = [
        (f"[`{contract.name}`](passes/{contract.name}.md)", contract.summary)
        for contract in all_contracts()
        if contract.module.startswith("xdsl_tvm.passes.relax.")
        and contract not in [passes.get(name) for name in NAMES]
    ]
    return (
        _HEAD
        + title("TVM's names")
        + table(("Name", "Pass"), rows)
        + title("Further passes over Relax")
        + table(("Pass", "Summary"), own)
    )
