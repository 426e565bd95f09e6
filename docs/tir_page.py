"""The page `tir.md`: the dialect, from the docstrings and definitions of its ops.

The examples on it are run by `tests/unit/dialects/tir/test_examples.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

from dialect_parts import (
    attribute_section,
    documentation,
    effects,
    links,
    parents,
    prose_and_example,
    values,
)
from markdown_parts import table, title
from xdsl.dialects import builtin
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, TypeAttribute, TypedAttribute
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OptionalDef,
    OptPropertyDef,
    ParamAttrConstraint,
    RangeLengthConstraint,
    RangeOf,
    RegionDef,
    VarConstraint,
    VariadicDef,
)
from xdsl.traits import (
    CallableOpInterface,
    Commutative,
    ConstantLike,
    HasCanonicalizationPatternsTrait,
    HasFolder,
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoMemoryEffect,
    NoTerminator,
    OpTrait,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
    SymbolUserOpInterface,
)

from xdsl_tvm.analysis.tir.forms import FORMS, Form
from xdsl_tvm.analysis.tir.well_formed import RULES
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.effects import MarkerEffect, UpdateEffect
from xdsl_tvm.dialects.tir.intrinsics import IntrinsicEffect

_HEAD = """\
# The TIR dialect

Written by `make docs` from the docstrings and definitions in `dialects/tir/`; the
examples are run by the tests. Elsewhere:

- [tir-builtins.md](tir-builtins.md): what `tir.call` can call;
- [tir-attributes.md](tir-attributes.md): annotations, keys of `tir.attr`, storage scopes,
  thread axes, targets;
- [passes](passes): the passes, a page each.

## A program

A function accepts scalars, pointers and handles. It matches the handles to buffers, runs
loops over ranges, and in them blocks, which compute an element each:

```mlir
// @dot([1, 2, 3], [4, 5, 6], [0]) -> _, _, [32]
tir.func @dot(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xi32>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xi32>
  %C = tir.match_buffer "C" %c : !tir.buffer<1xi32>
  %c0 = tir.const 0 : i32
  tir.for %k = %c0 to %n {
    tir.block "C" (%vk : R in [%c0 to %n] = %k) {
      tir.reads %A[%vk], %B[%vk]
      tir.writes %C[%c0]
      tir.init {
        tir.store %c0, %C[%c0] : i32
      }
      %x = tir.load %A[%vk] : i32
      %y = tir.load %B[%vk] : i32
      %xy = tir.mul %x, %y : i32
      %z = tir.load %C[%c0] : i32
      %sum = tir.add %z, %xy : i32
      tir.store %sum, %C[%c0] : i32
    }
  }
}
```

- **Module and functions.** Functions are in a `builtin.module`, with functions of other
  dialects if need be.
- **Buffers** are values. Rank, static extents, element type and scope are in the type;
  extents written `?`, strides and offset are operands of the op that defines the buffer,
  counted in elements. A buffer is never an argument of a region.
- **Expressions** are ops, one for each node of TVM, that write no memory. They work on
  scalars and, lane by lane, on vectors; nothing is converted or broadcast by itself.
- **Loads** read memory where they stand: one that is before a store gives what was
  there before.
- **Bindings, allocations, declarations and assertions** are plain ops, in force for the
  rest of the region they are in. Loops, blocks, conditions, attributes and launches
  hold what they apply to in a region.
- **Ranges** are half-open and count up by one: `%lo to %lo + %extent`, and from the
  constant 0 `%c0 to %extent`. In the region of a buffer, `%i` is a range of one element.
- **Scopes** say where memory is: `global` unless the type names another one, such as
  `shared`, `warp` and `local`.

Values may be shared and constants hoisted: stock `cse`, `dce` and `canonicalize` may run
at any time. Ops that these must leave alone say so by their effects.

## Examples on this page

Each is a whole program. The comments on top of it are calls of its functions in the
interpreter, `xdsl_tvm.interpret(module)["f"](...)`:

