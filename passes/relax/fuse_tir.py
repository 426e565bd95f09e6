"""Functions that are one kernel each become TIR functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value, emit
from xdsl_tvm.analysis.relax.op_pattern import ROOT
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.relax.algebra import infer_call
from xdsl_tvm.dialects.relax.attributes import symbols_of
from xdsl_tvm.dialects.relax.calls import output_infos
from xdsl_tvm.dialects.relax.functions import is_set
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import (
    FuncType,
    ShapeType,
    TensorInfo,
    TupleType,
)
from xdsl_tvm.passes.infra import CompilerPass, Sequential
from xdsl_tvm.passes.infra.compiler_pass import PassRun
from xdsl_tvm.passes.infra.module_symbols import (
    SymbolNames,
    UniqueNames,
    module_symbols,
    named_symbols,
)
from xdsl_tvm.passes.relax._grouped_functions.functions import PRIMITIVE
from xdsl_tvm.passes.relax._tir_functions.merged_calls import (
    AnyFusedCall,
    NotMergeableError,
    bind_call,
    buffer_parameters,
)
from xdsl_tvm.passes.relax.dead_code_elimination import DeadCodeElimination
from xdsl_tvm.passes.relax.rewriting.call_sites import module_of

_is_call = of_classes(relax.CallOp)
_is_block = of_classes(tir.BlockOp)
_KEPT = ("tir.noalias", "target", "tir.is_scheduled")
"""Attributes that the function made has where all parts have them alike."""


@dataclass(frozen=True)
class FuseTIR(CompilerPass):
    """Summary: Makes one TIR function of each function that `relax-fuse-ops` has made.

    TVM name: relax.FuseTIR (v0.20)
    Input form: functions with `Primitive` hold `relax.call_tir`, `relax.get_item`,
        `relax.call_tir_inplace`, `relax.tuple`, `relax.alias`, `relax.constant`, shapes
        and numbers
    Output form: the same without functions with `Primitive` that are called, and without
        dead code (`relax-dead-code-elimination`)
    Options: none
    Rewrites: before

            %b = relax.call @fused_add_exp(%x, %y) : (!t, !t) -> !t
            relax.func @fused_add_exp(%x: !t, %y: !t) -> !t
                attributes {Primitive = 1 : i32} {
              %a = relax.call_tir @add(%x, %y) : (!t, !t) -> !t
              %b = relax.call_tir @exp(%a) : (!t) -> !t
              relax.return %b : !t
            }

        after

            %b = relax.call_tir @fused_add_exp(%x, %y) : (!t, !t) -> !t
            tir.func @fused_add_exp(...) {
              %x = tir.match_buffer ...
              tir.block "root" {
                %a = tir.alloc_buffer "a" : !tir.buffer<4xf32>
                // the loops of @add, from %x and %y to %a
                // the loops of @exp, from %a to the result
              }
            }

        Parameters are the tensors that are used, fields of tuples one by one, then
        constants, which are made before each call, then the results, then as `i64` the
        symbols that none of these has as a dimension. A result
        that is an argument written in place is that argument, and the call a
        `relax.call_tir_inplace`. Blocks of one name are numbered. A call passes symbols
        as `tir_vars`. Time is linear in the size of the module and of what is made.
    Leaves alone: functions without `Primitive`; those that nothing calls; calls of others
    Errors: a function with `Primitive` that holds another operation, that returns a
        parameter or a constant as it came or one tensor twice, that writes a constant,
        or that calls what cannot be merged: no TIR function with a body, one that returns
        by `tir.ret`, a parameter that is no compact buffer, a tensor that is not provably
        of the shape that is taken; a call
        whose symbols are not known
    Attributes: read: `Primitive`; created: `tir.noalias`, `target` and `tir.is_scheduled`
        of TIR functions whose parts all have them alike, without `tir.noalias` where one
        of several parameters is written in place; removed: none
    Differs from TVM: tuples and unused parameters are taken care of here, without
        ExpandTupleArguments and RemoveUnusedParameters. A tensor that is not provably of
        the shape that a part takes is an error, where TVM indexes one shape as another.
        The name of a function that stays, because it is public or passed as a value, is
        not taken over. Buffers between parts are before those of the parts.
    """

    name = "relax-fuse-tir"
    is_composite = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self._steps().apply(ctx, op)

    def transform(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        return self._steps().transform(module, run)

    def _steps(self) -> Sequential:
        return Sequential([_FuseTIRInner(), DeadCodeElimination()], name=self.info.name)


@dataclass(frozen=True)
class _FuseTIRInner(CompilerPass):
    """The first step, under TVM's name, so that a `PassContext` can tell them apart."""

    name = "relax-_fuse-tir-inner"
    tvm_name = "FuseTIRInner"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = module_symbols(op)
        calls = dict[str, list[relax.CallOp]]()
        others = set[str]()
        for inner in all_ops(op):
            if _is_call(inner) and module_of(inner) is op:
                calls.setdefault(inner.callee.root_reference.data, []).append(inner)
            else:
                others.update(named_symbols(inner))
        names = SymbolNames(op)
        for name, uses in calls.items():
            primitive = symbols.get(name)
            if not isinstance(primitive, relax.FuncOp) or not is_primitive(primitive):
                continue
            kernel = _Kernel(primitive, symbols)
            is_free = name not in others and "global_symbol" not in primitive.attributes
            function = kernel.build(name if is_free else names.unique(name))
            function.location = primitive.location
            op.body.block.insert_op_before(function, primitive)
            if is_free:
                Rewriter.erase_op(primitive)
            for use in uses:
                kernel.replace(use, function.sym_name.data)


