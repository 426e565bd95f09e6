"""TIR functions are told which of their buffers hold weights and constants."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, i32
from xdsl.dialects.builtin import IntegerAttr as Integer
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.memory_sharing import (
    Writers,
    written_operands,
)
from xdsl_tvm.analysis.structural_equal import structural_equal, structural_hash
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.sharing import memory_sources
from xdsl_tvm.dialects.tir.annotations import integer_of, list_items
from xdsl_tvm.passes.infra import CompilerPass, Sequential
from xdsl_tvm.passes.infra.module_symbols import SymbolNames, module_symbols
from xdsl_tvm.passes.relax.dead_code_elimination import DeadCodeElimination

LAYOUT_FREE_BUFFERS = "layout_free_buffers"
NUM_INPUT = "num_input"


@dataclass(frozen=True)
class AttachAttrLayoutFreeBuffers(CompilerPass):
    """Summary: Tells TIR functions which of their buffers hold weights and constants,
        whose layout may be changed before the program runs.

    TVM name: relax.AttachAttrLayoutFreeBuffers (v0.20)
    Input form: any; meant for after fusion and before the layout of buffers is chosen
    Output form: the same, where every function that `relax.call_tir` calls has the
        attribute `layout_free_buffers`, and without dead code
        (`relax-dead-code-elimination`)
    Options: none
    Rewrites: before

            relax.func @main(%x: !t, %w: !t) -> !t attributes {num_input = 1, ...} {
              %r = relax.call_tir @matmul(%x, %w) : (!t, !t) -> !t
              ...
            }
            tir.func @matmul(...) { ... }

        after

            relax.func @main(%x: !t, %w: !t) -> !t attributes {num_input = 1, ...} {
              %r = relax.call_tir @matmul1(%x, %w) : (!t, !t) -> !t
              ...
            }
            tir.func @matmul1(...) attributes {layout_free_buffers = [1 : i32]} { ... }

        The list holds the positions of arguments that are a parameter of the function
        from `num_input` on, or the result of a constant, in ascending order; it may be
        empty. Calls with equal lists share one copy of a function, and so do calls of
        structurally equal functions. A copy is private; its name is that of the original
        with the least number that makes it new. A function with the list already is
        called as it is. Then dead code is removed, and with it the originals that have
        lost their callers. Time is linear in the size of the module and of the copies.
    Leaves alone: calls of other kinds and the functions that only they call; values that
        are computed from parameters or constants, other names for them included; public
        originals; calls of declarations; nested modules
    Errors: a `relax.call_tir` of something other than a `tir.func` of the module; a
        `num_input` that is no integer of at least 0, or that a function within a function
        has
    Attributes: read: `num_input` of Relax functions; created: `layout_free_buffers` on
        copies of TIR functions; removed: `global_symbol` from copies
    Differs from TVM: a constant counts wherever it is: TVM sees it only if it is
        written as the argument itself, not if it was bound to a variable before. The
        symbolic dimensions that a call passes are kept, which TVM drops. Parameters and
        constants whose memory an operation may write, also through another name, are not
        listed. A copy of a public function has no `global_symbol`, for two functions
        cannot have one symbol. A function within a function may not have `num_input` at
        all, where TVM takes it as long as nothing was found before.
    """

    name = "relax-attach-attr-layout-free-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        steps = Sequential([_AttachAttr(), DeadCodeElimination()], name=self.info.name)
        steps.apply(ctx, op)


@dataclass(frozen=True)
class _AttachAttr(CompilerPass):
    """The first step, under TVM's name, so that a `PassContext` can tell them apart."""

    name = "relax-_attach-attr-layout-free-buffers"
    tvm_name = "_AttachAttrLayoutFreeBuffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        copies, writers = _Copies(op), Writers(op)
        for func in list(op.ops):
            if isinstance(func, relax.FuncOp) and func.body.blocks:
                _attach(func, copies, writers)


