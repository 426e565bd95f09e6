"""Structural equality of programs: whether two are the same tree.

The notion is TVM's `StructuralEqual` (docs/spec/tir-ir.md §13) on trees that are rebuilt
from the ops, so it does not matter

* whether equal values are one or several, nor where constants and pure ops stand;
* what values, variables, buffers, blocks and parameters are called, the offset factor of
  buffers, the storage index of an `allocate_const`, or which location ops have;
* in what order annotations and attributes, functions of a module, the declarations of a
  block (allocations, matches, reads, writes, init) among kinds, and the matched buffers
  of parameters come;
* whether a default is written (alignment, predicate `true`, offset 0, regions that list
  nothing, `true` for a unit attribute) and whether an extent is an operand or part of a
  type;
* no-ops, and scopes of statements that no binding precedes, or that end a body;
* where, and how many times, a buffer without a statement (`implicit`) is declared, and
  whether the pointer of a declared buffer is read from the buffer;
* the type of a `tir.call` whose value nothing but a `tir.evaluate` uses, and that
  `tir.evaluate`;
* what is computed and used by nothing, pure ops and reads of memory.

Everything else matters: dtypes, constants, the order of statements, effects, attributes,
the fields of buffers, and when memory is read. A read is part of the expressions that use
it; where a write that may reach its memory is between it and a use, it is a statement
that binds it, equal to a `tir.let` in its place (see `tree_form`). A `tir.reducer` is a
value that binds its arguments. Memory of parameters may be one unless the function is
`tir.noalias`; what a call or a foreign op with unknown effects writes is any memory.

Differs from TVM: predicates of loads and stores count; floats are equal when they are
after rounding to their dtype, not when they are within 1e-9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.printer import Printer

from xdsl_tvm.analysis.tree_form import (
    Attributes,
    FreeMode,
    Label,
    Line,
    Literal,
    Part,
    Parts,
    Root,
    TreeForm,
    digest,
    name_of,
    parts_of,
)
from xdsl_tvm.dialects import tir

_CONTEXT = 2
"""Lines shown before and after the marked one."""


class StructuralInequality(AssertionError):
    """Two programs that should be equal are not.

    `path` leads to the first difference: symbols, regions, statements by number, then
    operands by name. `lhs` and `rhs` are what is there on either side.
    """

    def __init__(self, path: str, lhs: str, rhs: str, excerpts: str = "") -> None:
        super().__init__(f"programs differ at {path}: {lhs} versus {rhs}{excerpts}")
        self.path = path
        self.lhs = lhs
        self.rhs = rhs


def structural_equal(
    a: Root | Region, b: Root | Region, map_free_vars: bool = False
) -> bool:
    """Whether two functions, modules, other ops, blocks, regions or values are one tree.

    Variables defined outside of what is compared must be the same values. With
    `map_free_vars` a variable may stand for another one of the same type, one to one
    throughout. Values of one function are compared as of the points where they are
    computed: two loads are equal if no write is between them. The name of the compared
    function itself does not count, those of functions in a compared module do. Linear in
    the number of ops. Raises ValueError for a region that is not one block.
    """
    lhs, rhs = _forms(a, b, map_free_vars)
    return _difference(lhs, rhs) is None


def assert_structural_equal(
    a: Root | Region, b: Root | Region, map_free_vars: bool = False
) -> None:
    """Raise `StructuralInequality`, an AssertionError, unless `structural_equal`.

    The message names the first differing path and shows that place in both programs.
    """
    lhs, rhs = _forms(a, b, map_free_vars)
    lines = _difference(lhs, rhs)
    if lines is not None:
        raise _explained(lhs, rhs, *lines)


def structural_hash(a: Root | Region, map_free_vars: bool = False) -> int:
    """A number of 64 bits that is the same for equal trees, and in every process.

    Without `map_free_vars` free variables count by their types only, since nothing else
    of them outlives the process.
    """
    free = FreeMode.ORDER if map_free_vars else FreeMode.NONE
    form = TreeForm(_root(a), free, {}, Attributes())
    text = digest(*((line.kind == "end", line.digest) for line in form.lines))
    return int.from_bytes(text[:8], "little")


def _root(item: Root | Region) -> Root:
    if not isinstance(item, Region):
        return item
    if len(item.blocks) != 1:
        raise ValueError(
            f"a region of {len(item.blocks)} blocks is no list of statements; compare "
            "the op that holds it"
        )
    return item.block


def _forms(
    a: Root | Region, b: Root | Region, map_free: bool
) -> tuple[TreeForm, TreeForm]:
    free = FreeMode.ORDER if map_free else FreeMode.IDENTITY
    shared: dict[object, int] = {}
    attributes = Attributes()
    return (
        TreeForm(_root(a), free, shared, attributes),
        TreeForm(_root(b), free, shared, attributes),
    )


def _difference(lhs: TreeForm, rhs: TreeForm) -> tuple[Line, Line] | None:
    """The first lines that are not equal."""
    # Lines are well nested, so neither list is a part of the other.
    for a, b in zip(lhs.lines, rhs.lines, strict=False):
        if a.digest != b.digest or (a.kind == "end") != (b.kind == "end"):
            return a, b
    return None


# ---- the message ----


def _explained(lhs: TreeForm, rhs: TreeForm, a: Line, b: Line) -> StructuralInequality:
    """The error for the first two lines that differ."""
    path = _path(a)
    left = _Side(lhs, a.op, is_end=a.kind == "end", is_block=a.kind == "block")
    right = _Side(rhs, b.op, is_end=b.kind == "end", is_block=b.kind == "block")
    if a.kind == b.kind == "value":
        assert isinstance(lhs.root, SSAValue)
        assert isinstance(rhs.root, SSAValue)
        return _descend(path, left.at(lhs.root), right.at(rhs.root))
    if a.kind != b.kind or a.kind not in ("op", "let"):
        return _error(path, left, right)
    assert a.op is not None
    assert b.op is not None
    if name_of(a.op) != name_of(b.op):
        return _error(path, left, right)
    if a.kind == "let":
        return _descend(path, left.at(a.op.results[0]), right.at(b.op.results[0]))
    found = _differing(left, parts_of(a.op), right, parts_of(b.op))
    if found is None:
        return _error(path, left, right)
    label, x, y = found
    return _descend(path + _name(a.op, label), left.at(x), right.at(y))


@dataclass(frozen=True)
class _Side:
    """A place in one of the two programs: an op, and the part of it that is looked at."""

    form: TreeForm
    op: Operation | None
    part: Part | None = None
    is_end: bool = False
    is_block: bool = False

    def at(self, part: Part) -> _Side:
        """The place of a part of the op, or of the op that computes it."""
        op = self.op
        if isinstance(part, SSAValue) and isinstance(part.owner, Operation):
            op = part.owner
        return _Side(self.form, op, part)

    def parts(self) -> Parts | None:
        """What the tree at this place is made of, None for a leaf."""
        if not isinstance(self.part, SSAValue):
            return None
        return self.form.tree_parts(self.part)

    def text(self, lines: list[str], marked: int | None) -> str:
        """The place in a few words."""
        if self.is_end:
            return "nothing"
        match self.part:
            case Literal():
                return f"{self.part.value} : {self.part.dtype}"
            case Attribute() | str():
                return str(self.part)
            case BlockArgument():
                name = self.part.name_hint or str(self.part.index)
                return f"the variable %{name} : {self.part.type}"
            case _:
                text = "nothing" if marked is None else lines[marked].strip()
                return f"the start of {text}" if self.is_block else text


def _descend(path: str, a: _Side, b: _Side) -> StructuralInequality:
    """The error for two parts that differ, at the innermost place where they do."""
    while True:
        x, y = a.parts(), b.parts()
        if x is None or y is None or a.op is None or b.op is None:
            return _error(path, a, b)
        if name_of(a.op) != name_of(b.op) or isinstance(a.op, tir.ConstOp):
            return _error(path, a, b)
        found = _differing(a, x, b, y)
        if found is None:
            return _error(path, a, b)
        label, left, right = found
        path += _name(a.op, label)
        a, b = a.at(left), b.at(right)


def _differing(a: _Side, x: Parts, b: _Side, y: Parts) -> tuple[Label, Part, Part] | None:
    """The first parts that differ; None where one side only has more of them."""
    for (label, left), (other, right) in zip(x, y, strict=False):
        if label != other:
            return None
        if a.form.part(left) != b.form.part(right):
            return label, left, right
    return None


def _name(op: Operation, label: Label) -> str:
    """A part's place in a path; operands have the names of their definition."""
    if isinstance(label, str):
        return f".{label}"
    if isinstance(op, IRDLOperation):
        for name, _ in op.get_irdl_definition().operands:
            held: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
            if isinstance(held, SSAValue):
                if label == 0:
                    return f".{name}"
                label -= 1
            elif held is not None:
                if label < len(held):
                    return f".{name}[{label}]"
                label -= len(held)
    return f".operand[{label}]"


