"""Well-formed TIR: the rules that span several ops (docs/spec/tir-ir.md §14).

`RULES` lists them. The rest of the spec's rules hold for any verified module, as values
are in static single assignment form, `tir.func` verifies that they are defined before
 their uses, and every op has a verifier:

- each variable is defined once, in one function of the module, and used only in the
  scope of its definition: loop, thread and iteration variables are block arguments,
  bindings and pointers are results, and functions are isolated from each other;
- a thread's variable is used only inside its launch, however often one is launched;
- a variable is bound at most once, which TVM's `verify_ssa` checks;
- a buffer's data, shape, strides and offset are operands of the op that defines it, so
  using a buffer uses them;
- keys that wrap the definition of their variable are annotations of the defining op,
  and the known keys of `tir.attr` have the node and the value they need;
- no field of a statement is missing, every loop has a variable of its own, no loop
  variable is a vector, and an access has the rank of its buffer;
- there are no `Reduce`, `ProducerLoad` and `ProducerStore`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator, is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith.expr import view
from xdsl_tvm.analysis.arith.polynomial import prove_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import integer_of, list_items
from xdsl_tvm.dialects.tir.memory_info import module_memory_infos
from xdsl_tvm.dialects.tir.module import (
    CONSTANTS,
    MODULE_ATTRS,
    verify_module_attributes,
)


@dataclass(frozen=True)
class Violation:
    """An op that breaks a rule."""

    op: Operation
    rule: str
    """A key of `RULES`."""
    reason: str
    """Says what is wrong with the op, and what to do."""


@dataclass(frozen=True)
class Rule:
    """A rule: its name, its definition, and how to find the ops that break it.

    `check` takes a function with a body, `check_module` a module.
    """

    name: str
    definition: str
    check: Callable[[tir.FuncOp], Iterable[Violation]] | None = None
    check_module: Callable[[ModuleOp], Iterable[Violation]] | None = None


def violations(root: Operation) -> Iterator[Violation]:
    """All violations in the modules and `tir.func`s of `root`, in the order of the text.

    Each of them is looked at rule by rule.
    """
    for op in ops_of(root, tir.FuncOp, ModuleOp):
        if isinstance(op, ModuleOp):
            for rule in RULES.values():
                if rule.check_module is not None:
                    yield from rule.check_module(op)
        elif not op.is_declaration:
            for rule in RULES.values():
                if rule.check is not None:
                    yield from rule.check(op)


def verify_well_formed(root: Operation, assert_mode: bool = True) -> bool:
    """Whether the functions in `root` are well-formed, `tir.analysis.verify_well_formed`.

    With `assert_mode` raises VerifyException for the first op that breaks a rule instead
    of returning False. `root` must have been verified.
    """
    first = next(violations(root), None)
    if first is not None and assert_mode:
        raise VerifyException(f"{first.op.name} breaks {first.rule}: {first.reason}")
    return first is None


# ---- BlockVarAccess ----

_FREE = sys.maxsize
"""The level of a value that depends on no loop variable."""


class _Isolation:
    """One walk over a function, for BlockVarAccess.

    The level of a loop variable is the number of blocks with iteration variables around
    its loop, that of another value the smallest of the loop variables it is computed
    from. A value of a level below that of its use crosses the border of a block.
    """

    def __init__(self) -> None:
        self.levels: dict[SSAValue, int] = {}
        self.found: list[Violation] = []

    def visit_region(self, region: Region, depth: int) -> int:
        return min(
            (self.visit(op, depth) for block in region.blocks for op in block.ops),
            default=_FREE,
        )

    def visit(self, op: Operation, depth: int) -> int:
        """Check `op`; the level of its value, or of what it yields."""
        level = self._level_of_operands(op)
        if level < depth:
            self.found.append(Violation(op, "BlockVarAccess", _CROSSES))
            # Reported once, not at all that is computed from it.
            level = _FREE
        inner = depth
        if isinstance(op, tir.ForOp):
            self.levels[op.loop_var] = depth
        elif isinstance(op, tir.BlockOp) and not op.is_opaque:
            inner += 1
        for region in op.regions:
            level = min(level, self.visit_region(region, inner))
        if level != _FREE:
            for result in op.results:
                self.levels[result] = level
        return level if op.results or op.has_trait(IsTerminator) else _FREE

    def _level_of_operands(self, op: Operation) -> int:
        levels = self.levels
        return min((levels.get(value, _FREE) for value in op.operands), default=_FREE)


_CROSSES = (
    "it uses the variable of a loop around its block, or what is computed from one; bind "
    "an iteration variable of the block to that value"
)


def _block_var_access(func: tir.FuncOp) -> Iterable[Violation]:
    isolation = _Isolation()
    isolation.visit_region(func.body, 0)
    return isolation.found


# ---- UndefinedVars and SingleDefinition of shape variables ----

_Vars = frozenset[SSAValue]
_NO_VARS: _Vars = frozenset()


class _ShapeVars:
    """One walk over a function that follows which shape variables are bound.

    An expression may be computed before the match that binds its variables, as
    constants may be hoisted; a statement may not use it there.
    """

    def __init__(self) -> None:
        self.declared: list[tir.ShapeVarOp] = []
        self.bound: set[SSAValue] = set()
        """In scope at this point of the walk."""
        self.ended: set[SSAValue] = set()
        """Bound where the walk has left."""
        self.unbound: dict[SSAValue, _Vars] = {}
        """Value -> the variables it needs that were not bound where it is computed."""
        self.early: list[tuple[Operation, _Vars]] = []
        self.constraints: list[tuple[Operation, _Vars]] = []
        self.rebound: list[tuple[Operation, tir.ShapeVarOp]] = []

    def visit_block(self, block: Block) -> None:
        bound_here: list[SSAValue] = []
        for op in block.ops:
            if isinstance(op, tir.MatchBufferOp | tir.MatchRegionOp):
                bound_here += self.bind(op)
            self.visit(op)
        self.bound.difference_update(bound_here)
        self.ended.update(bound_here)

    def bind(self, op: tir.MatchBufferOp | tir.MatchRegionOp) -> list[SSAValue]:
        """The variables that stand for themselves in the layout and are bound by it."""
        offset = () if op.elem_offset is None else (op.elem_offset,)
        found: list[SSAValue] = []
        for value in (*op.extents, *op.strides, *offset):
            variable = value.owner
            if not isinstance(variable, tir.ShapeVarOp) or value in self.bound:
                continue
            if value in self.ended:
                self.rebound.append((op, variable))
            self.bound.add(value)
            found.append(value)
        return found

    def visit(self, op: Operation) -> None:
        if isinstance(op, tir.ShapeVarOp):
            self.declared.append(op)
            self.unbound[op.result] = frozenset((op.result,))
            return
        needs = self.needs(op.operands)
        if needs:
            self.use(op, needs)
        for region in op.regions:
            for block in region.blocks:
                self.visit_block(block)

    def needs(self, values: Iterable[SSAValue]) -> _Vars:
        needs = _NO_VARS
        for value in values:
            needs |= self.unbound.get(value, _NO_VARS)
        return needs - self.bound if needs else needs

    def use(self, op: Operation, needs: _Vars) -> None:
        if isinstance(op, tir.MatchBufferOp):
            # The layouts of all parameters are checked once all are bound.
            self.constraints.append((op, needs))
        elif op.results and not op.regions and is_side_effect_free(op):
            for result in op.results:
                self.unbound[result] = needs
        else:
            self.early.append((op, needs))


def _shape_vars(func: tir.FuncOp) -> _ShapeVars:
    walk = _ShapeVars()
    walk.visit_block(func.body.block)
    return walk


def _undefined_vars(func: tir.FuncOp) -> Iterator[Violation]:
    walk = _shape_vars(func)
    bound = walk.ended
    for op in walk.declared:
        if op.result not in bound and op.result.first_use is not None:
            yield Violation(
                op,
                "UndefinedVars",
                f"nothing binds {op.var_name}; give it as an extent, stride or offset, "
                "by itself, to a tir.match_buffer or tir.match_region",
            )
    for op, needs in walk.early:
        if needs & bound:
            yield Violation(
                op,
                "UndefinedVars",
                "it uses a tir.shape_var before the match that binds it, or outside "
                "of the scope of that match; move it after the match",
            )


def shape_vars_bound_again(
    func: tir.FuncOp,
) -> list[tuple[Operation, tir.ShapeVarOp]]:
    """The matches that bind a shape variable which one in another scope binds before.

    Those are the violations of SingleDefinition, each with its variable.
    """
    return _shape_vars(func).rebound


def _single_definition(func: tir.FuncOp) -> Iterator[Violation]:
    for op, _ in shape_vars_bound_again(func):
        yield Violation(
            op,
            "SingleDefinition",
            "it binds a tir.shape_var that a match in another scope binds, too; use a "
            "tir.shape_var for each",
        )


# ---- EnvThread ----


def _env_thread(func: tir.FuncOp) -> Iterator[Violation]:
    first: dict[str, tir.LaunchThreadOp] = {}
    for op in ops_of(func, tir.LaunchThreadOp):
        if op.env is None:
            continue
        other = first.setdefault(op.env.data, op)
        for what, ours, theirs in (
            ("tag", op.tag, other.tag),
            ("kind", op.virtual, other.virtual),
            ("type", op.extent.type, other.extent.type),
        ):
            if ours != theirs:
                yield Violation(
                    op,
                    "EnvThread",
                    f"its variable {op.env} is that of a launch of another {what}; "
                    "give each axis an env of its own",
                )
                break
        else:
            if not prove_equal(view(op.extent), view(other.extent)):
                yield Violation(
                    op,
                    "EnvThread",
                    f"its variable {op.env} is that of a launch whose extent is not "
                    "provably equal; give each axis an env of its own",
                )


# ---- BufferDefinition ----


def _buffer_definition(func: tir.FuncOp) -> Iterator[Violation]:
    for op in all_ops(func):
        if not op.name.startswith("tir."):
            continue
        for value in op.operands:
            if isinstance(value.type, tir.BufferType) and not isinstance(
                value.owner, tir.BufferDefinition
            ):
                yield Violation(
                    op,
                    "BufferDefinition",
                    "it uses a buffer that no op of the tir dialect defines; view its "
                    "memory with tir.decl_buffer",
                )
                break


# ---- ReturnPlacement ----


def _return_placement(func: tir.FuncOp) -> Iterator[Violation]:
    for op in ops_of(func, tir.RetOp):
        if (where := _forbidden_place(op)) is not None:
            yield Violation(
                op,
                "ReturnPlacement",
                f"it is in {where}; return from the statements of the function",
            )


def _forbidden_place(op: tir.RetOp) -> str | None:
    """What `op` is in that one cannot return from."""
    region = op.parent_region()
    while region is not None:
        match parent := region.parent:
            case tir.FuncOp() | None:
                return None
            case tir.IfThenElseOp():
                return "an expression, a branch of tir.if_then_else"
            case tir.WhileOp() if region is parent.condition:
                return "an expression, the condition of a tir.while"
            case tir.ForOp() if parent.kind.data is tir.ForKind.PARALLEL:
                return "a parallel loop"
            case _:
                region = parent.parent_region()
    return None


# ---- ReturnType ----


def _return_type(func: tir.FuncOp) -> Iterator[Violation]:
    results = func.function_type.outputs.data
    if not results:
        return
    for op in ops_of(func, tir.RetOp):
        given = "nothing" if op.value is None else f"a {op.value.type}"
        if op.value is None or op.value.type != results[0]:
            yield Violation(
                op,
                "ReturnType",
                f"it returns {given}, but the result of the function is {results[0]}; "
                "cast the value",
            )


# ---- MatchedParameter ----


def _matched_parameter(func: tir.FuncOp) -> Iterator[Violation]:
    for parameter in func.buffer_map:
        for use in parameter.uses:
            if not isinstance(use.operation, tir.MatchBufferOp):
                yield Violation(
                    use.operation,
                    "MatchedParameter",
                    f"it uses parameter {parameter.index}, which stands for a buffer; "
                    "use the tir.data of the buffer",
                )


# ---- WhileCondition ----


def _while_condition(func: tir.FuncOp) -> Iterator[Violation]:
    for op in ops_of(func, tir.WhileOp):
        last = op.condition.block.last_op
        if isinstance(last, tir.YieldOp) and isinstance(last.value.owner, tir.ConstOp):
            yield Violation(
                op,
                "WhileCondition",
                "its condition is a constant, so it never ends or never runs; compute "
                "the condition, or remove the loop",
            )


# ---- AsyncWait ----

_WAIT, _COUNT = "async_wait_queue_scope", "async_wait_inflight_count"


def _async_wait(func: tir.FuncOp) -> Iterator[Violation]:
    for op in ops_of(func, tir.AttrOp):
        parent = op.parent_op()
        if op.key.data == _WAIT and not any(
            isinstance(inner, tir.AttrOp) and inner.key.data == _COUNT
            for inner in op.body.block.ops
        ):
            yield Violation(
                op,
                "AsyncWait",
                f"its body must be a tir.attr of {_COUNT}, which says how many commits "
                "need not have ended",
            )
        elif op.key.data == _COUNT and not (
            isinstance(parent, tir.AttrOp) and parent.key.data == _WAIT
        ):
            yield Violation(
                op,
                "AsyncWait",
                f"it must be in a tir.attr of {_WAIT}, which says what is waited for",
            )


# ---- ModuleAttributes ----


def _module_attributes(module: ModuleOp) -> Iterator[Violation]:
    try:
        verify_module_attributes(module)
        module_memory_infos(module)
    except VerifyException as error:
        yield Violation(module, "ModuleAttributes", str(error))


def _constant_index(module: ModuleOp) -> Iterator[Violation]:
    constants = _constants(module)
    for op in module.body.ops:
        if isinstance(op, tir.FuncOp):
            yield from _constants_of(op, constants)


def _constants(module: ModuleOp) -> Sequence[Attribute]:
    attributes = module.attributes.get(MODULE_ATTRS)
    if not isinstance(attributes, DictionaryAttr):
        return ()
    constants = attributes.data.get(CONSTANTS)
    return (list_items(constants) or ()) if constants is not None else ()


def _constants_of(
    func: tir.FuncOp, constants: Sequence[Attribute]
) -> Iterator[Violation]:
    for op in ops_of(func, tir.AllocateConstOp):
        index = integer_of(op.data)
        if index is not None and not 0 <= index < len(constants):
            yield Violation(
                op,
                "ConstantIndex",
                f"it takes constant {index}, but {CONSTANTS} in {MODULE_ATTRS} of the "
                f"module has {len(constants)}",
            )


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            "BlockVarAccess",
            "In a block with iteration variables nothing uses a variable of a loop "
            "around the block, nor a value computed from one; the block's own bindings, "
            "domains and predicate may.",
            _block_var_access,
        ),
        Rule(
            "UndefinedVars",
            "Every `tir.shape_var` in use is bound by a match that names it by itself, "
            "and no statement uses it, or what is computed from it, before the "
            "first such match or outside of its scope.",
            _undefined_vars,
        ),
        Rule(
            "SingleDefinition",
            "Matches that bind one `tir.shape_var` are in the scope of the first.",
            _single_definition,
        ),
        Rule(
            "EnvThread",
            "Launches with one `env` have one tag, are all virtual or all not, have "
            "variables of one type, and extents that are provably equal.",
            _env_thread,
        ),
        Rule(
            "BufferDefinition",
            "Ops of the dialect use only buffers that ops of the dialect define.",
            _buffer_definition,
        ),
        Rule(
            "ReturnPlacement",
            "`tir.ret` is neither in an expression nor in a parallel loop.",
            _return_placement,
        ),
        Rule(
            "ReturnType",
            "In a function with a result, `tir.ret` gives a value of its type.",
            _return_type,
        ),
        Rule(
            "MatchedParameter",
            "A parameter that `tir.match_buffer` matches is used by nothing else.",
            _matched_parameter,
        ),
        Rule(
            "WhileCondition",
            "The condition of a `tir.while` is no constant.",
            _while_condition,
        ),
        Rule(
            "AsyncWait",
            "An `async_wait_queue_scope` holds an `async_wait_inflight_count`, which "
            "is nowhere else.",
            _async_wait,
        ),
        Rule(
            "ModuleAttributes",
            "The attributes and global infos of a module are dictionaries and lists, and "
            "known attributes have the value they need.",
            check_module=_module_attributes,
        ),
        Rule(
            "ConstantIndex",
            "A `tir.allocate_const` with an index has its contents in the module.",
            check_module=_constant_index,
        ),
    )
}
"""All rules by name, in the order in which they are checked."""