def _attach(func: relax.FuncOp, copies: _Copies, writers: Writers) -> None:
    weights = _weights(func)
    calls = list[relax.CallTIROp]()
    for op in func.walk():
        if isinstance(op, relax.CallTIROp):
            calls.append(op)
        elif op is not func and NUM_INPUT in op.attributes:
            raise _failure(
                f"{op.name} in @{func.sym_name.data} has {NUM_INPUT}, but only functions "
                "of the module have weights; move it to the module or drop the attribute"
            )
    written = _written(func, writers) if calls else set[SSAValue]()
    for call in calls:
        free = [
            index
            for index, value in enumerate(call.arguments)
            if (value in weights or _is_constant(value)) and value not in written
        ]
        call.callee = copies.with_list(call, tuple(free))


def _weights(func: relax.FuncOp) -> frozenset[SSAValue]:
    """The parameters that are known before the function is called."""
    if (attribute := func.attributes.get(NUM_INPUT)) is None:
        return frozenset()
    number = integer_of(attribute)
    if number is None or number < 0:
        raise _failure(
            f"relax.func @{func.sym_name.data} has {NUM_INPUT} = {attribute}, which is "
            "no number of parameters; give an integer of at least 0"
        )
    return frozenset(func.args[number:])


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value, OpResult) and value.op.has_trait(
        ConstantLike, value_if_unregistered=False
    )


def _written(func: relax.FuncOp, writers: Writers) -> set[SSAValue]:
    """The values that may share memory with what an operation writes."""
    found = set[SSAValue]()
    work = [value for op in all_ops(func) for value in written_operands(op, writers)]
    while work:
        if (value := work.pop()) not in found:
            found.add(value)
            work += memory_sources(value)
    return found


class _Copies:
    """The copies of TIR functions, and the ones that the module has already."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._symbols = module_symbols(module)
        self._names = SymbolNames(module)
        self._found = dict[tuple[SymbolRefAttr, tuple[int, ...]], SymbolRefAttr]()
        self._by_hash = defaultdict[int, list[tir.FuncOp]](list)
        for op in module.ops:
            if isinstance(op, tir.FuncOp) and LAYOUT_FREE_BUFFERS in op.attributes:
                self._by_hash[structural_hash(op)].append(op)

    def with_list(self, call: relax.CallTIROp, free: tuple[int, ...]) -> SymbolRefAttr:
        """The symbol of the function that `call` calls, with these buffers listed."""
        key = call.callee, free
        if (found := self._found.get(key)) is None:
            found = self._found[key] = self._make(call, free)
        return found

    def _make(self, call: relax.CallTIROp, free: tuple[int, ...]) -> SymbolRefAttr:
        callee = self._symbols.get(call.callee.root_reference.data)
        if not isinstance(callee, tir.FuncOp):
            what = "no symbol of the module" if callee is None else f"a {callee.name}"
            raise _failure(
                f"{call.name} calls {call.callee}, which is {what}; it must be a tir.func"
            )
        listed = _listed(callee.attributes.get(LAYOUT_FREE_BUFFERS))
        if callee.is_declaration or listed == list(free):
            return call.callee
        copy = callee.clone()
        copy.attributes.pop("global_symbol", None)
        copy.attributes[LAYOUT_FREE_BUFFERS] = ArrayAttr([Integer(i, i32) for i in free])
        return SymbolRefAttr(self._shared(copy, callee.sym_name.data).sym_name)

    def _shared(self, copy: tir.FuncOp, base: str) -> tir.FuncOp:
        """The function that is equal to `copy`, which is added where there is none."""
        equal = self._by_hash[structural_hash(copy)]
        for other in equal:
            if structural_equal(other, copy):
                return other
        copy.sym_name = StringAttr(self._names.unique(base))
        self._module.body.block.add_op(copy)
        equal.append(copy)
        return copy


def _listed(attribute: Attribute | None) -> list[int | None] | None:
    items = None if attribute is None else list_items(attribute)
    return None if items is None else [integer_of(item) for item in items]


def _failure(message: str) -> PassFailedException:
    return PassFailedException(f"{AttachAttrLayoutFreeBuffers.name}: {message}")