def _path(line: Line) -> str:
    labels: list[str] = []
    current: Line | None = line
    while current is not None:
        labels.append(current.label)
        current = current.parent
    return "".join(reversed(labels)).lstrip(".") or "the root"


def _error(path: str, a: _Side, b: _Side) -> StructuralInequality:
    texts: list[str] = []
    excerpts: list[str] = []
    for side, title in ((a, "first"), (b, "second")):
        lines, marked = _printed(side)
        texts.append(side.text(lines, marked))
        excerpts.append(_excerpt(title, lines, marked))
    return StructuralInequality(path, texts[0], texts[1], "".join(excerpts))


class _MarkingPrinter(Printer):
    """Notes where in the text an op begins and ends."""

    def __init__(self, stream: StringIO, target: Operation | None) -> None:
        super().__init__(stream)
        self._text = stream
        self._target = target
        self.span: tuple[int, int] | None = None

    def print_op(self, op: Operation) -> None:
        start = self._text.tell()
        super().print_op(op)
        if op is self._target:
            self.span = start, self._text.tell()


def _printed(side: _Side) -> tuple[list[str], int | None]:
    """The program around a place, and the number of the line that is meant."""
    stream = StringIO()
    printer = _MarkingPrinter(stream, side.op)
    root = side.form.printed_root()
    if root is None:
        return [], None
    printer.print_op(root)
    text = stream.getvalue()
    if printer.span is None:
        return text.splitlines(), None
    start, end = printer.span
    return text.splitlines(), text.count("\n", 0, end if side.is_end else start)


def _excerpt(title: str, lines: list[str], marked: int | None) -> str:
    if marked is None:
        return ""
    shown = [f"\n{title} program, line {marked + 1}:"]
    for number in range(
        max(0, marked - _CONTEXT), min(len(lines), marked + _CONTEXT + 1)
    ):
        shown.append(f"{'>' if number == marked else ' '} {lines[number]}")
    return "\n".join(shown)