- `// @f(2, 3) = 5`: it returns 5;
- `// @f([1, 2], 3) -> [3, 6]`: it leaves this in the arrays it is given, all of them in
  their order;
- `// @f(1, 0) fails: an integer is divided by zero`: the interpreter reports a fault of
  the program, in these words;
- `// @f(3) is not run: ...`: the interpreter refuses the program, in these words.

Arrays have the dtypes of the parameters, and `_` stands for any value.

## Types

Scalars and vectors are builtin types. `iN` is signed, `uiN` unsigned.

"""
_DTYPES = (
    *("bool", "int8", "int32", "int64", "uint8", "uint64"),
    *("float16", "float32", "float64", "bfloat16"),
    *("float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"),
    *("float32x4", "float32xvscalex4", "handle", "custom[posites2]16"),
)

Op: TypeAlias = type[IRDLOperation]
GROUPS: dict[str, tuple[Op, ...]] = {
    "Functions": (tir.FuncOp, tir.CallFuncOp, tir.RetOp),
    "Buffers": (
        tir.MatchBufferOp,
        tir.ShapeVarOp,
        tir.AllocBufferOp,
        tir.AllocateOp,
        tir.AllocateConstOp,
        tir.DeclBufferOp,
        tir.MatchRegionOp,
        tir.BufferRealizeOp,
        tir.LoadOp,
        tir.StoreOp,
        tir.DataOp,
        tir.AddressOfOp,
        tir.PrefetchOp,
    ),
    "Blocks": (tir.BlockOp, tir.ReadsOp, tir.WritesOp, tir.InitOp),
    "Statements": (
        tir.LetOp,
        tir.AttrOp,
        tir.AssertOp,
        tir.EvaluateOp,
        tir.IfOp,
        tir.ScopeOp,
    ),
    "Loops": (tir.ForOp, tir.WhileOp),
    "Threads": (tir.LaunchThreadOp, tir.ThreadAllreduceOp, tir.ReducerOp),
    "Expressions": (
        tir.ConstOp,
        tir.StringOp,
        tir.AddOp,
        tir.SubOp,
        tir.MulOp,
        tir.DivOp,
        tir.ModOp,
        tir.FloorDivOp,
        tir.FloorModOp,
        tir.MinOp,
        tir.MaxOp,
        tir.CmpOp,
        tir.AndOp,
        tir.OrOp,
        tir.NotOp,
        tir.CastOp,
        tir.SelectOp,
        tir.IfThenElseOp,
        tir.YieldOp,
        tir.BroadcastOp,
        tir.RampOp,
        tir.ShuffleOp,
    ),
    "Calls": (tir.CallOp, tir.AccessPtrOp),
}
"""All ops of the dialect, in the order of the page."""


_NOTES = {
    "Expressions": """\
