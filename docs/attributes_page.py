"""The page `tir-attributes.md`, from the tables of keys, annotations and targets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from markdown_parts import table, title

from xdsl_tvm.dialects.tir import annotations as tables
from xdsl_tvm.dialects.tir.annotations import Annotation
from xdsl_tvm.dialects.tir.attr_keys import ATTR_KEYS, REPLACED_KEYS
from xdsl_tvm.dialects.tir.storage_scope import (
    AXES,
    KNOWN_SCOPES,
    RANK_NAMES,
    StorageScope,
)
from xdsl_tvm.dialects.tir.target_kinds import (
    KINDS,
    Option,
    TargetKind,
)
from xdsl_tvm.dialects.tir.target_tags import TAGS

_HEAD = """\
# TIR attributes, scopes and targets

Written by `make docs` from the tables that also drive the verifiers. Keys that are not
listed here are kept as they are, whatever their value.

In Python, `annotation_attr([1, "x"])` is the attribute of a value as TVM boxes it, and
`annotation_value(attribute)` the way back.
"""
_ANNOTATIONS = (
    ("Annotations of loops and thread launches", tables.FOR_ANNOTATIONS),
    ("Annotations of blocks", tables.BLOCK_ANNOTATIONS),
    ("Annotations of memory", tables.ALLOCATE_ANNOTATIONS),
    ("Annotations of realized buffers", tables.REALIZE_ANNOTATIONS),
    ("Attributes of functions", tables.FUNCTION_ATTRIBUTES),
    ("Attributes of modules", tables.MODULE_ATTRIBUTES),
)


def attributes_page() -> str:
    """The text of the page."""
    parts = [_HEAD]
    for name, rows in _ANNOTATIONS:
        parts += [title(name), _annotations(rows.values())]
    parts += [title("Keys of tir.attr"), _attr_keys()]
    parts += [title("Keys that are written otherwise"), _replaced_keys()]
    parts += [title("Storage scopes"), _scopes()]
    parts += [title("Thread axes"), _axes()]
    parts += [title("Targets"), _TARGETS, _kinds()]
    parts += [title("Target tags"), _tags()]
    return "".join(parts)


_TARGETS = """\
A target is an attribute, as `#tir.target<"cuda", arch = "sm_80">`, perhaps with a `host`
that is one, too. `Target.parse` also reads TVM's command lines, JSON and dictionaries.
Every kind has `device`, `from_device`, `libs`, `model` and `target_device_type` besides
what is listed; what is after an attribute is its default. Nothing is detected on the
machine available.

"""


def _annotations(rows: Iterable[Annotation]) -> str:
    return table(
        ("Key", "Value", "Meaning", "Goes by it"),
        [(f"`{r.key}`", r.value.words, r.meaning, r.consumer) for r in rows],
    )


def _attr_keys() -> str:
    return table(
        ("Key", "Node", "Value", "Meaning", "Made by", "Goes by it"),
        [
            (f"`{r.key}`", r.node.words, r.value.words, r.meaning, r.producer, r.consumer)
            for r in ATTR_KEYS.values()
        ],
    )


def _replaced_keys() -> str:
    return table(
        ("Key", "Meaning", "Written as"),
        [(f"`{r.key}`", r.meaning, r.instead) for r in REPLACED_KEYS.values()],
    )


def _scopes() -> str:
    scopes = {name: StorageScope.parse(name) for name in KNOWN_SCOPES}
    rows = [
        (f"`{name}`", str(scope.rank.value), "yes" if name in RANK_NAMES else "")
        for name, scope in scopes.items()
    ]
    note = "A scope is a rank, and perhaps a dot and a tag of one's own.\n\n"
    return note + table(("Scope", "Rank", "Is a rank"), rows) + _MEMORY


_MEMORY = """
The memory of a scope is described in the attribute `tir.memory_info` of a module, or
with `tir.register_memory_info(scope, tir.MemoryInfo(...))`; the module takes precedence.
LowerDeviceStorageAccessInfo and StorageRewrite read it. `head_address` is a number, or
the name of an external function, and is left out for memory that has no address:

```mlir
builtin.module attributes {tir.memory_info = {global.vtcm = {
    unit_bits = 8, max_num_bits = 33554432, max_simd_bits = 1024,
    head_address = "vtcm_base"}}} {
}
```
"""


def _axes() -> str:
    rows = [
        (f"`{axis.tag}`", axis.rank.name.lower(), "yes" if axis.is_virtual else "")
        for axis in AXES.values()
    ]
    return table(("Axis", "Counts", "Virtual"), rows)


def _kinds() -> str:
    rows = [
        (
            f"`{kind.name}`",
            kind.device_type.name,
            ", ".join(kind.default_keys),
            _options(kind),
        )
        for kind in KINDS.values()
    ]
    return table(("Kind", "Device", "Keys", "Attributes"), rows)


def _options(kind: TargetKind) -> str:
    common = KINDS["ext_dev"].options
    own = [(k, v) for k, v in sorted(kind.options.items()) if k not in common]
    return ", ".join(_option(name, option) for name, option in own)


def _option(name: str, option: Option) -> str:
    return f"`{name}`" if option.default is None else f"`{name}` {option.default}"


def _tags() -> str:
    rows = [(f"`{tag}`", f"`{_fields(TAGS[tag])}`") for tag in sorted(TAGS)]
    return table(("Tag", "Stands for"), rows)


def _fields(fields: dict[str, object]) -> str:
    rest = {key: value for key, value in fields.items() if key not in ("kind", "host")}
    words = [f"{key}={_value(value)}" for key, value in rest.items()]
    return " ".join([str(fields["kind"]), *(f"-{word}" for word in words)])


def _value(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, cast("list[object]", value)))
    return str(value)
