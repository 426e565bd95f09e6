"""Other orders of tensors' axes for some operators, and for what is around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException
from xdsl.utils.hints import isa

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._layouts.axis_layouts import AxisLayout, change
from xdsl_tvm.passes.relax._layouts.rules import WITH_LAYOUTS, Plan, rule_of
from xdsl_tvm.passes.relax.rewriting.insertion import by_function
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols


@dataclass(frozen=True)
class ConvertLayout(CompilerPass):
    """Summary: Lets some operators compute in other layouts, with few rearrangements of
        tensors around them.

    TVM name: relax.ConvertLayout (v0.20)
    Input form: any
    Output form: the same; in dataflow blocks the operators that are named have the
        layouts that are wanted of them, if their operands allow it
    Options: `desired_layouts`: for each operator its name and its layouts, with colons
        between: `"relax.nn.conv2d:NHWC:OHWI"`, of data, weight and, if it is another
        one, result; a dictionary from names to lists of layouts in Python (none)
    Rewrites: before

            %y = relax.nn.conv2d %x, %w ... layout "NCHW" kernel "OIHW" : ...
            %r = relax.nn.relu %y : ...
            relax.output %r : ...

        after

            %x0 = relax.permute_dims %x axes [0, 2, 3, 1] : ...
            %w0 = relax.permute_dims %w axes [0, 2, 3, 1] : ...
            %y0 = relax.nn.conv2d %x0, %w0 ... layout "NHWC" kernel "OHWI" : ...
            %r0 = relax.nn.relu %y0 : ...
            %r = relax.permute_dims %r0 axes [0, 3, 1, 2] : ...
            relax.output %r : ...

        Values keep the layout that they are computed in: operators that have a rule
        (elementwise ones, reductions, normalisations, pooling, slices, concatenation…)
        take it over, with their axes renumbered. All others get operands as they were
        written, and so does what is after the block. A rearrangement is made once, where
        it is first needed: `relax.permute_dims`, or `relax.layout_transform` for layouts
        with blocks (`NCHW4c`). Time is linear in the size of the function.
    Leaves alone: what is outside of dataflow blocks; operators whose tensors have unknown
        ranks, or dimensions that are not known to be full blocks
    Errors: a name of an operator without layouts, a layout that is none of the operator
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a `relax.permute_dims` of a value in another layout costs nothing;
        it renames the axes. `log_softmax` has a rule, as `softmax` does. A new axis comes
        first in the layout available.
    """

    name = "relax-convert-layout"

    desired_layouts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: object = self.desired_layouts
        if isa(given, dict[str, list[str]]):
            # TVM takes a dictionary.
            texts = (":".join((name, *layouts)) for name, layouts in given.items())
            object.__setattr__(self, "desired_layouts", tuple(texts))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wanted = self._wanted()
        if not wanted:
            return
        for blocks, written in by_function(op, relax.DataflowOp):
            for dataflow in blocks:
                try:
                    LayoutConversion(lambda each: wanted.get(each.name), written).convert(
                        dataflow.body.block
                    )
                except VerifyException as error:
                    raise PassFailedException(f"{self.name}: {error}") from error

    def _wanted(self) -> dict[str, list[str]]:
        wanted: dict[str, list[str]] = {}
        for text in self.desired_layouts:
            name, *layouts = text.split(":")
            if name not in WITH_LAYOUTS:
                raise PassFailedException(
                    f"{self.name}: '{name}' is no operator with layouts; these are "
                    f"{', '.join(sorted(WITH_LAYOUTS))}"
                )
            if not 1 <= len(layouts) <= 3:
                raise PassFailedException(
                    f"{self.name}: '{text}' must give layouts after colons, as in "
                    "relax.nn.conv2d:NHWC:OHWI"
                )
            wanted[name] = layouts
        return wanted


@dataclass
class _Tensor:
    """A tensor of the block as written, in all layouts that it is available in."""

    written: Attribute
    current: AxisLayout
    """The layout that it was computed in."""
    versions: dict[AxisLayout, SSAValue]

    def get(self, layout: AxisLayout, user: Operation) -> SSAValue:
        """The tensor in a layout, made before `user` if need be."""
        if layout not in self.versions:
            source = self.versions[self.current]
            op = change(source, self.current, layout, self.written)
            op.result.name_hint = source.name_hint
            op.location = user.location
            Rewriter.insert_op(op, InsertPoint.before(user))
            self.versions[layout] = op.result
        return self.versions[layout]


_Field: TypeAlias = _Tensor | SSAValue


@dataclass
class LayoutConversion:
    """One walk over a dataflow block."""

    wanted: Callable[[Operation], Sequence[str] | None]
    """The layouts that are wanted of an operator, if any are."""
    written: set[SSAValue]
    """Tensors whose memory something writes; each stays memory of its own."""
    tensors: dict[SSAValue, _Tensor] = field(default_factory=dict[SSAValue, _Tensor])
    tuples: dict[SSAValue, list[_Field]] = field(
        default_factory=dict[SSAValue, list[_Field]]
    )
    """Tuples of which a field is available in another layout."""
    whole: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Such tuples as written."""
    replaced: list[Operation] = field(default_factory=list[Operation])
    items: list[relax.GetItemOp] = field(default_factory=list[relax.GetItemOp])
    """What takes the fields of new results, used or not."""

    def convert(self, block: Block) -> None:
        for op in list(block.ops):
            self._visit(op)
        for op in reversed(self.replaced):
            Rewriter.erase_op(op)
        for item in self.items:
            if item.result.first_use is None:
                Rewriter.erase_op(item)

    # ---- values ----

    def _tensor(self, value: SSAValue) -> _Tensor | None:
        """A tensor of known rank, or None."""
        found = self.tensors.get(value)
        if found is None:
            info = TensorInfo.of(value.type)
            if info is None or info.rank is None:
                return None
            layout = AxisLayout.identity(info.rank)
            found = _Tensor(value.type, layout, {layout: value})
            self.tensors[value] = found
        return found

    def _fields(self, value: SSAValue) -> list[_Field] | None:
        """The fields of a tuple that is made in the block, or None."""
        if value in self.tuples:
            return self.tuples[value]
        if isinstance(value, OpResult) and isinstance(value.op, relax.TupleOp):
            return [self._tensor(each) or each for each in value.op.operands]
        return None

    def _as_written(self, value: SSAValue, user: Operation) -> SSAValue:
        if value in self.tensors:
            tensor = self.tensors[value]
            return tensor.get(AxisLayout.identity(tensor.current.rank), user)
        if value not in self.tuples:
            return value
        if value not in self.whole:
            fields = [
                each.get(AxisLayout.identity(each.current.rank), user)
                if isinstance(each, _Tensor)
                else self._as_written(each, user)
                for each in self.tuples[value]
            ]
            self.whole[value] = self._insert(relax.TupleOp(fields), user)
        return self.whole[value]

    def _insert(self, op: Operation, user: Operation) -> SSAValue:
        op.location = user.location
        Rewriter.insert_op(op, InsertPoint.before(user))
        return op.results[0]

    # ---- operations ----

    def _visit(self, op: Operation) -> None:
        if not (
            self._visit_tuple(op) or self._visit_name(op) or self._visit_operator(op)
        ):
            self._restore(op)

    def _restore(self, op: Operation) -> None:
        """Give an operation, and what it holds, operands as they were written."""
        for inner in op.walk():
            for index, operand in enumerate(inner.operands):
                written = self._as_written(operand, op)
                if written is not operand:
                    inner.operands[index] = written

    def _visit_tuple(self, op: Operation) -> bool:
        if isinstance(op, relax.TupleOp):
            fields = self._fields(op.result) or []
            if all(_is_as_written(each) for each in fields) and not any(
                each in self.tuples for each in op.operands
            ):
                return False
            self.tuples[op.result] = fields
        elif isinstance(op, relax.GetItemOp) and op.tuple_value in self.tuples:
            found = self.tuples[op.tuple_value][op.index.value.data]
            if isinstance(found, _Tensor):
                self.tensors[op.result] = found
            elif found in self.tuples:
                self.tuples[op.result] = self.tuples[found]
            else:
                op.result.replace_all_uses_with(found)
        else:
            return False
        self.replaced.append(op)
        return True

    def _visit_name(self, op: Operation) -> bool:
        """Other names for a tensor, and casts of it."""
        if not isinstance(op, relax.AliasOp | relax.MatchCastOp):
            return False
        tensor = self.tensors.get(op.value)
        if tensor is None or tensor.current.is_identity:
            return False
        info, layout = TensorInfo.of(op.result.type), tensor.current
        if info is None or info.rank != layout.rank or not layout.fits(info.dims):
            return False
        type_ = layout.type(op.result.type)
        value = tensor.versions[layout]
        new = (
            relax.AliasOp(value, type_)
            if isinstance(op, relax.AliasOp)
            else relax.MatchCastOp(value, type_, op.defined_symbols)
        )
        self._take_over(op, new, layout)
        return True

    def _visit_operator(self, op: Operation) -> bool:
        rule = rule_of(op)
        if rule is None or hide_symbols(op.operands, op):
            return False
        layouts: list[AxisLayout | list[AxisLayout] | None] = []
        for operand in op.operands:
            layout = self._layout(operand)
            if layout is None and _is_tensor(operand):
                return False  # Of unknown rank.
            layouts.append(layout)
        wanted = self.wanted(op)
        if wanted is None and all(map(_is_identity, layouts)):
            return False
        plan = rule(op, layouts, wanted)
        if plan is None:
            return False
        if plan.is_operand:
            if not self.written.isdisjoint((op.operands[0], op.results[0])):
                return False
            self._rename(op, plan)
        else:
            self._rebuild(op, plan)
        return True

    def _layout(self, value: SSAValue) -> AxisLayout | list[AxisLayout] | None:
        tensor = self._tensor(value)
        if tensor is not None:
            return tensor.current
        fields = self._fields(value)
        if fields is None:
            return None
        layouts = [each.current for each in fields if isinstance(each, _Tensor)]
        return layouts if len(layouts) == len(fields) else None

    def _rename(self, op: Operation, plan: Plan) -> None:
        operand = self._tensor(op.operands[0])
        assert operand is not None, "a rule has seen it"
        assert isinstance(plan.results, AxisLayout), "one tensor"
        value = operand.versions[operand.current]
        result = op.results[0]
        self.tensors[result] = _Tensor(result.type, plan.results, {plan.results: value})
        self.replaced.append(op)

    def _rebuild(self, op: Operation, plan: Plan) -> None:
        operands = [
            self._numbers(plan.numbers[index], op)
            if index in plan.numbers
            else self._operand(operand, layout, op)
            for index, (operand, layout) in enumerate(
                zip(op.operands, plan.operands, strict=True)
            )
        ]
        type_ = op.results[0].type
        if isinstance(plan.results, AxisLayout):
            new_type = plan.results.type(type_)
        else:
            assert isinstance(type_, relax.TupleType), "the rule says so"
            fields = zip(plan.results, type_.fields.data, strict=True)
            new_type = relax.TupleType.of(layout.type(each) for layout, each in fields)
        new = type(op).create(
            operands=operands,
            result_types=[new_type],
            properties={**op.properties, **plan.properties},
            attributes=op.attributes,
            location=op.location,
        )
        self._take_over(op, new, plan.results)

    def _operand(
        self, value: SSAValue, layout: AxisLayout | None, user: Operation
    ) -> SSAValue:
        if layout is None:
            return self._as_written(value, user)
        tensor = self._tensor(value)
        if tensor is not None:
            return tensor.get(layout, user)
        fields = self._fields(value) or []
        values = [each.get(layout, user) for each in fields if isinstance(each, _Tensor)]
        return self._insert(relax.TupleOp(values), user)

    def _numbers(self, numbers: Sequence[int], user: Operation) -> SSAValue:
        values = [self._insert(relax.PrimValueOp(each), user) for each in numbers]
        return self._insert(relax.TupleOp(values), user)

    def _take_over(
        self,
        op: Operation,
        new: Operation,
        results: AxisLayout | Sequence[AxisLayout],
    ) -> None:
        """Let `new` compute what `op` did, in the given layouts."""
        value = self._insert(new, op)
        result = op.results[0]
        value.name_hint = result.name_hint
        self.replaced.append(op)
        if isinstance(results, AxisLayout):
            self.tensors[result] = _Tensor(result.type, results, {results: value})
            return
        assert isinstance(result.type, relax.TupleType), "as many fields as layouts"
        fields: list[_Field] = []
        for type_, layout in zip(result.type.fields.data, results, strict=True):
            item = relax.GetItemOp(value, len(fields))
            self._insert(item, op)
            self.items.append(item)
            fields.append(_Tensor(type_, layout, {layout: item.result}))
        self.tuples[result] = fields


def _is_tensor(value: SSAValue) -> bool:
    return TensorInfo.of(value.type) is not None


def _is_as_written(value: _Field) -> bool:
    return not isinstance(value, _Tensor) or value.current.is_identity


def _is_identity(layout: AxisLayout | Sequence[AxisLayout] | None) -> bool:
    if layout is None or isinstance(layout, AxisLayout):
        return layout is None or layout.is_identity
    return all(each.is_identity for each in layout)
