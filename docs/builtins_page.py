"""The page `tir-builtins.md`, from the table of builtins."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from markdown_parts import table, title

from xdsl_tvm.dialects import tir

_HEAD = """\
# TIR builtins

Written by `make docs` from the table in `dialects/tir/builtins_table.py`, which also
drives the verifier, the effects and the result types of `tir.call`. In Python:

- `tir.INTRINSICS["exp"]`, or `tir.builtin("call_packed")` for names of TVMScript too;
- `tir.infer_result_type("exp", [f32])`, and `tir.CallOp.of("exp", [x])`, which uses it;
- `call.arg("scope")` and `call.args_of("args")` for operands by name;
- `tir.builtin_name(op_or_value)`, whatever op stands for the builtin.

A builtin is called as `tir.call "exp"(%x) : (f32) -> f32`, or by the op that its row
names. A name that is not listed here is taken to read and write memory, with any
operands.

- **Operands** that are `=x` have the type of the operand `x`; `?` marks those that may be
  left out, with what they then are, and `...` any number of operands. A handle may be a
  typed pointer, and is no string.
- **Result**: *given* where the call says it. A call that is made for its effect may go
  without the result.
- **Effect**: TVM's kind; where TVM registers another one, it is in parentheses.
  `side_effect` (`analysis/tir/side_effect.py`) counts the kinds after `update` as it.
- **Vec**: a call may be widened, and then works lane by lane.
- **TVMScript**: the functions of `T.`, and where the dtype is in their operands
  if it does. Without a function, `T.call_intrin("dtype", "tir.name", ...)` calls it.

`abs`, `isinf`, `isfinite`, `max_value`, `min_value` and `infinity` are functions of
TVMScript that make other expressions; `call_intrin` and `call_kernel` are ways to write
calls. A call of a function of the module is a `tir.call_func`.
"""
_EFFECTS = {
    tir.CallEffect.EXPR_ANNOTATION: "hint",
    tir.CallEffect.PURE: "pure",
    tir.CallEffect.READ_STATE: "read",
    tir.CallEffect.UPDATE_STATE: "update",
    tir.CallEffect.SPECIAL_CALL_ARG: "operand of calls",
    tir.CallEffect.EMBED_INFO: "information",
    tir.CallEffect.CONTROL_JUMP: "jump",
}
_COLUMNS = "Builtin", "Operands", "Result", "Effect", "Vec", "TVMScript", "Notes"


def builtins_page() -> str:
    """The text of the page."""
    parts = [_HEAD]
    rows = tir.INTRINSICS.values()
    for section, group in groupby(rows, key=lambda row: row.section):
        parts += [title(section), _rows(group)]
    parts += [title("Fields of structures"), _fields()]
    return "".join(parts)


def _rows(rows: Iterable[tir.Intrinsic]) -> str:
    return table(
        _COLUMNS,
        [
            (
                f"`{row.name}`",
                ", ".join(map(_operand, row.operands)) or "none",
                _result(row.result),
                _effect(row),
                "yes" if row.vectorizable else "",
                _script(row),
                _notes(row),
            )
            for row in rows
        ],
    )


def _operand(operand: tir.Operand) -> str:
    if operand.choices:
        kind = " or ".join(f"`{choice}`" for choice in operand.choices)
    else:
        kind = f"`={operand.like}`" if operand.like else _KINDS[operand.kind]
    text = f"`{operand.name}` {kind}"
    if operand.is_variadic:
        return f"{text} ..."
    if operand.is_optional:
        text += "?" if operand.default is None else f"? {operand.default}"
    return text


_KINDS = {
    "any": "any",
    "number": "number",
    "int": "integer",
    "index": "scalar integer",
    "int32": "int32",
    "int8x4": "int8x4 or uint8x4",
    "float": "float",
    "bool": "scalar bool",
    "bools": "bool",
    "vector": "vector",
    "handle": "handle",
    "pointer": "pointer",
    "nullable": "handle or 0",
    "resource": "handle, string or 0",
    "string": "string",
    "const": "constant integer",
    "name": "string or constant",
    "field": "constant field",
}


def _result(result: tir.Result) -> str:
    match result.rule:
        case tir.ResultRule.SAME:
            return f"`={result.operands[0]}`"
        case tir.ResultRule.EXPLICIT if result.dtype is not None:
            return f"given, or {tir.dtype_name(result.dtype)}"
        case _:
            return result.description


def _effect(row: tir.Intrinsic) -> str:
    text = _EFFECTS[row.effect]
    return text if row.tvm_effect is None else f"{text} ({_EFFECTS[row.tvm_effect]})"


def _script(row: tir.Intrinsic) -> str:
    text = ", ".join(f"`{name}`" for name in row.script_names)
    if row.dtype_place is tir.DtypePlace.NOWHERE:
        return text
    return f"{text}, dtype {row.dtype_place.value}".removeprefix(", ")


def _notes(row: tir.Intrinsic) -> str:
    parts = [row.note]
    if row.op is not None:
        parts.insert(0, f"The op `{row.op}`.")
    if row.c_symbol is not None:
        parts.append(f"The C function `{row.c_symbol}`.")
    if row.lowered_by:
        parts.append(f"Consumed by {row.lowered_by}.")
    return " ".join(part for part in parts if part)


def _fields() -> str:
    note = "`tir.StructField` names those of `tvm_struct_get` and `tvm_struct_set`.\n\n"
    rows = [(str(int(field)), field.name) for field in tir.StructField]
    return note + table(("Number", "Field"), rows)