Arithmetic takes integers, floats and custom dtypes, comparisons handles as well, and
logic `i1`; they take scalars, and vectors lane by lane. Their operands have one type.
""",
}
"""What is before a group."""


def tir_page() -> str:
    """The text of the page. Raises ValueError if an op is in no group, or in two."""
    grouped = [op for ops in GROUPS.values() for op in ops]
    if sorted(op.name for op in grouped) != sorted(op.name for op in tir.TIR.operations):
        raise ValueError("docs/tir_page.py: GROUPS must hold every op of tir once")
    parts = [_HEAD, _dtypes()]
    parts += [attribute_section(one) for one in _attributes(types=True)]
    parts += [title("Attributes")]
    parts += [attribute_section(one) for one in _attributes(types=False)]
    parts += [title("Operations"), _index()]
    for name, ops in GROUPS.items():
        parts += [title(name), _NOTES.get(name, ""), _shared(ops), *map(_op, ops)]
    parts += [title("Forms"), _FORMS, _forms(), title("Rules"), _RULES, _rules()]
    return re.sub("\n{3,}", "\n\n", "".join(parts))


# ---- types and attributes ----


def _dtypes() -> str:
    rows = [(f"`{name}`", f"`{tir.parse_dtype(name)}`") for name in _DTYPES]
    return table(("TVM", "Type"), rows)


def _attributes(types: bool) -> list[type[Attribute]]:
    return [one for one in tir.TIR.attributes if issubclass(one, TypeAttribute) is types]


# ---- ops ----


def _index() -> str:
    return table(("Group", "Operations"), [(k, links(v)) for k, v in GROUPS.items()])


def _op(op: Op) -> str:
    prose, example = prose_and_example(op)
    shared = _shared_parts()[0] if issubclass(op, tir.BufferDefinition) else ()
    own = [part for part in _parts(op) if part not in shared]
    lines = [f"\n### {op.name}\n\n{prose}TVM: {_tvm_name(op)}. {_effects(op)}\n\n"]
    if own:
        lines.append(f"{table(('Name', 'Is', 'Type'), own)}\n")
    return f"{''.join(lines)}{example}\n"


def _tvm_name(op: Op) -> str:
    """What the op stands for, as its summary says: the node, or the builtin called.

    Raises ValueError if its docstring neither names one nor says that there is none.
    """
    if op.name in tir.NAMED_OPS:
        return f"the builtin `{tir.NAMED_OPS[op.name]}`"
    summary, _, details = documentation(op).partition("\n\n")
    names = re.findall(r"`[A-Z]\w*(?:\.\w+)?`", summary)
    if not names and "has no node for it" not in details:
        raise ValueError(f"{op.name}: the first line must name the node of TVM")
    return ", ".join(names) or "no node"


def _shared(ops: Sequence[Op]) -> str:
    """What the ops of a group have in common."""
    if not any(issubclass(op, tir.BufferDefinition) for op in ops):
        return ""
    parts, definitions = _shared_parts()
    text = documentation(tir.BufferDefinition).partition("\n\n")[2]
    return (
        f"{links(definitions)} define buffers. {text}\n\n"
        f"{table(('Name', 'Is', 'Type'), parts)}"
    )


def _shared_parts() -> tuple[list[Part], Sequence[Op]]:
    """What all ops that define buffers are made of, and these ops."""
    definitions = [op for op in GROUPS["Buffers"] if issubclass(op, tir.BufferDefinition)]
    first, *others = map(_parts, definitions)
    return [part for part in first if all(part in other for other in others)], definitions


Part: TypeAlias = tuple[str, str, str]
"""Name, kind and type of an operand, a property, a region or a result."""
_SIZES = ("operandSegmentSizes", "resultSegmentSizes")


def _parts(op: Op) -> list[Part]:
    definition = op.get_irdl_definition()
    parts = [
        (name, f"operand{_count(one)}", _words(one.constr))
        for name, one in definition.operands
    ]
    parts += [
        (
            name,
            f"property{', optional' if isinstance(one, OptPropertyDef) else ''}",
            _words(one.constr),
        )
        for name, one in definition.properties.items()
        if name not in _SIZES
    ]
    parts += [
        (
            name,
            f"region{_count(one)}",
            "one block or none" if type(one) is RegionDef else "one block",
        )
        for name, one in definition.regions
    ]
    parts += [
        (name, f"result{_count(one)}", _words(one.constr))
        for name, one in definition.results
    ]
    return [(f"`{name}`", kind, words) for name, kind, words in parts]


def _count(part: object) -> str:
    if isinstance(part, OptionalDef):
        return ", optional"
    return ", any number" if isinstance(part, VariadicDef) else ""


_CLASSES: dict[type, str] = {
    builtin.ArrayAttr: "list",
    builtin.DictionaryAttr: "dictionary",
    builtin.FunctionType: "function type",
    builtin.IntegerAttr: "constant integer",
    builtin.IntegerType: "integer type",
    builtin.StringAttr: "string",
    builtin.SymbolRefAttr: "symbol",
    builtin.UnitAttr: "flag",
    TypedAttribute: "constant",
}


def _words(constraint: object) -> str:
    """What a constraint of xDSL allows. Raises ValueError for an unknown one."""
    match constraint:
        case RangeLengthConstraint():
            inner = cast("RangeLengthConstraint[Any]", constraint)
            return _words(inner.constraint)
        case RangeOf():
            return _words(cast("RangeOf[Any]", constraint).constr)
        case builtin.ArrayOfConstraint():
            inner = cast(
                "builtin.ArrayOfConstraint[Any]", constraint
            ).elem_range_constraint
            return f"list of: {_words(inner)}"
        case VarConstraint():
            return f"`{cast('VarConstraint[Any]', constraint).name}`, one type for all"
        case AnyAttr():
            return "any"
        case EqAttrConstraint():
            return f"`{cast('EqAttrConstraint[Any]', constraint).attr}`"
        case ParamAttrConstraint(base_attr=builtin.DenseArrayBase):
            return "list of integers"
        case builtin.SymbolNameConstraint():
            return "name"
        case BaseAttr():
            return _class_words(cast("BaseAttr[Any]", constraint).attr)
        case _:
            raise ValueError(
                f"docs/tir_page.py: no words for the constraint {constraint}"
            )


def _class_words(owner: type[Attribute]) -> str:
    if issubclass(owner, EnumAttribute):
        return f"one of {values(cast('type[EnumAttribute[Any]]', owner))}"
    if owner in _CLASSES:
        return _CLASSES[owner]
    if owner not in tir.TIR.attributes:
        raise ValueError(f"docs/tir_page.py: no words for the class {owner.__name__}")
    return f"`!{owner.name}`"


# ---- traits ----

_TRAITS: dict[type[OpTrait], str] = {
    Pure: "Pure: may be merged, moved and dropped.",
    NoMemoryEffect: "No effect, may be merged and dropped; may fail, so not moved in "
    "front of a condition.",
    MarkerEffect: "Neither merged nor dropped; touches no memory that others see.",
    MemoryReadEffect: "Reads memory.",
    MemoryWriteEffect: "Writes memory.",
    UpdateEffect: "Taken to read and write any memory.",
    IntrinsicEffect: "The effect of the builtin.",
    RecursiveMemoryEffect: "The effects of what its regions hold.",
    Commutative: "Commutative.",
    ConstantLike: "A constant.",
    HasFolder: "Folds.",
    HasCanonicalizationPatternsTrait: "Has canonicalization patterns.",
    IsTerminator: "Ends its region.",
    IsolatedFromAbove: "Uses no value from outside.",
    SymbolOpInterface: "A symbol of the module.",
    SymbolUserOpInterface: "The callee must be in the module.",
    HasParent: "Stands in a `tir.block` only.",
    CallableOpInterface: "",
    NoTerminator: "",
}
"""What traits mean for a user; the first class that fits a trait counts."""


def _effects(op: Op) -> str:
    if set(parents(op)) - {tir.BlockOp.name}:
        raise ValueError(f"docs/tir_page.py: no words for the parents {parents(op)}")
    return effects(op, _TRAITS)


# ---- forms and rules ----

_FORMS = """\
What passes have removed from a program, in the order in which they do. A program of one
form is of all forms before it; ops of other dialects are of every form. In Python,
`xdsl_tvm.analysis.tir.forms.FORMS`, and
[`tir-verify-form`](passes/tir-verify-form.md) on the command line.

"""


def _forms() -> str:
    rows = [
        (f"`{form.name}`", form.definition, _checked(form)) for form in FORMS.values()
    ]
    return table(("Form", "Beyond the form before", "Looks at"), rows)


def _checked(form: Form) -> str:
    return links(cast("Iterable[Op]", form.own)) or "nothing"


_RULES = """\
What well-formed programs keep to besides what the verifiers of the ops check, by
`xdsl_tvm.analysis.tir.well_formed` and
[`tir-verify-well-formed`](passes/tir-verify-well-formed.md).

"""


def _rules() -> str:
    rows = [(rule.name, rule.definition) for rule in RULES.values()]
    return table(("Rule", "Definition"), rows)