def is_primitive(func: relax.FuncOp) -> bool:
    """Whether a function is to become one kernel."""
    return is_set(func.attributes.get(PRIMITIVE))


@dataclass(eq=False)
class _Buffer:
    """A tensor of the function."""

    info: TensorInfo
    name: str
    path: tuple[int, ...] = ()
    """For a parameter, its position, and then those of the fields that lead to it."""
    is_written: bool = False
    value: SSAValue | None = None
    """The buffer in the TIR function."""


_Structure: TypeAlias = "_Buffer | tuple[_Structure, ...] | None"
"""A tensor, a tuple, or something that is no memory."""


@dataclass(frozen=True)
class _Part:
    """A call in the function: what is called, for which symbols, on which buffers."""

    callee: tir.FuncOp
    values: dict[SSAValue, Dim]
    buffers: list[_Buffer]


class _Kernel:
    """What a function with `Primitive` computes, and the TIR function for it."""

    def __init__(self, primitive: relax.FuncOp, symbols: dict[str, Operation]) -> None:
        self._name = primitive.sym_name.data
        self._symbols = symbols
        self._inputs = tuple(primitive.function_type.inputs)
        self._output_type = primitive.output_type
        self._parts = list[_Part]()
        self._made = dict[_Buffer, None]()
        """The tensors that calls return, in order."""
        self._structures = dict[SSAValue, _Structure]()
        self._constants = list[tuple[relax.ConstantOp, _Buffer]]()
        self._arity = len(primitive.args)
        for arg in primitive.args:
            name = f"p_{arg.name_hint or arg.index}"
            self._structures[arg] = _parameter(arg.type, name, (arg.index,))
        self._visit_block(primitive.body.block)
        self._outputs = self._checked_outputs(primitive)
        used = {buffer for part in self._parts for buffer in part.buffers}
        leaves = [leaf for arg in primitive.args for leaf in self._leaves(arg)]
        leaves += [buffer for _, buffer in self._constants]
        if any(buffer.is_written for _, buffer in self._constants):
            raise self._failure("writes a constant in place; copy it first")
        self._params = [leaf for leaf in leaves if leaf in used]
        self._new = [leaf for leaf in self._outputs if not leaf.path]
        self._scalars = self._unbound_symbols()

    # ---- what the function does ----

    def _leaves(self, value: SSAValue) -> list[_Buffer]:
        return list(_leaves(self._structures[value]))

    def _visit_block(self, block: Block) -> None:
        for op in block.ops:
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        structures = self._structures
        match op:
            case relax.DataflowOp():
                self._visit_block(op.body.block)
                for result, value in zip(op.outputs, op.output_op.values, strict=True):
                    structures[result] = structures[value]
            case relax.CallTIROp() | relax.CallTIRInplaceOp():
                self._visit_call(op)
            case relax.TupleOp():
                structures[op.result] = tuple(structures[e] for e in op.elements)
            case relax.GetItemOp():
                fields = structures[op.tuple_value]
                assert isinstance(fields, tuple), "verified"
                structures[op.result] = fields[op.index.value.data]
            case relax.AliasOp():
                structures[op.result] = structures[op.value]
            case relax.ConstantOp():
                path = (self._arity + len(self._constants),)
                name = f"p_{op.result.name_hint or 'const'}"
                buffer = _parameter(op.result.type, name, path)
                assert isinstance(buffer, _Buffer), "verified"
                structures[op.result] = buffer
                # The function is erased before it is called.
                self._constants.append((op.clone(), buffer))
            case relax.ShapeOp() | relax.PrimValueOp():
                structures[op.result] = None
            case relax.OutputOp() | relax.ReturnOp():
                pass
            case _:
                raise self._failure(
                    f"holds {op.name}, which is no part of a kernel; it may hold calls "
                    "of TIR functions and tuples of their results"
                )

    def _visit_call(self, call: AnyFusedCall) -> None:
        target = self._symbols.get(call.callee.root_reference.data)
        try:
            values = bind_call(call, target)
        except NotMergeableError as error:
            raise self._failure(
                f"holds {call.name} that cannot be merged: {error}"
            ) from None
        assert isinstance(target, tir.FuncOp)
        given = [self._structures[argument] for argument in call.arguments]
        results = list[_Buffer]()
        for place, info in zip(call.output_arguments, call.outputs, strict=True):
            buffer = _Buffer(info, call.result.name_hint or "T") if place < 0 else None
            if buffer is None:
                buffer = given[place]
                assert isinstance(buffer, _Buffer), "bound"
                buffer.is_written = True
            else:
                self._made[buffer] = None
            results.append(buffer)
        places = call.output_arguments
        new = [b for place, b in zip(places, results, strict=True) if place < 0]
        buffers = [buffer for buffer in given if isinstance(buffer, _Buffer)]
        self._parts.append(_Part(target, values, [*buffers, *new]))
        is_tuple = isinstance(call.result.type, TupleType)
        self._structures[call.result] = tuple(results) if is_tuple else results[0]

    def _checked_outputs(self, primitive: relax.FuncOp) -> list[_Buffer]:
        outputs = self._leaves(primitive.return_op.value)
        if len(set(outputs)) != len(outputs):
            raise self._failure("returns one tensor twice; return it once")
        if any(leaf.path and not leaf.is_written for leaf in outputs):
            raise self._failure(
                "returns a parameter or a constant as it is; use that itself"
            )
        if output_infos(primitive.return_op.value.type) is None:
            raise self._failure(
                f"returns {primitive.return_op.value.type}, which is no tensor or tuple "
                "of tensors of known shape"
            )
        return outputs

    def _unbound_symbols(self) -> list[str]:
        """The symbols that no buffer of a parameter has as a dimension by itself."""
        dims = [dim for b in self._all_buffers() for dim in b.info.shape or ()]
        dims += [dim for part in self._parts for dim in part.values.values()]
        bound = set(self._bound_symbols())
        return [s for s in dict.fromkeys(symbols_of(dims)) if s not in bound]

    def _bound_symbols(self) -> dict[str, None]:
        matched = (*self._params, *self._new)
        names = (dim.symbol_name for b in matched for dim in b.info.shape or ())
        return dict.fromkeys(name for name in names if name is not None)

    def _all_buffers(self) -> Iterator[_Buffer]:
        yield from self._params
        yield from self._made

    def _failure(self, message: str) -> PassFailedException:
        return PassFailedException(f"{FuseTIR.name}: relax.func @{self._name} {message}")

    # ---- the TIR function ----

    def build(self, name: str) -> tir.FuncOp:
        """The TIR function, called `name`; to be built once."""
        matched = [*self._params, *self._new]
        types: list[Attribute] = [*(tir.HandleType() for _ in matched)]
        types += [i64 for _ in self._scalars]
        entry, root = Block(arg_types=types), Block()
        dims = _Dims(entry)
        for symbol, arg in zip(self._scalars, entry.args[len(matched) :], strict=True):
            set_name_hint(arg, symbol)
            dims.symbols[symbol] = arg
        for symbol in self._bound_symbols():
            dims.declare(symbol)
        for number, output in enumerate(self._new):
            output.name = f"p_output{number}"
        for buffer, arg in zip(matched, entry.args, strict=False):
            shape_type, extents = dims.shape(buffer.info)
            arg.name_hint = f"{buffer.name}_handle"
            match_op = tir.MatchBufferOp(
                arg,
                shape_type,
                extents,
                name=buffer.name,
                index_type=None if extents else i64,
            )
            entry.add_op(match_op)
            buffer.value = match_op.buffer
            set_name_hint(buffer.value, buffer.name)
        for buffer in self._made:
            if buffer.value is None:
                self._allocate(buffer, dims, root)
        for part in self._parts:
            _copy_body(part, dims, root)
        entry.add_op(tir.BlockOp(ROOT, body=Region(root)))
        function = tir.FuncOp(
            name,
            (types, []),
            Region(entry),
            attributes=self._kept_attributes(),
            param_names=[*(buffer.name for buffer in matched), *self._scalars],
        )
        _number_blocks(function)
        return function

    def _allocate(self, buffer: _Buffer, dims: _Dims, root: Block) -> None:
        shape_type, extents = dims.shape(buffer.info)
        alloc = tir.AllocBufferOp(
            shape_type, extents, name=buffer.name, index_type=None if extents else i64
        )
        root.add_op(alloc)
        buffer.value = alloc.buffer
        set_name_hint(buffer.value, buffer.name)

    def _kept_attributes(self) -> dict[str, Attribute]:
        if not self._parts:
            return {}
        first, *others = [part.callee.attributes for part in self._parts]
        kept = {
            key: first[key]
            for key in _KEPT
            if key in first and all(other.get(key) == first[key] for other in others)
        }
        if len(self._params) > 1 and any(param.is_written for param in self._params):
            # What one part writes in place may be what another one has read before.
            kept.pop("tir.noalias", None)
        return kept

    # ---- calls of it ----

    def replace(self, use: relax.CallOp, name: str) -> None:
        """Call the TIR function in the place of a call of the Relax function."""
        assert use.result is not None, "verified"
        new = list[Operation]()
        arguments = [self._argument(use, buffer.path, new) for buffer in self._params]
        given = [argument.type for argument in use.arguments]
        tir_vars = (
            self._solved(ShapeType.of(self._scalars), given) if self._scalars else None
        )
        type_ = use.result.type
        if output_infos(type_) is None:
            func = FuncType.of(self._inputs, self._output_type)
            type_ = infer_call(f"relax.func @{self._name}", func, given)
        places = [
            self._params.index(output) if output.path else -1 for output in self._outputs
        ]
        dims = None if tir_vars is None else tir_vars.known
        call: relax.CallTIROp | relax.CallTIRInplaceOp
        if all(place < 0 for place in places):
            call = relax.CallTIROp(name, arguments, type_, dims)
        else:
            call = relax.CallTIRInplaceOp(name, arguments, type_, places, dims)
        call.attributes.update(use.attributes)
        new.append(call)
        if type_ != use.result.type:
            new.append(relax.AliasOp(call.result, use.result.type))
        for op in new:
            op.location = use.location
        Rewriter.replace_op(use, new, [new[-1].results[0]])

    def _argument(
        self, use: relax.CallOp, path: Sequence[int], new: list[Operation]
    ) -> SSAValue:
        """The tensor of a parameter, by operations that are added to `new`."""
        first, *fields = path
        if first < self._arity:
            return _field(use.arguments[first], fields, new)
        constant = self._constants[first - self._arity][0].clone()
        new.append(constant)
        return constant.result

    def _solved(self, shape: ShapeType, given: Sequence[Attribute]) -> ShapeType:
        """A shape of the function's symbols, as the call that passes `given` has it."""
        func = FuncType.of(self._inputs, shape)
        found = infer_call(f"relax.func @{self._name}", func, given)
        assert isinstance(found, ShapeType)
        if found.known is None:
            raise self._failure(
                f"is called with tensors that do not tell {', '.join(self._scalars)}; "
                "use relax.match_cast on them"
            )
        return found


