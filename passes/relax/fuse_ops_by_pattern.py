"""What patterns match in dataflow blocks becomes functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.argument_tuples import is_argument_tuple
from xdsl_tvm.analysis.relax.dataflow_patterns.expressions import call_view
from xdsl_tvm.analysis.relax.dataflow_patterns.fusion import (
    AnyFusionPattern,
    FusionPattern,
    PatternCheckContext,
    fusion_pattern,
    get_pattern,
    get_patterns_with_prefix,
    pattern_names,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.matching import (
    Matched,
    match_value,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.patterns import (
    CallPattern,
    TupleGetItemPattern,
)
from xdsl_tvm.analysis.relax.memory_sharing import Writers
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.tir.annotations import annotation_attr
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols
from xdsl_tvm.passes.relax._grouped_functions.functions import (
    COMPOSITE,
    PRIMITIVE,
    GroupedFunctions,
    is_grouped,
)
from xdsl_tvm.passes.relax._grouped_functions.group_body import GroupBody
from xdsl_tvm.passes.relax._grouped_functions.partition import (
    Group,
    Partition,
    dataflow_blocks,
    outputs_of,
)


@dataclass(frozen=True, init=False)
class FuseOpsByPattern(CompilerPass):
    """Summary: Puts bindings that a pattern matches into private Relax functions, with
        the name of the pattern.

    TVM name: relax.FuseOpsByPattern (v0.20)
    Input form: any; bindings of dataflow blocks are matched
    Output form: the same
    Options: `patterns`: names of registered patterns, those with the highest priority
        first; a name that is none stands for all patterns whose names begin with it. From
        Python also patterns themselves, `FusionPattern` or tuples (name, pattern,
        annotation patterns, check, attrs_getter), the last three as wanted.
        `bind_constants`: constants become part of the functions, not parameters (true).
        `annotate_codegen`: each function is wrapped for the code generator that the name
        of the pattern begins with, up to the first point (false). `entry_functions`:
        names of the functions to look at; all for none (none)
    Rewrites: with `patterns="generic.matmul_relu"`, in a dataflow block, before

            %a = relax.matmul %x, %w : (!t, !t) -> !t
            %b = relax.nn.relu %a : (!t) -> !t

        after

            %b = relax.call @fused_relax_matmul_relax_nn_relu(%x, %w) : (!t, !t) -> !t

            relax.func @fused_relax_matmul_relax_nn_relu(%x: !t, %w: !t) -> !t
                attributes {Composite = "generic.matmul_relu", Primitive = 1 : i32} {
              %r = relax.dataflow -> (!t) {
                %a = relax.matmul %x, %w : (!t, !t) -> !t
                %b = relax.nn.relu %a : (!t) -> !t
                relax.output %b : !t
              }
              relax.return %r : !t
            }

        One pattern after the other is matched, in the order of the block, with calls and
        fields of tuples. What parts that are calls or fields match becomes the function,
        with tuples and aliases between; what a wildcard matches stays outside. A match is
        left where its check says so, or where another match has some of its bindings but
        the last; one that holds all bindings of another takes its place. Results that are
        used elsewhere come as a tuple. The call is where the last binding was; users of
        earlier results are moved after it. Functions with equal bodies and attributes are
        shared. Symbols that no parameter has as a dimension come with a last parameter
        `!relax.shape`. With `annotate_codegen`, the call is one of a public function with
        `Codegen`, which holds the function as a literal. Time is linear in the size of
        the module times the number of patterns, apart from what lies between bindings of
        a match.
    Leaves alone: functions with `Composite`, `Codegen` or `Primitive`; what is outside of
        dataflow blocks; matches that nothing uses, that reach out of their block, that
        write memory in place, or whose bindings cannot run as one: a binding between
        needs one of them and is needed by another, or writes memory
    Errors: a name that no registered pattern has or begins with; no pattern at all; an
        entry function that the module does not hold; attributes of an `attrs_getter` that
        cannot be attributes, or are those of the pass
    Attributes: read: `Primitive`, `Codegen`, `Composite`; created: `Composite`,
        `Primitive` and those of `attrs_getter` on functions made, with `annotate_codegen`
        `Codegen` and `global_symbol`; removed: none
    Differs from TVM: checks get values and operations of the program. Where bindings
        cannot run as one, TVM raises an internal error. A dead match is kept without a
        warning.
    """

    name = "relax-fuse-ops-by-pattern"
    _OWN: ClassVar = (COMPOSITE, PRIMITIVE)

    patterns: tuple[str, ...] = ()
    bind_constants: bool = True
    annotate_codegen: bool = False
    entry_functions: tuple[str, ...] = ()
    _given: tuple[str | FusionPattern, ...] = field(
        init=False, repr=False, compare=False, default=()
    )

    def __init__(
        self,
        patterns: Sequence[str | AnyFusionPattern] = (),
        bind_constants: bool = True,
        annotate_codegen: bool = False,
        entry_functions: Sequence[str] | None = (),
    ) -> None:
        """See the class. Raises TypeError for patterns of another kind."""
        given = tuple(p if isinstance(p, str) else fusion_pattern(p) for p in patterns)
        names = (p if isinstance(p, str) else p.name for p in given)
        fields = {
            "patterns": tuple(names),
            "bind_constants": bind_constants,
            "annotate_codegen": annotate_codegen,
            "entry_functions": tuple(entry_functions or ()),
            "_given": given,
        }
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = self._patterns()
        writers = Writers(op)
        functions = GroupedFunctions(op)
        composites = dict[str, None]()
        for func in self._functions(op):
            for block in dataflow_blocks(func):
                for pattern in patterns:
                    partition = Partition(block, writers)
                    attributes = dict(self._groups(pattern, partition))
                    composites.update(self._extract(partition, attributes, functions))
        if self.annotate_codegen:
            functions.annotate_codegen(composites)

    def _patterns(self) -> list[FusionPattern]:
        found = list[FusionPattern]()
        for each in self._given:
            if isinstance(each, FusionPattern):
                found.append(each)
            elif (known := get_pattern(each)) is not None:
                found.append(known)
            elif several := get_patterns_with_prefix(each):
                found += several
            else:
                hint = did_you_mean(each, pattern_names())
                raise PassFailedException(
                    f"{self.name}: no pattern is called '{each}' or begins so{hint}; "
                    "register it with register_patterns"
                )
        if not found:
            raise PassFailedException(
                f"{self.name}: there is no pattern; name some in patterns, as in "
                "patterns=generic."
            )
        return found

    def _functions(self, module: ModuleOp) -> Iterator[relax.FuncOp]:
        symbols = module_symbols(module)
        for name in self.entry_functions:
            if not isinstance(symbols.get(name), relax.FuncOp):
                raise PassFailedException(
                    f"{self.name}: the module has no Relax function @{name}; name one of "
                    "its functions in entry_functions"
                )
        for name, func in symbols.items():
            if not isinstance(func, relax.FuncOp) or is_grouped(func):
                continue
            if not self.entry_functions or name in self.entry_functions:
                yield func

    # ---- groups ----

    def _groups(
        self, pattern: FusionPattern, partition: Partition
    ) -> Iterator[tuple[Group, dict[str, Attribute]]]:
        """The groups that matches of a pattern make, with attributes of the functions."""
        for op in partition.ops:
            if call_view(op) is None and not isinstance(op, relax.GetItemOp):
                continue
            if (matched := match_value(pattern.pattern, op.results[0])) is None:
                continue
            members = _members(matched, op, partition)
            if members is None or not _may_join(members, partition):
                continue
            check = _check_context(pattern, matched, op, partition.in_order(members))
            if pattern.check is not None and not pattern.check(check):
                continue
            group = Group(members, pattern.name)
            if outputs_of(partition.in_order(members)) and partition.add(group):
                yield group, self._attributes(pattern, check)

    def _attributes(
        self, pattern: FusionPattern, check: PatternCheckContext
    ) -> dict[str, Attribute]:
        attributes: dict[str, Attribute] = {
            COMPOSITE: StringAttr(pattern.name),
            PRIMITIVE: IntegerAttr(1, i32),
        }
        if pattern.attrs_getter is None:
            return attributes
        for key, value in pattern.attrs_getter(check.annotated_expr).items():
            if key in self._OWN:
                raise PassFailedException(
                    f"{self.name}: attrs_getter of '{pattern.name}' gives '{key}', which "
                    "is an attribute of the pass; call it otherwise"
                )
            try:
                attributes[key] = annotation_attr(value)
            except ValueError as error:
                raise PassFailedException(
                    f"{self.name}: attrs_getter of '{pattern.name}': {key}: {error}"
                ) from None
        return attributes

    def _extract(
        self,
        partition: Partition,
        attributes: dict[Group, dict[str, Attribute]],
        functions: GroupedFunctions,
    ) -> Iterator[tuple[str, None]]:
        partition.settle()
        for group, members in partition.groups():
            body = GroupBody(
                members, outputs_of(members), bind_constants=self.bind_constants
            )
            if body.can_replace(members[-1]):
                name = functions.make(body, body.name(), attributes[group])
                body.replace_by_call(name)
                yield name, None


def _members(
    matched: Matched, root: Operation, partition: Partition
) -> set[Operation] | None:
    """The bindings that a match makes a function of; None if one is out of the block."""
    members = {root}
    for pattern, value in matched.items():
        if not isinstance(pattern, CallPattern | TupleGetItemPattern):
            continue
        for op in _named(value):
            if not partition.holds(op):
                return None
            members.add(op)
    pending = list(members)
    while pending:
        for operand in pending.pop().operands:
            owner = operand.owner
            if not isinstance(owner, relax.TupleOp) or not partition.holds(owner):
                continue
            if owner not in members and is_argument_tuple(owner):
                members.add(owner)
                pending.append(owner)
    return members


def _named(value: SSAValue) -> Iterator[Operation]:
    """What computes a value, and the bindings by which it is named so."""
    while isinstance(owner := value.owner, Operation):
        yield owner
        if not isinstance(owner, relax.AliasOp):
            return
        value = owner.value


def _may_join(members: set[Operation], partition: Partition) -> bool:
    """Whether other groups have none of the bindings, or all of theirs are among them."""
    groups = {g for op in members if (g := partition.group_of(op)) is not None}
    return all(group.members <= members for group in groups)


def _check_context(
    pattern: FusionPattern,
    matched: Matched,
    root: Operation,
    members: Sequence[Operation],
) -> PatternCheckContext:
    bindings: dict[SSAValue, Operation] = {op.results[0]: op for op in members}
    return PatternCheckContext(
        root.results[0],
        {
            name: matched[part]
            for name, part in pattern.annotation_patterns.items()
            if part in matched
        },
        bindings,
        {value: [use.operation for use in value.uses] for value in bindings},
        {op: value for value, op in bindings.items()},
    )
