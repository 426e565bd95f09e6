"""Symbolic dimensions become numbers in a tensor, which checks at run time fill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import (
    FloatAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.relax.algebra import is_base_of
from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import (
    FuncType,
    PrimType,
    ShapeType,
    TensorInfo,
    TupleType,
)
from xdsl_tvm.dialects.relax.vm_shapes import MatchCode, ShapeCode
from xdsl_tvm.dialects.tir.data_types import data_type
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import SymbolNames
from xdsl_tvm.passes.relax.compute_prim_value import emitted
from xdsl_tvm.passes.relax.rewriting.bindings import allow_effects
from xdsl_tvm.passes.relax.rewriting.signatures import input_count


@dataclass(frozen=True)
class VMShapeLower(CompilerPass):
    """Summary: Checks arguments and casts at run time, and computes dimensions in a
        tensor of integers.

    TVM name: relax.VMShapeLower (v0.20)
    Input form: no dataflow blocks (`relax-to-non-dataflow`) and no function literals
        (`relax-lambda-lift`)
    Output form: the same; shapes and scalars with symbols are made by calls of the
        runtime
    Options: `emit_err_ctx`: write to each check what it checks, as the attribute
        `err_ctx` (true)
    Rewrites: before

            relax.func @main<n>(%x: tensor<?x2xf32, #relax.dims<[n, 2]>>) -> ... {
              %s = relax.shape [n * 2]

        after

            relax.func @main<n>(%x: tensor<?x2xf32, #relax.dims<[n, 2]>>) -> ... {
              %heap = relax.call_builtin_with_ctx "vm.builtin.alloc_shape_heap"(%two) ...
              relax.call_packed "vm.builtin.check_tensor_info"(%x, %rank, %code, %bits)
              relax.call_packed "vm.builtin.match_shape"(%x, %heap, %rank,
                %store, %slot0, %equals, %two) ...
              relax.call impure @shape_func(%heap) : (tensor<2xi64>) -> ()
              %s = relax.call_packed "vm.builtin.make_shape"(%heap, %one, %load, %slot1)
                : ... -> !relax.shape<[n * 2]>

        Every dimension but a number has a slot of the heap. Parameters are checked at
        the start, weights from `num_input` on only if they have symbols. An extent that
        is a symbol by itself is stored where it occurs first; others are compared, once
        all that they depend on is known, and host functions `shape_func` compute the
        expressions between. Casts that are not known to succeed are checked after them,
        and the result before it is returned. Where nothing has a slot, the heap is
        `relax.null_value`. Time is linear in the size of the module, times the most
        symbols of a function.
    Leaves alone: types, which go on to name symbols; declarations; nested modules
    Errors: a dataflow block; a function literal; a `num_input` that is no number of
        parameters; a dimension whose symbols nothing defines
    Attributes: read: `num_input`; created: `err_ctx` on checks, `relax.force_pure` on
        pure functions, `tir.is_host_func` on the new functions; removed: none
    Differs from TVM: a dtype is passed as its code and its bits in DLPack, -1 and 0
        where it is unknown, since dtypes are no values of the dialect. An unknown
        dimension beside known ones is skipped.
    """

    name = "relax-vm-shape-lower"

    emit_err_ctx: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [
            func for func in op.ops if isinstance(func, relax.FuncOp) and func.body.blocks
        ]
        for func in functions:
            for inner in func.walk():
                if isinstance(inner, relax.LambdaOp | relax.DataflowOp):
                    is_literal = isinstance(inner, relax.LambdaOp)
                    other = "lambda-lift" if is_literal else "to-non-dataflow"
                    raise PassFailedException(
                        f"{self.name}: {inner.name} in @{func.sym_name.data} cannot be "
                        f"lowered; run relax-{other} first"
                    )
        names = SymbolNames(op)
        for func in functions:
            lowering = _Lowering(op, func, names, self.emit_err_ctx)
            lowering.lower(input_count(func, self.name))


@dataclass
class _Match:
    """Extents of a value that are still to be compared."""

    value: SSAValue
    dims: Dims
    is_scalar: bool
    context: str


@dataclass
class _Scope:
    """What the heap holds at a point of the program."""

    symbols: set[str] = field(default_factory=set[str])
    computed: set[Dim] = field(default_factory=set[Dim])

    def copy(self) -> _Scope:
        return _Scope(set(self.symbols), set(self.computed))


@dataclass
class _Lowering:
    module: ModuleOp
    func: relax.FuncOp
    names: SymbolNames
    emits_context: bool
    slots: dict[Dim, int] = field(default_factory=dict[Dim, int])
    """The places of dimensions in the heap, in the order of the function."""
    heap: SSAValue = field(init=False)

    def lower(self, inputs: int | None) -> None:
        """Lower the function, whose parameters from `inputs` on are weights."""
        block, name = self.func.body.block, self.func.sym_name.data
        for dim in self._dims():
            self.slots.setdefault(dim, len(self.slots))
        first = block.first_op
        assert first is not None, "a block ends with a terminator"
        ops = list(block.ops)
        builder = LocatedBuilder(first, self.func)
        self.heap = self._allocate(builder)
        scope, matches = _Scope(), list[_Match]()
        for arg in self.func.args:
            context = f"ErrorContext(fn={name}, loc=param[{arg.index}])"
            is_weight = inputs is not None and arg.index >= inputs
            if not is_weight or _has_symbols(arg.type):
                self._check(builder, arg, arg.type, None, context, matches)
        self._match(builder, matches, scope)
        self._visit(ops, scope)
        allow_effects(block.first_op or first, VMShapeLower.name)

    def _dims(self) -> Iterator[Dim]:
        """All dimensions that are no numbers, of parameters, body and result."""
        for arg in self.func.args:
            yield from _symbolic(arg.type)
        for op in self.func.body.walk():
            if isinstance(op, relax.ShapeOp | relax.MatchCastOp | relax.PrimValueOp):
                yield from _symbolic(op.result.type)
        yield from _symbolic(self.func.output_type)

    def _allocate(self, builder: LocatedBuilder) -> SSAValue:
        if not self.slots:
            return builder.insert(relax.NullValueOp())
        size = builder.insert(relax.PrimValueOp(len(self.slots)))
        heap = builder.insert(
            relax.CallBuiltinWithCtxOp(
                "vm.builtin.alloc_shape_heap", [size], TensorType(i64, [len(self.slots)])
            )
        )
        heap.name_hint = "shape_heap"
        return heap

    # ---- bodies ----

    def _visit(self, ops: Iterable[Operation], scope: _Scope) -> None:
        for op in ops:
            for region in op.regions:
                for block in region.blocks:
                    self._visit(list(block.ops), scope.copy())
            match op:
                case relax.MatchCastOp():
                    self._cast(op, scope)
                case relax.ShapeOp() if _has_symbols(op.result.type):
                    self._make_shape(op)
                case relax.PrimValueOp() if not isinstance(op.value, FloatAttr):
                    if op.value.data.value is None:
                        self._make_prim_value(op, op.value.data)
                case relax.ReturnOp():
                    self._result(op, scope)
                case _:
                    pass

    def _cast(self, op: relax.MatchCastOp, scope: _Scope) -> None:
        following = op.next_op
        assert following is not None, "a block ends with a terminator"
        builder = LocatedBuilder(following, op)
        name = self.func.sym_name.data
        what = op.result.name_hint or "a cast"
        context = f"ErrorContext(match_cast, fn={name}, struct_info of {what})"
        matches: list[_Match] = []
        # The fields of an object are those of the tuple that it is cast to.
        is_tuple = isinstance(op.result.type, TupleType)
        value, known = op.result if is_tuple else op.value, op.value.type
        self._check(builder, value, op.result.type, known, context, matches)
        self._match(builder, matches, scope)

    def _result(self, op: relax.ReturnOp, scope: _Scope) -> None:
        builder = LocatedBuilder(op)
        context = f"ErrorContext(fn={self.func.sym_name.data}, loc=return)"
        matches: list[_Match] = []
        type_ = self.func.output_type
        self._check(builder, op.value, type_, op.value.type, context, matches)
        self._match(builder, matches, scope)

    def _make_shape(self, op: relax.ShapeOp) -> None:
        dims = op.values.known
        assert dims is not None, "verified"
        builder = LocatedBuilder(op)
        numbers = [len(dims), *(each for dim in dims for each in self._code(dim))]
        values = [self.heap, *self._numbers(builder, numbers)]
        call = relax.CallPackedOp("vm.builtin.make_shape", values, op.result.type)
        self._replace(op, call)

    def _make_prim_value(self, op: relax.PrimValueOp, dim: Dim) -> None:
        values = [self.heap, *self._numbers(LocatedBuilder(op), self._code(dim))]
        call = relax.CallPackedOp("vm.builtin.make_prim_value", values, op.result.type)
        self._replace(op, call)

    def _replace(self, op: Operation, call: relax.CallPackedOp) -> None:
        call.attributes.update(op.attributes)
        call.location = op.location
        assert call.result is not None
        call.result.name_hint = op.results[0].name_hint
        Rewriter.replace_op(op, call)

    def _code(self, dim: Dim) -> tuple[int, int]:
        if dim.value is not None:
            return ShapeCode.NUMBER, dim.value
        return ShapeCode.SLOT, self.slots[dim]

    # ---- checks ----

    def _check(
        self,
        builder: LocatedBuilder,
        value: SSAValue,
        type_: Attribute,
        known: Attribute | None,
        context: str,
        matches: list[_Match],
    ) -> None:
        """Check kind, rank and dtype of a value, unless they are `known`.

        Its extents are noted in `matches`.
        """
        if known is not None and is_base_of(type_, known):
            return
        checks = known is None or not is_base_of(_unsized(type_), known)
        info = TensorInfo.of(type_)
        if info is not None:
            if checks:
                rank = -1 if info.rank is None else info.rank
                numbers = (rank, *_dtype_numbers(info.dtype))
                self._call(builder, "check_tensor_info", [value], numbers, context)
            if info.dims is not None:
                matches.append(_Match(value, info.dims, False, context))
        elif isinstance(type_, ShapeType):
            if checks:
                rank = -1 if type_.values is None else len(type_.values)
                self._call(builder, "check_shape_info", [value], [rank], context)
            if type_.values is not None:
                matches.append(_Match(value, type_.values, False, context))
        elif isinstance(type_, PrimType):
            if checks:
                numbers = _dtype_numbers(type_.dtype)
                self._call(builder, "check_prim_value_info", [value], numbers, context)
            if type_.dim is not None:
                matches.append(_Match(value, (type_.dim,), True, context))
        elif isinstance(type_, TupleType):
            fields = type_.fields.data
            if checks:
                self._call(builder, "check_tuple_info", [value], [len(fields)], context)
            if not isinstance(value.type, TupleType):
                return
            for index, part in enumerate(fields):
                item = builder.insert(relax.GetItemOp(value, index))
                if known is None:
                    inner = None
                elif isinstance(known, TupleType):
                    inner = known.fields.data[index]
                else:
                    inner = relax.OBJECT
                self._check(builder, item, part, inner, context, matches)
        elif isinstance(type_, FuncType) and checks:
            self._call(builder, "check_func_info", [value], [], context)

    def _match(
        self, builder: LocatedBuilder, matches: Sequence[_Match], scope: _Scope
    ) -> None:
        """Compare extents with what is known, and store what they define."""
        pending = list(matches)
        for _ in range(2):
            left = [each for each in pending if self._match_one(builder, each, scope)]
            self._compute(builder, scope)
            pending = left
        if pending:
            unknown = next(
                dim
                for dim in pending[0].dims
                if dim is not None and self._is_new(dim, scope)
            )
            raise PassFailedException(
                f"{VMShapeLower.name}: nothing in @{self.func.sym_name.data} defines the "
                f"symbols of {unknown}; add a parameter that has them as dimensions"
            )

    def _is_new(self, dim: Dim, scope: _Scope) -> bool:
        return dim.value is None and dim not in scope.computed

    def _match_one(self, builder: LocatedBuilder, item: _Match, scope: _Scope) -> bool:
        """Emit what can be done for an item; whether something is left."""
        codes: list[int] = []
        is_left = False
        for dim in item.dims:
            if dim is None:
                codes += MatchCode.SKIP, 0
            elif dim.value is not None:
                codes += MatchCode.EQUALS_NUMBER, dim.value
            elif not self._is_new(dim, scope):
                codes += MatchCode.EQUALS_SLOT, self.slots[dim]
            elif (symbol := dim.symbol_name) is not None:
                scope.symbols.add(symbol)
                scope.computed.add(dim)
                codes += MatchCode.STORE, self.slots[dim]
            else:
                is_left = True
                codes += MatchCode.SKIP, 0
        function = "match_prim_value" if item.is_scalar else "match_shape"
        numbers = codes if item.is_scalar else [len(item.dims), *codes]
        self._call(builder, function, [item.value, self.heap], numbers, item.context)
        return is_left

    def _compute(self, builder: LocatedBuilder, scope: _Scope) -> None:
        """Compute the expressions whose symbols are all known, by a host function."""
        new = [
            dim
            for dim in self.slots
            if dim not in scope.computed and scope.symbols.issuperset(dim.symbols())
        ]
        if not new:
            return
        name = self.names.unique("shape_func")
        func = _shape_function(name, self.slots, new)
        self.module.body.block.add_op(func)
        builder.insert_op(relax.CallOp(name, [self.heap], impure=True))
        scope.computed.update(new)

    def _call(
        self,
        builder: LocatedBuilder,
        function: str,
        values: Sequence[SSAValue],
        numbers: Iterable[int],
        context: str,
    ) -> None:
        operands = [*values, *self._numbers(builder, numbers)]
        call = relax.CallPackedOp(f"vm.builtin.{function}", operands)
        if self.emits_context:
            call.attributes["err_ctx"] = StringAttr(context)
        builder.insert_op(call)

    def _numbers(self, builder: LocatedBuilder, numbers: Iterable[int]) -> list[SSAValue]:
        return [builder.insert(relax.PrimValueOp(int(number))) for number in numbers]


def _symbolic(type_: Attribute) -> Iterator[Dim]:
    """The dimensions in a type that are known and no numbers."""
    if isinstance(type_, TupleType):
        for part in type_.fields.data:
            yield from _symbolic(part)
        return
    dims: Sequence[Dim | None] = ()
    if isinstance(type_, ShapeType):
        dims = type_.values or ()
    elif isinstance(type_, PrimType):
        dims = (type_.dim,)
    elif (info := TensorInfo.of(type_)) is not None:
        dims = info.dims or ()
    yield from (dim for dim in dims if dim is not None and dim.value is None)


def _has_symbols(type_: Attribute) -> bool:
    return next(_symbolic(type_), None) is not None


def _unsized(type_: Attribute) -> Attribute:
    """The type without any dimension, which says what checks of kinds say."""
    if isinstance(type_, TupleType):
        return TupleType.of(map(_unsized, type_.fields.data))
    if isinstance(type_, ShapeType):
        values = type_.values
        return ShapeType.of(None if values is None else [None] * len(values))
    if isinstance(type_, PrimType):
        return PrimType.of(type_.dtype)
    info = TensorInfo.of(type_)
    if info is None or info.dims is None:
        return type_
    return info.with_dims([None] * len(info.dims)).type


def _dtype_numbers(dtype: Attribute | None) -> tuple[int, int]:
    """Code and bits of a dtype in DLPack."""
    if dtype is None:
        return -1, 0
    try:
        found = data_type(dtype)
    except ValueError:
        return -1, 0
    return int(found.code), found.bits


def _shape_function(name: str, slots: dict[Dim, int], dims: Sequence[Dim]) -> tir.FuncOp:
    """A host function that computes slots of the heap from those of symbols."""
    block = Block(arg_types=[tir.HandleType()])
    heap = tir.MatchBufferOp(
        block.args[0], tir.BufferType([len(slots)], i64), name="H", index_type=i64
    )
    set_name_hint(heap.buffer, "H")
    builder = LocatedBuilder(block)
    builder.insert_op(heap)

    def index(dim: Dim) -> SSAValue:
        return builder.insert(tir.ConstOp.of(slots[dim], i64))

    symbols = {name: Dim.symbol(name) for dim in dims for name in dim.symbols()}
    loaded = {
        name: builder.insert(tir.LoadOp(heap.buffer, [index(symbol)]))
        for name, symbol in symbols.items()
    }
    for dim in dims:
        value = emitted(dim, loaded, block)
        builder.insert_op(tir.StoreOp(value, heap.buffer, [index(dim)]))
    func = tir.FuncOp(name, ([tir.HandleType()], []), Region(block))
    func.attributes["tir.is_host_func"] = UnitAttr()
    return func
