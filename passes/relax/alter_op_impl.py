"""Operators are computed by other TIR functions, in other layouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import ParseError, PassFailedException
from xdsl.utils.hints import isa

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.symbolic import DimLike
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType
from xdsl_tvm.dialects.tir.index_map import IndexMapAttr
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import SymbolNames, module_symbols
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder
from xdsl_tvm.registry import new_context

OPERATOR = "operator_name"
"""Attribute of a TIR function: the operator that it computes."""


@dataclass(frozen=True)
class AlterOpImpl(CompilerPass):
    """Summary: Replaces the TIR functions that compute operators, and changes the layouts
        of tensors around their calls.

    TVM name: relax.AlterOpImpl (v0.20)
    Input form: calls of TIR functions (`relax-legalize-ops`)
    Output form: the same
    Options: `op_impl_map`: in Python, TIR functions by the operator that they compute;
        `replacements`: the same as texts, with functions of the module, "relax.add =
        @my_add" (none); `op_buffer_transforms`: by operator one map of indices, or
        "none", for each buffer of the function, separated by semicolons, "relax.add:
        <(d0) -> (d0 floordiv 4, d0 mod 4), inverse (d0, d1) -> (d0 * 4 + d1)>; ..."; in
        Python a dictionary to lists of maps (none)
    Rewrites: with maps to blocks of 4 for all buffers, before, where `@add` has
        `operator_name = "relax.add"`,

            %r = relax.call_tir @add(%x, %y) : (!t, !t) -> tensor<8xf32>

        after

            %a = relax.layout_transform %x map <(d0) -> (d0 floordiv 4, d0 mod 4)> ...
            %b = relax.layout_transform %y map ... : (!t) -> tensor<2x4xf32>
            %c = relax.call_tir @relax_add_replacement(%a, %b) : ... -> tensor<2x4xf32>
            %r = relax.layout_transform %c map <(d0, d1) -> (d0 * 4 + d1)> ...

        Results are brought back by the inverse of their map, which must be given with it;
        what the map has padded is sliced off. Constants of rank 0 stay as they are. A
        replacement is added once, with `operator_name`. Time is linear in the size of
        the module.
    Leaves alone: functions without `operator_name`, or of other operators; calls in place
    Errors: a text that is none of these; a replacement, or maps, of another number of
        buffers; a map of a result without its inverse; a result of unknown rank
    Attributes: read: `operator_name`; created: `operator_name` on replacements; removed:
        none
    Differs from TVM: there are no axis separators. Padding is sliced off by
        `relax.strided_slice`, where TVM adds a TIR function for it. TVM computes an
        inverse where none is given.
    """

    name = "relax-alter-op-impl"

    op_impl_map: InitVar[Mapping[str, tir.FuncOp] | None] = None
    replacements: tuple[str, ...] = ()
    op_buffer_transforms: tuple[str, ...] = ()
    _functions: Mapping[str, tir.FuncOp] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, tir.FuncOp]
    )

    def __post_init__(self, op_impl_map: Mapping[str, tir.FuncOp] | None) -> None:
        object.__setattr__(self, "_functions", dict(op_impl_map or {}))
        given: object = self.op_buffer_transforms
        if isa(given, dict[str, list[IndexMapAttr | None]]):
            # TVM takes a dictionary.
            texts = [
                f"{name}: {'; '.join(map(_map_text, maps))}"
                for name, maps in given.items()
            ]
            object.__setattr__(self, "op_buffer_transforms", tuple(texts))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = module_symbols(op)
        calls = [
            (call, kind.data)
            for call in all_ops(op)
            if isinstance(call, relax.CallTIROp)
            and (callee := symbols.get(call.callee.root_reference.data)) is not None
            and isinstance(kind := callee.attributes.get(OPERATOR), StringAttr)
        ]
        if not calls:
            return
        functions = dict(self._functions)
        for text in self.replacements:
            kind, _, name = (part.strip() for part in text.partition("="))
            found = symbols.get(name.removeprefix("@"))
            if not isinstance(found, tir.FuncOp):
                raise self._error(
                    f"'{text}' names no TIR function of the module; write it as "
                    '"relax.add = @my_add"'
                )
            functions[kind] = found
        maps = dict(map(self._maps, self.op_buffer_transforms))
        names, added = SymbolNames(op), dict[str, str]()
        for call, kind in calls:
            if (func := functions.get(kind)) is None:
                continue
            if kind not in added:
                added[kind] = names.unique(f"{kind.replace('.', '_')}_replacement")
                copy = func.clone()
                copy.sym_name = StringAttr(added[kind])
                copy.attributes[OPERATOR] = StringAttr(kind)
                copy.attributes.pop("global_symbol", None)
                op.body.block.add_op(copy)
            self._replace(call, func, added[kind], maps.get(kind))

    def _error(self, reason: str) -> PassFailedException:
        return PassFailedException(f"{self.name}: {reason}")

    def _maps(self, text: str) -> tuple[str, list[IndexMapAttr | None]]:
        kind, _, maps = text.partition(":")
        found: list[IndexMapAttr | None] = []
        for part in map(str.strip, maps.split(";")):
            if part == "none":
                found.append(None)
                continue
            try:
                full = part if part.startswith("#") else f"#tir.index_map{part}"
                parsed = Parser(new_context(), full).parse_attribute()
            except ParseError:
                parsed = None
            if not isinstance(parsed, IndexMapAttr):
                raise self._error(
                    f"'{part}' of {kind} is no map of indices; write it as "
                    '"<(d0, d1) -> (d1, d0)>", or none'
                )
            found.append(parsed)
        return kind.strip(), found

    def _replace(
        self,
        call: relax.CallTIROp,
        func: tir.FuncOp,
        name: str,
        maps: Sequence[IndexMapAttr | None] | None,
    ) -> None:
        type_ = call.result.type
        is_tuple = isinstance(type_, TupleType)
        results = list(type_.fields.data) if isinstance(type_, TupleType) else [type_]
        count = len(call.arguments) + len(results)
        buffers = len(func.buffer_map)
        if buffers != count:
            raise self._error(
                f"@{func.sym_name.data} has {buffers} buffers and {call.name} "
                f"{call.callee} {count}; give one that has as many"
            )
        if maps is not None and len(maps) != count:
            raise self._error(
                f"there are {len(maps)} maps and {call.name} {call.callee} has {count} "
                "buffers; give one, or none, for each"
            )
        forward = [None] * count if maps is None else maps
        builder = BindingBuilder(call)
        inputs = len(call.arguments)
        arguments = [
            _transformed(builder, value, each)
            for value, each in zip(call.arguments, forward[:inputs], strict=True)
        ]
        types = [
            _mapped(one, each, call)
            for one, each in zip(results, forward[inputs:], strict=True)
        ]
        new_type = TupleType.of(types) if is_tuple else types[0]
        new = relax.CallTIROp(name, arguments, new_type, call.tir_vars)
        new.attributes.update(call.attributes)
        result = builder.insert(new)
        values = [result]
        if is_tuple:
            values = [
                builder.insert(relax.GetItemOp(result, index))
                for index in range(len(types))
            ]
        back = [
            self._back(builder, value, each, one)
            for value, each, one in zip(values, forward[inputs:], results, strict=True)
        ]
        whole = builder.insert(relax.TupleOp(back)) if is_tuple else back[0]
        whole.name_hint = call.result.name_hint
        Rewriter.replace_op(call, (), [whole])

    def _back(
        self,
        builder: BindingBuilder,
        value: SSAValue,
        forward: IndexMapAttr | None,
        type_: Attribute,
    ) -> SSAValue:
        """A result in the layout that it had."""
        if forward is None:
            return value
        if forward.inverse is None:
            raise self._error(
                f"the map {forward} of a result has no inverse; give it after the map"
            )
        value = builder.insert(relax.LayoutTransformOp(value, forward.inverse))
        info, padded = TensorInfo.of(type_), TensorInfo.of(value.type)
        assert info is not None, "verified"
        assert info.shape is not None, "verified"
        if padded is not None and padded.shape != info.shape:
            rank = len(info.shape)
            axes = _numbers(builder, range(rank))
            begin, end = _numbers(builder, [0] * rank), _numbers(builder, info.shape)
            value = builder.insert(relax.StridedSliceOp(value, axes, begin, end))
        return builder.typed(value, type_)


def _map_text(given: object) -> str:
    return "none" if given is None else str(given)


def _numbers(builder: BindingBuilder, numbers: Iterable[DimLike]) -> SSAValue:
    """A tuple of scalars."""
    values = [builder.insert(relax.PrimValueOp(number)) for number in numbers]
    return builder.insert(relax.TupleOp(values))


def _transformed(
    builder: BindingBuilder, value: SSAValue, forward: IndexMapAttr | None
) -> SSAValue:
    """An argument in the layout that a replacement takes."""
    info = TensorInfo.of(value.type)
    if forward is None or (info is not None and info.rank == 0):
        return value
    return builder.insert(relax.LayoutTransformOp(value, forward))


def _mapped(
    type_: Attribute, forward: IndexMapAttr | None, call: relax.CallTIROp
) -> Attribute:
    """The type of a result in the layout that a replacement gives it."""
    if forward is None:
        return type_
    like = relax.AllocTensorOp(type_)
    probe = relax.LayoutTransformOp(like.result, forward)
    found = probe.result.type
    probe.erase()
    like.erase()
    return found
