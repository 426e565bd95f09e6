"""Forms: what TIR may still hold at each stage of lowering, as named predicates.

A form names what passes have removed (docs/spec/tir-ir.md §14.3 and §15). They narrow: a
program of one form is of all forms before it in `FORMS`.

| form | stage of the spec |
|---|---|
| `blocks` | S0, TensorIR |
| `opaque-blocks` | S1 |
| `loops-and-buffers` | S2, free of blocks |
| `flat` | S3, flat buffers |
| `vector` | S4, no vectorized loops, no virtual threads |
| `host-device` | S5, host and device functions |
| `packed` | S5, the packed calling convention |

What the dialect cannot tell is not part of a form: `host-device` does not say for which
target a function is, and `packed` does not say which functions have the six parameters
of the packed convention, since both depend on targets, which need not be given.
That every buffer access has the rank of its buffer, that loop variables are scalars, and
that `tir.reads`, `tir.writes` and `tir.init` are in blocks is verified with the ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.ir import Operation

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import is_true


@dataclass(frozen=True)
class Problem:
    """Why an op is not of a form, and the pass that would make it so."""

    reason: str
    """Follows the name of the op in a sentence: "has iteration variables"."""
    made_by: str
    """The name of the pass that removes such ops; it need not exist yet."""


@dataclass(frozen=True)
class FormViolation:
    """The first op that is not of a form."""

    op: Operation
    form: Form
    """The form the op breaks: the one asked for, or one that it narrows."""
    reason: str
    made_by: str


Check = Callable[[Operation], Problem | None]


@dataclass(frozen=True, eq=False)
class Form:
    """A form: its name, its definition in one sentence, and what it adds to a wider one.

    `own` holds, by op class, the checks beyond those of the form it narrows.
    """

    name: str
    definition: str
    narrows: Form | None = None
    own: Mapping[type[Operation], Check] = field(
        default_factory=dict[type[Operation], Check]
    )

    @cached_property
    def _checks(self) -> dict[type[Operation], list[tuple[Form, Check]]]:
        """All checks by op class, those of the widest form first."""
        found: dict[type[Operation], list[tuple[Form, Check]]] = {}
        if self.narrows is not None:
            found = {op: list(checks) for op, checks in self.narrows._checks.items()}
        for op_class, check in self.own.items():
            found.setdefault(op_class, []).append((self, check))
        return found

    def first_violation(self, root: Operation) -> FormViolation | None:
        """The first op in `root`, in textual order, that is not of the form.

        One walk. Ops of other dialects are of every form; what they hold is looked at.
        """
        checks = self._checks
        for op in root.walk():
            for form, check in checks.get(type(op), ()):
                if (problem := check(op)) is not None:
                    return FormViolation(op, form, problem.reason, problem.made_by)
        return None

    def holds(self, root: Operation) -> bool:
        """Whether all ops in `root` are of the form."""
        return self.first_violation(root) is None


def _never(reason: str, made_by: str) -> Check:
    """The check of an op class that a form does not have."""
    problem = Problem(reason, made_by)
    return lambda op: problem


# ---- opaque blocks ----


def _opaque_block(op: Operation) -> Problem | None:
    assert isinstance(op, tir.BlockOp)
    if op.is_opaque:
        return None
    return Problem("has iteration variables", "tir-convert-blocks-to-opaque")


# ---- loops and buffers ----


def _no_thread_loop(op: Operation) -> Problem | None:
    assert isinstance(op, tir.ForOp)
    if op.kind.data is not tir.ForKind.THREAD_BINDING:
        return None
    return Problem(
        "is bound to a thread axis and not launched by tir.launch_thread",
        "tir-lower-opaque-block",
    )


# ---- flat ----


def _flat_declaration(op: Operation) -> Problem | None:
    """The problem of a declaration; the array of a packed function, whose memory other
    buffers access, may have the shape that is passed."""
    assert isinstance(op, tir.DeclBufferOp)
    if op.buffer.first_use is None:
        function = enclosing_function(op)
        if function is not None and is_true(function.attributes.get("calling_conv")):
            return None
    return _unflat("declares", op)


def _flat_access(op: Operation) -> Problem | None:
    assert isinstance(op, tir.LoadOp | tir.StoreOp | tir.AddressOfOp)
    return _unflat("indexes", tir.buffer_definition(op.buffer))


def _flat_places(op: Operation) -> Problem | None:
    assert isinstance(op, tir.ThreadAllreduceOp)
    problems = (
        _unflat("reduces into", tir.buffer_definition(place.buffer))
        for place in op.places
    )
    return next((problem for problem in problems if problem is not None), None)


def _unflat(verb: str, buffer: tir.BufferDefinition) -> Problem | None:
    """The problem of an op that declares or indexes a buffer which is not flat.

    With k axis separators a flat buffer has k + 1 dimensions.
    """
    separators = buffer.axis_separators
    physical = 1 if separators is None else len(separators.get_values()) + 1
    rank = buffer.type.get_num_dims()
    if rank != physical:
        what = f"of rank {rank}, where flat ones have rank {physical}"
    elif buffer.layout_strides not in ((), (1,)):
        what = "with strides"
    else:
        return None
    return Problem(f"{verb} a buffer {what}", "tir-flatten-buffer")


# ---- vector ----


def _no_vectorized_loop(op: Operation) -> Problem | None:
    assert isinstance(op, tir.ForOp)
    if op.kind.data is not tir.ForKind.VECTORIZED:
        return None
    return Problem("is a vectorized loop", "tir-vectorize-loop")


def _no_virtual_thread(op: Operation) -> Problem | None:
    assert isinstance(op, tir.LaunchThreadOp)
    if op.virtual is None:
        return None
    return Problem("launches virtual threads", "tir-inject-virtual-thread")


# ---- host and device ----


def _no_device_region(op: Operation) -> Problem | None:
    assert isinstance(op, tir.AttrOp)
    if op.key.data == "target":
        return Problem(
            "is a device region inside a function of the host", "tir-split-host-device"
        )
    if op.key.data == "device_scope":
        return Problem(
            "is a device region without a target", "tir-annotate-device-regions"
        )
    return None


def _launch_in_kernel(op: Operation) -> Problem | None:
    function = enclosing_function(op)
    if function is None or _is_device_function(function):
        return None
    return Problem(
        "launches threads in a function without the attribute tir.is_global_func",
        "tir-split-host-device",
    )


def enclosing_function(op: Operation) -> tir.FuncOp | None:
    """The `tir.func` that `op` is in, however deep."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, tir.FuncOp):
        parent = parent.parent_op()
    return parent