def _parameter(type_: Attribute, name: str, path: tuple[int, ...]) -> _Structure:
    if isinstance(type_, TupleType):
        return tuple(
            _parameter(field, f"{name}_{index}", (*path, index))
            for index, field in enumerate(type_.fields.data)
        )
    info = TensorInfo.of(type_)
    return None if info is None else _Buffer(info, name, path)


def _leaves(structure: _Structure) -> Iterator[_Buffer]:
    if isinstance(structure, _Buffer):
        yield structure
    for part in structure if isinstance(structure, tuple) else ():
        yield from _leaves(part)


def _field(value: SSAValue, path: Sequence[int], new: list[Operation]) -> SSAValue:
    """A field of a field of a tuple, by operations that are added to `new`."""
    for index in path:
        if isinstance(value.owner, relax.TupleOp):
            value = value.owner.elements[index]
        else:
            item = relax.GetItemOp(value, index)
            new.append(item)
            value = item.result
    return value


class _Dims:
    """Dimensions as values of a TIR function, computed at its start."""

    def __init__(self, entry: Block) -> None:
        self.symbols = dict[str, SSAValue]()
        self._builder = Builder(InsertPoint.at_end(entry))
        self._values = dict[Expr, SSAValue]()

    def declare(self, symbol: str) -> None:
        """Let `symbol` be what the shapes of the parameters bind."""
        variable = self._builder.insert(tir.ShapeVarOp(symbol, i64))
        set_name_hint(variable.result, symbol)
        self.symbols[symbol] = variable.result

    def value(self, dim: Dim, dtype: Attribute = i64) -> SSAValue:
        """A dimension as a number of type `dtype`."""
        tree = dim.fold(
            lambda number: smart.const(number, i64),
            lambda name: Value(self.symbols[name]),
            lambda operator, lhs, rhs: _APPLY[operator](lhs, rhs),
        )
        return emit(smart.cast(dtype, tree), self._builder, self._values)

    def shape(self, info: TensorInfo) -> tuple[tir.BufferType, list[SSAValue]]:
        """The type of a buffer for the tensor, and its extents that are no numbers."""
        dims = info.shape or ()
        static = [DYNAMIC_INDEX if dim.value is None else dim.value for dim in dims]
        dynamic = [self.value(dim) for dim in dims if dim.value is None]
        assert info.dtype is not None, "bound"
        return tir.BufferType(static, info.dtype), dynamic


