"""Modules of Relax functions, cut into units that are compiled apart.

A unit is a kernel, which is a TIR function that Relax functions call, or all that is
left: the callers, whose kernels are declared only. Each is a module that is lowered by
the pipeline of `lowering/pipelines.py` and becomes an object file. A kernel is called by
its lowered signature alone, so its unit depends on nothing of its callers.

Kernels that the caller does not export are named after their content: equal kernels of
one module, or of two, are one unit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.lowering.llvm_ir import llvm_ir
from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.lowering.pipelines import (
    llvm_pipeline,
    refuse_foreign,
    relax_optimization,
    run_pipeline,
)
from xdsl_tvm.lowering.progress import Progress
from xdsl_tvm.lowering.relax.convert_to_memref import convert_relax_functions
from xdsl_tvm.lowering.tir.conversion.functions import converted_type
from xdsl_tvm.lowering.tir.conversion.types import GENERIC_SPACE
from xdsl_tvm.lowering.to_llvm.convert_func_to_llvm import convert_signature
from xdsl_tvm.passes.infra.module_symbols import named_symbols

Naming = Callable[[ModuleOp], str]
"""The digest of a module, which becomes part of a symbol."""

CALLERS = "the functions that call kernels"
"""The name of the unit that holds no kernel."""

_ANY_NAME = "kernel"

_is_call = of_classes(func.CallOp)
_is_assertion = of_classes(tir.AssertOp)


@dataclass
class Unit:
    """A part of a module that becomes one object file."""

    name: str
    """What messages call it: the name of the kernel in the module, or `CALLERS`."""
    module: ModuleOp
    """Not lowered yet, below Relax."""
    symbol: str | None = None
    """The symbol of the kernel; None for the callers."""
    declared: FunctionType | None = None
    """The type by which the kernel is called."""
    kept: ModuleOp | None = None
    """TIR functions that are lowered to memrefs first, and then join the module."""
    size: int = field(init=False)
    """The number of operations."""
    effort: int = field(init=False)
    """About how long it takes to compile, in the time of an ordinary operation."""

    def __post_init__(self) -> None:
        ops = all_ops(self.module)
        if self.kept is not None:
            ops += all_ops(self.kept)
        self.size = len(ops)
        self.effort = self.size + max(map(_effort_of_schedule, ops), default=0)

    def lower(
        self,
        ctx: Context,
        vector_bytes: int,
        data: list[Datum] | None = None,
        *,
        features: str = "",
    ) -> str:
        """Lowers the unit, in place; its LLVM IR. See `llvm_pipeline`.

        With `data`, large constants of the callers are appended to it, and declared only
        in the text. Those of kernels stay: names of theirs are not unique.

        Raises what the passes raise, with the kernel's name in the module, and
        PassFailedException where they change the signature of the kernel.
        """
        try:
            self._join(ctx, vector_bytes, features)
            text = llvm_pipeline(vector_bytes=vector_bytes, features=features)
            run_pipeline(ctx, self.module, text)
            self._check_signature()
            return llvm_ir(ctx, self.module, data=data if self.symbol is None else None)
        except Exception as error:
            if self.symbol is None or self.symbol == self.name:
                raise
            text = str(error)
            if self.symbol not in text:
                raise
            raise type(error)(text.replace(self.symbol, self.name)) from error

    def _join(self, ctx: Context, vector_bytes: int, features: str) -> None:
        if self.kept is None:
            return
        text = llvm_pipeline(
            vector_bytes=vector_bytes, until_memref=True, features=features
        )
        run_pipeline(ctx, self.kept, text)
        defined = list(self.kept.body.ops)
        names = {op.sym_name.data for op in defined if isinstance(op, func.FuncOp)}
        for op in list(self.module.body.ops):
            if isinstance(op, func.FuncOp) and op.sym_name.data in names:
                Rewriter.erase_op(op)
        for op in defined:
            op.detach()
            self.module.body.block.add_op(op)

    def _check_signature(self) -> None:
        if self.declared is None:
            return
        for op in self.module.body.ops:
            if isinstance(op, llvm.FuncOp) and op.sym_name.data == self.symbol:
                if op.function_type == convert_signature(op, self.declared):
                    return
                raise PassFailedException(
                    f"tir.func @{self.symbol}: the passes change its signature to "
                    f"{op.function_type}, but it is called as {self.declared}; keep the "
                    "types of its parameters"
                )
        raise PassFailedException(
            f"tir.func @{self.symbol}: the passes erase it, but it is called"
        )


_REDUCED = 120
_TRANSPOSED = 180
"""Operations that take about as long as the loops that the schedule makes of a block."""


def _effort_of_schedule(op: Operation) -> int:
    """What a block adds: reductions and transpositions become many loops."""
    if not isinstance(op, tir.BlockOp):
        return 0
    if any(kind.data is tir.IterKind.REDUCE for kind in op.iter_kinds):
        return _REDUCED
    inner = list(op.body.ops)
    # The last dimension is that of vectors.
    last = {
        index
        for each in inner
        if isinstance(each, tir.StoreOp)
        for index in each.indices[-1:]
    }
    loads = [each for each in inner if isinstance(each, tir.LoadOp)]
    is_transposed = any(last.intersection(load.indices[:-1]) for load in loads)
    return _TRANSPOSED * is_transposed


def lower_to_units(
    ctx: Context,
    module: ModuleOp,
    exports: Collection[str],
    digest: Naming,
    *,
    vector_bytes: int,
    winograd_tile: int = 2,
    profile: bool = False,
    progress: Progress | None = None,
    features: str = "",
) -> list[Unit]:
    """Lowers the Relax functions of a module, and cuts it into units.

    The module is lowered in place, and becomes the last unit; kernels come before it in
    their order, equal ones once. Functions in `exports` keep their names. A TIR function
    with assertions, whose messages are numbered in all of a module, stays with the
    callers, and so does one that names other symbols or that anything but a lowered Relax
    function names.

    Raises PassFailedException where something of Relax has no lowering for the CPU.
    """
    refuse_foreign(module)
    run_pipeline(
        ctx, module, relax_optimization(vector_bytes, winograd_tile, features), progress
    )
    convert_relax_functions(module, profile=profile)
    kernels, kept = _kernels(module)
    units: dict[str, Unit] = {}
    renamed: dict[str, str] = {}
    for kernel in kernels:
        unit = _cut(kernel, exports, digest)
        assert unit.symbol is not None
        units.setdefault(unit.symbol, unit)
        renamed[unit.name] = unit.symbol
    _rename_callees(module, renamed)
    _erase_equal_declarations(module)
    for function in kept:
        _declare_in_place_of(function)
    apart = ModuleOp(Region(Block(kept))) if kept else None
    return [*units.values(), Unit(CALLERS, module, kept=apart)]


def _kernels(module: ModuleOp) -> tuple[list[tir.FuncOp], list[tir.FuncOp]]:
    """The TIR functions that lowered Relax functions alone refer to, and the others."""
    functions: list[tir.FuncOp] = []
    alone: set[str] = set()
    named: set[str] = set()
    called: set[str] = set()
    for top in module.body.ops:
        ops = all_ops(top)
        own: set[str] = set()
        for op in ops:
            if _is_call(op) and isinstance(top, func.FuncOp):
                called.add(op.callee.root_reference.data)
            else:
                own.update(named_symbols(op))
        named |= own
        if isinstance(top, tir.FuncOp):
            functions.append(top)
            if not top.is_declaration and not own and not any(map(_is_assertion, ops)):
                # It needs nothing of its module.
                alone.add(top.sym_name.data)
    names = (alone & called) - named
    kernels = [function for function in functions if function.sym_name.data in names]
    return kernels, [each for each in functions if each.sym_name.data not in names]


def is_alone(ops: list[Operation]) -> bool:
    """Whether the ops of a function need nothing of their module."""
    return not any(_is_assertion(op) or any(named_symbols(op)) for op in ops)


def _cut(kernel: tir.FuncOp, exports: Collection[str], digest: Naming) -> Unit:
    """Moves a kernel to a unit, and leaves a declaration."""
    name = kernel.sym_name.data
    declared = _declare_in_place_of(kernel)
    module = ModuleOp(Region(Block([kernel])))
    symbol = name
    if name not in exports:
        _set_name(kernel, _ANY_NAME)
        symbol = f"tvm_kernel_{digest(module)}"
    _set_name(kernel, symbol)
    return Unit(name, module, symbol, declared)


def _declare_in_place_of(function: tir.FuncOp) -> FunctionType:
    """Detaches a function, and leaves a declaration of this type."""
    type_ = converted_type(function, GENERIC_SPACE)
    declaration = func.FuncOp.external(
        function.sym_name.data, list(type_.inputs), list(type_.outputs)
    )
    declaration.location = function.location
    block = function.parent
    assert block is not None
    block.insert_op_before(declaration, function)
    function.detach()
    return type_


def _set_name(kernel: tir.FuncOp, name: str) -> None:
    kernel.properties["sym_name"] = StringAttr(name)
    kernel.attributes["global_symbol"] = StringAttr(name)


def _rename_callees(module: ModuleOp, renamed: dict[str, str]) -> None:
    for op in all_ops(module):
        if isinstance(op, func.CallOp):
            symbol = renamed.get(op.callee.root_reference.data)
            if symbol is not None:
                op.callee = SymbolRefAttr(symbol)
        elif isinstance(op, func.FuncOp) and not op.body.blocks:
            symbol = renamed.get(op.sym_name.data)
            if symbol is not None:
                op.sym_name = StringAttr(symbol)


def _erase_equal_declarations(module: ModuleOp) -> None:
    seen: set[str] = set()
    for op in list(module.body.ops):
        if isinstance(op, func.FuncOp) and not op.body.blocks:
            if op.sym_name.data in seen:
                Rewriter.erase_op(op)
            seen.add(op.sym_name.data)