def _is_device_function(function: tir.FuncOp) -> bool:
    return is_true(function.attributes.get("tir.is_global_func"))


# ---- packed ----


def _private_match(op: Operation) -> Problem | None:
    function = enclosing_function(op)
    if function is None or "global_symbol" not in function.attributes:
        return None
    return Problem(
        "binds a parameter of a function with a global_symbol to a buffer",
        "tir-make-packed-api",
    )


BLOCKS = Form(
    "blocks",
    "Any verified TIR: the widest form, in which blocks may have iteration variables.",
)
OPAQUE_BLOCKS = Form(
    "opaque-blocks",
    "No block has iteration variables or a `tir.init`.",
    BLOCKS,
    {
        tir.BlockOp: _opaque_block,
        tir.InitOp: _never("is left over", "tir-lower-init-block"),
    },
)
LOOPS_AND_BUFFERS = Form(
    "loops-and-buffers",
    "There are no blocks, no `tir.match_region`, no `tir.alloc_buffer` and no loops of "
    "kind thread_binding; memory comes from `tir.allocate` and parameters.",
    OPAQUE_BLOCKS,
    {
        tir.BlockOp: _never("is left over", "tir-lower-opaque-block"),
        tir.MatchRegionOp: _never("is left over", "tir-lower-match-buffer"),
        tir.AllocBufferOp: _never("is left over", "tir-lower-opaque-block"),
        tir.ForOp: _no_thread_loop,
    },
)
FLAT = Form(
    "flat",
    "Every buffer that is declared by `tir.decl_buffer` or indexed has one dimension, "
    "or k + 1 with k axis separators, and no strides but 1. Arrays of packed functions "
    "that are not indexed have any shape.",
    LOOPS_AND_BUFFERS,
    {
        tir.DeclBufferOp: _flat_declaration,
        tir.LoadOp: _flat_access,
        tir.StoreOp: _flat_access,
        tir.AddressOfOp: _flat_access,
        tir.ThreadAllreduceOp: _flat_places,
    },
)
VECTOR = Form(
    "vector",
    "There are no vectorized loops and no virtual threads.",
    FLAT,
    {tir.ForOp: _no_vectorized_loop, tir.LaunchThreadOp: _no_virtual_thread},
)
HOST_DEVICE = Form(
    "host-device",
    "Threads are launched only in functions with the attribute `tir.is_global_func`, and "
    "no `target` or `device_scope` attribute is around statements.",
    VECTOR,
    {tir.AttrOp: _no_device_region, tir.LaunchThreadOp: _launch_in_kernel},
)
PACKED = Form(
    "packed",
    "No function with a `global_symbol` has a `tir.match_buffer`.",
    HOST_DEVICE,
    {tir.MatchBufferOp: _private_match},
)

FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        BLOCKS,
        OPAQUE_BLOCKS,
        LOOPS_AND_BUFFERS,
        FLAT,
        VECTOR,
        HOST_DEVICE,
        PACKED,
    )
}
"""All forms by name, each narrower than the one before it."""