_APPLY = {
    "+": smart.add,
    "*": smart.mul,
    "floordiv": smart.floordiv,
    "floormod": smart.floormod,
    "min": smart.minimum,
    "max": smart.maximum,
}


def _copy_body(part: _Part, dims: _Dims, root: Block) -> None:
    """Append what a function does to the block that holds all parts."""
    copies = dict[SSAValue, SSAValue]()
    for match_op, buffer in zip(
        buffer_parameters(part.callee), part.buffers, strict=True
    ):
        assert buffer.value is not None, "built"
        copies[match_op.buffer] = buffer.value
    for variable, dim in part.values.items():
        copies[variable] = dims.value(dim, variable.type)
    for op in part.callee.body.block.ops:
        if isinstance(op, tir.MatchBufferOp | tir.ShapeVarOp):
            continue
        root.add_ops([each.clone(copies) for each in _statements(op)])


def _statements(op: Operation) -> Iterable[Operation]:
    """The operation, or what it holds if it is a block that does nothing else."""
    if not isinstance(op, tir.BlockOp) or not _is_root(op):
        return (op,)
    declared = tir.ReadsOp | tir.WritesOp
    return [each for each in op.body.block.ops if not isinstance(each, declared)]


def _is_root(op: tir.BlockOp) -> bool:
    return (
        op.is_opaque
        and op.block_name.data == ROOT
        and op.predicate is None
        and not op.annotations
        and not op.attributes
    )


def _number_blocks(function: tir.FuncOp) -> None:
    """Let no two blocks have one name."""
    names = UniqueNames()
    for op in filter(_is_block, all_ops(function)):
        if op.block_name.data:
            op.block_name = StringAttr(names.unique(op.block_name.data))
