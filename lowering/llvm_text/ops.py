"""How each operation of the llvm, `tvm_llvm` and `nvvm` dialects is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    StringAttr,
    VectorType,
    i1,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import nvvm, tvm_llvm
from xdsl_tvm.dialects.all_ops import ops_in
from xdsl_tvm.dialects.by_identity import by_identity
from xdsl_tvm.dialects.quick_accessors import first_result, stored_operands, type_of
from xdsl_tvm.lowering.llvm_text.function import FunctionEmitter, edges, fast_math
from xdsl_tvm.lowering.llvm_text.intrinsics import overloaded_name
from xdsl_tvm.lowering.llvm_text.nvptx_versions import available_name
from xdsl_tvm.lowering.llvm_text.types import name_text, numbers_of, quote

_OpT = TypeVar("_OpT", bound=Operation)
_Handler = Callable[[FunctionEmitter, Operation], None]

HANDLERS: dict[type[Operation], _Handler] = {}
"""How an operation is written, by its class."""

CONSTANTS: frozenset[type[Operation]] = frozenset(
    {
        llvm.AddressOfOp,
        llvm.ConstantOp,
        llvm.UndefOp,
        llvm.ZeroOp,
        tvm_llvm.PoisonOp,
    }
)
"""Operations that are written at their uses."""

TERMINATORS: frozenset[type[Operation]] = frozenset(
    {
        llvm.BrOp,
        llvm.CondBrOp,
        llvm.ReturnOp,
        llvm.UnreachableOp,
        tvm_llvm.SwitchOp,
    }
)
"""Operations that may end a block."""


def _emits(
    *classes: type[_OpT],
) -> Callable[
    [Callable[[FunctionEmitter, _OpT], None]], Callable[[FunctionEmitter, _OpT], None]
]:
    def register(
        handler: Callable[[FunctionEmitter, _OpT], None],
    ) -> Callable[[FunctionEmitter, _OpT], None]:
        for operation in classes:
            HANDLERS[operation] = cast(_Handler, handler)
        return handler

    return register


def emit_block(e: FunctionEmitter, block: Block) -> None:
    """Writes a block: label, phis, instructions, and the blocks of split edges."""
    e.lines.append(f"{e.labels[block]}:")
    _phis(e, block)
    last = block.last_op
    if last is None or last.__class__ not in TERMINATORS:
        name = "nothing" if last is None else f"'{last.name}'"
        raise DiagnosticException(f"a block ends with {name}: it needs a terminator")
    for op in ops_in(block):
        handler = HANDLERS.get(op.__class__)
        if handler is not None:
            handler(e, op)
        elif op.__class__ not in CONSTANTS:
            raise DiagnosticException(
                f"cannot write '{op.name}' as LLVM IR: lower it to the llvm dialect"
            )
    for index, (target, _) in enumerate(edges(last)):
        if (label := e.edge_labels.get((last, index))) is not None:
            e.lines.append(f"{label}:")
            e.line(f"br label %{e.labels[target]}")


def _phis(e: FunctionEmitter, block: Block) -> None:
    if not block.args or block.prev_block is None:
        return
    incoming = e.incoming.get(block, ())
    for index, argument in enumerate(block.args):
        if not incoming:
            # Nothing jumps here; a phi needs an edge, a use needs a value.
            e.line(f"{e.values[argument]} = freeze {e.type(argument)} poison")
            continue
        choices = ", ".join(
            f"[ {e.value(values[index])}, %{label} ]" for label, values in incoming
        )
        e.line(f"{e.values[argument]} = phi {e.type(argument)} {choices}")


# ------------------------------------------------------------------- arithmetic


def _upstream_name(op: Operation) -> str:
    """The name of `op` in LLVM: `llvm.add` -> `add`."""
    return op.name.partition(".")[2]


def _binary(e: FunctionEmitter, op: Operation, flags: str = "") -> None:
    lhs, rhs = stored_operands(op)
    e.assign(
        op,
        f"{_upstream_name(op)} {flags}{e.type(lhs)} {e.value(lhs)}, {e.value(rhs)}",
    )


@_emits(llvm.AddOp, llvm.SubOp, llvm.MulOp, llvm.ShlOp)
def _overflow(e: FunctionEmitter, op: llvm.ArithmeticBinOpOverflow) -> None:
    _binary(e, op, _overflow_flags(op))


def _overflow_flags(op: Operation) -> str:
    flags = op.properties.get("overflowFlags")
    return "" if flags is None else _text_of_flags(flags)


@by_identity
def _text_of_flags(flags: Attribute) -> str:
    if isinstance(flags, IntegerAttr):
        number = flags.value.data
    elif isinstance(flags, llvm.OverflowAttr):
        number = flags.to_int()
    else:
        return ""
    return ("nuw " if number & 2 else "") + ("nsw " if number & 1 else "")


@_emits(llvm.UDivOp, llvm.SDivOp, llvm.LShrOp, llvm.AShrOp)
def _exact(e: FunctionEmitter, op: llvm.ArithmeticBinOpExact) -> None:
    _binary(e, op, "exact " if op.is_exact is not None else "")


@_emits(llvm.OrOp)
def _or(e: FunctionEmitter, op: llvm.OrOp) -> None:
    _binary(e, op, "disjoint " if op.is_disjoint is not None else "")


@_emits(llvm.URemOp, llvm.SRemOp, llvm.AndOp, llvm.XOrOp)
def _plain(e: FunctionEmitter, op: llvm.ArithmeticBinOperation) -> None:
    _binary(e, op)


@_emits(llvm.FAddOp, llvm.FSubOp, llvm.FMulOp, llvm.FDivOp, llvm.FRemOp)
def _float_binary(e: FunctionEmitter, op: llvm.AbstractFloatArithOp) -> None:
    _binary(e, op, fast_math(op))


@_emits(llvm.FNegOp)
def _fneg(e: FunctionEmitter, op: llvm.FNegOp) -> None:
    e.assign(op, f"fneg {fast_math(op)}{e.typed(op.arg)}")


@_emits(llvm.ICmpOp)
def _icmp(e: FunctionEmitter, op: llvm.ICmpOp) -> None:
    predicate = llvm.ICmpPredicateFlag.from_int(op.predicate.value.data)
    lhs, rhs = stored_operands(op)
    e.assign(op, f"icmp {predicate} {e.typed(lhs)}, {e.value(rhs)}")


@_emits(llvm.FCmpOp)
def _fcmp(e: FunctionEmitter, op: llvm.FCmpOp) -> None:
    predicate = llvm.FCmpPredicateFlag.from_int(op.predicate.value.data)
    e.assign(
        op,
        f"fcmp {fast_math(op)}{predicate.value.lstrip('_')} "
        f"{e.typed(op.lhs)}, {e.value(op.rhs)}",
    )


@_emits(tvm_llvm.ICmpOp, tvm_llvm.FCmpOp)
def _compare(e: FunctionEmitter, op: tvm_llvm.ICmpOp | tvm_llvm.FCmpOp) -> None:
    e.assign(
        op,
        f"{_upstream_name(op)} {fast_math(op)}{op.predicate_name} "
        f"{e.typed(op.lhs)}, {e.value(op.rhs)}",
    )


@_emits(llvm.SelectOp, tvm_llvm.SelectOp)
def _select(e: FunctionEmitter, op: Operation) -> None:
    e.assign(op, f"select {fast_math(op)}{e.typed_list(stored_operands(op))}")


@_emits(tvm_llvm.FreezeOp)
def _freeze(e: FunctionEmitter, op: tvm_llvm.FreezeOp) -> None:
    e.assign(op, f"freeze {e.typed(op.val)}")


# ------------------------------------------------------------------------ casts


def _cast(e: FunctionEmitter, op: Operation, flags: str = "") -> None:
    (source,) = stored_operands(op)
    e.assign(
        op, f"{_upstream_name(op)} {flags}{e.typed(source)} to {e.type(first_result(op))}"
    )


@_emits(
    llvm.BitcastOp,
    llvm.FPExtOp,
    llvm.FPTruncOp,
    llvm.IntToPtrOp,
    llvm.PtrToIntOp,
    llvm.SExtOp,
    llvm.SIToFPOp,
    tvm_llvm.AddrSpaceCastOp,
    tvm_llvm.FPToSIOp,
    tvm_llvm.FPToUIOp,
    tvm_llvm.UIToFPOp,
)
def _plain_cast(e: FunctionEmitter, op: Operation) -> None:
    _cast(e, op)


@_emits(llvm.TruncOp)
def _trunc(e: FunctionEmitter, op: llvm.TruncOp) -> None:
    _cast(e, op, _overflow_flags(op))


@_emits(llvm.ZExtOp)
def _zext(e: FunctionEmitter, op: llvm.ZExtOp) -> None:
    _cast(e, op, "nneg " if op.non_neg is not None else "")


# ----------------------------------------------------------- vectors, aggregates


@_emits(tvm_llvm.ExtractElementOp)
def _extract_element(e: FunctionEmitter, op: tvm_llvm.ExtractElementOp) -> None:
    e.assign(op, f"extractelement {e.typed(op.vector)}, {e.typed(op.position)}")


@_emits(llvm.InsertElementOp)
def _insert_element(e: FunctionEmitter, op: llvm.InsertElementOp) -> None:
    e.assign(op, f"insertelement {e.typed_list((op.vector, op.value, op.index))}")


@_emits(llvm.ShuffleVectorOp)
def _shuffle_vector(e: FunctionEmitter, op: llvm.ShuffleVectorOp) -> None:
    numbers = numbers_of(cast(Attribute, op.mask))
    vector = cast("VectorType[Attribute]", op.v1.type)
    if vector.get_num_scalable_dims():
        # Only a splat of the first element can be written for a scalable vector.
        if any(numbers):
            raise DiagnosticException(f"'{op.name}' cannot permute {vector}")
        count, mask = f"vscale x {len(numbers)}", "zeroinitializer"
    else:
        items = ", ".join(f"i32 {n}" if n >= 0 else "i32 poison" for n in numbers)
        count, mask = str(len(numbers)), f"<{items}>"
    e.assign(op, f"shufflevector {e.typed_list((op.v1, op.v2))}, <{count} x i32> {mask}")


@_emits(llvm.ExtractValueOp)
def _extract_value(e: FunctionEmitter, op: llvm.ExtractValueOp) -> None:
    e.assign(op, f"extractvalue {e.typed(op.container)}, {_position(op)}")


@_emits(llvm.InsertValueOp)
def _insert_value(e: FunctionEmitter, op: llvm.InsertValueOp) -> None:
    e.assign(op, f"insertvalue {e.typed_list((op.container, op.value))}, {_position(op)}")


def _position(op: llvm.ExtractValueOp | llvm.InsertValueOp) -> str:
    return ", ".join(map(str, numbers_of(cast(Attribute, op.position))))


# ----------------------------------------------------------------------- memory


@_emits(llvm.GEPOp)
def _gep(e: FunctionEmitter, op: llvm.GEPOp) -> None:
    kinds = op.noWrapFlags.value.data
    if kinds & 1 or op.inbounds is not None:
        flags = "inbounds "
    else:
        flags = "nusw " if kinds & 2 else ""
    if kinds & 4:
        flags += "nuw "
    pointer, *indices_of_values = stored_operands(op)
    dynamic = iter(indices_of_values)
    indices = [
        e.typed(next(dynamic)) if number == llvm.GEP_USE_SSA_VAL else f"i32 {number}"
        for number in numbers_of(cast(Attribute, op.rawConstantIndices))
    ]
    e.assign(
        op,
        f"getelementptr {flags}{e.types.text(op.elem_type)}, "
        f"{', '.join([e.typed(pointer), *indices])}",
    )


@_emits(llvm.AllocaOp)
def _alloca(e: FunctionEmitter, op: llvm.AllocaOp) -> None:
    text = f"alloca {e.types.text(op.elem_type)}, {e.typed(op.size)}"
    if op.alignment is not None:
        text += f", align {op.alignment.value.data}"
    space = cast(llvm.LLVMPointerType, op.res.type)
    if space != llvm.LLVMPointerType():
        text += f", {e.types.text(space).partition(' ')[2]}"
    e.assign(op, text)


@_emits(llvm.LoadOp, tvm_llvm.LoadOp)
def _load(e: FunctionEmitter, op: llvm.LoadOp | tvm_llvm.LoadOp) -> None:
    before, tail = _access(e, op)
    (address,) = stored_operands(op)
    e.assign(op, f"load {before}{e.type(first_result(op))}, {e.typed(address)}{tail}")


@_emits(llvm.StoreOp, tvm_llvm.StoreOp)
def _store(e: FunctionEmitter, op: llvm.StoreOp | tvm_llvm.StoreOp) -> None:
    before, tail = _access(e, op)
    e.line(f"store {before}{e.typed_list(stored_operands(op))}{tail}")


def _access(e: FunctionEmitter, op: Operation) -> tuple[str, str]:
    """What is before the type, and what after the address, of a memory access."""
    properties = op.properties
    ordering = properties.get("ordering")
    level = ordering.value.data if isinstance(ordering, IntegerAttr) else 0
    before = "atomic " if level else ""
    if "volatile_" in properties:
        before += "volatile "
    tail = ""
    if level:
        tail += f"{_scope(op)} {tvm_llvm.ORDERING_NAMES[level]}"
    tail += _alignment(op)
    if "nontemporal" in properties:
        tail += f", !nontemporal {e.module.metadata('nontemporal', '!{i32 1}')}"
    if "invariant" in properties:
        tail += f", !invariant.load {e.module.metadata('empty', '!{}')}"
    for name, kind in (
        ("alias_scopes", "alias.scope"),
        ("noalias_scopes", "noalias"),
    ):
        scopes = properties.get(name)
        if isinstance(scopes, ArrayAttr):
            node = e.module.scope_list(cast("ArrayAttr[Attribute]", scopes))
            tail += f", !{kind} {node}"
    return before, tail


def _scope(op: Operation) -> str:
    scope = op.properties.get("syncscope")
    if isinstance(scope, StringAttr) and scope.data:
        return f' syncscope("{quote(scope.data.encode())}")'
    return ""


def _alignment(op: Operation) -> str:
    alignment = op.properties.get("alignment")
    if isinstance(alignment, IntegerAttr):
        return f", align {alignment.value.data}"
    return ""


@_emits(tvm_llvm.AtomicRMWOp)
def _atomic_rmw(e: FunctionEmitter, op: tvm_llvm.AtomicRMWOp) -> None:
    volatile = "volatile " if op.volatile_ is not None else ""
    e.assign(
        op,
        f"atomicrmw {volatile}{op.bin_op_name} {e.typed_list((op.ptr, op.val))}"
        f"{_scope(op)} {tvm_llvm.ORDERING_NAMES[op.ordering.value.data]}"
        f"{_alignment(op)}",
    )


@_emits(tvm_llvm.CmpXchgOp)
def _cmpxchg(e: FunctionEmitter, op: tvm_llvm.CmpXchgOp) -> None:
    flags = "weak " if op.weak is not None else ""
    flags += "volatile " if op.volatile_ is not None else ""
    e.assign(
        op,
        f"cmpxchg {flags}{e.typed_list((op.ptr, op.cmp, op.val))}{_scope(op)}"
        f" {tvm_llvm.ORDERING_NAMES[op.success_ordering.value.data]}"
        f" {tvm_llvm.ORDERING_NAMES[op.failure_ordering.value.data]}{_alignment(op)}",
    )


@_emits(tvm_llvm.FenceOp)
def _fence(e: FunctionEmitter, op: tvm_llvm.FenceOp) -> None:
    e.line(f"fence{_scope(op)} {tvm_llvm.ORDERING_NAMES[op.ordering.value.data]}")


# ---------------------------------------------------------------------- control


def _label(e: FunctionEmitter, op: Operation, index: int, block: Block) -> str:
    return f"label %{e.edge_labels.get((op, index), e.labels[block])}"


def _loop(e: FunctionEmitter, op: Operation) -> str:
    loop = op.attributes.get(tvm_llvm.LoopAttr.name)
    if loop is None:
        return ""
    if not isinstance(loop, tvm_llvm.LoopAttr):
        raise DiagnosticException(
            f"'{tvm_llvm.LoopAttr.name}' of '{op.name}' must be #tvm_llvm.loop"
        )
    return f", !llvm.loop {e.module.loop_metadata(loop)}"


@_emits(llvm.BrOp)
def _br(e: FunctionEmitter, op: llvm.BrOp) -> None:
    e.line(f"br {_label(e, op, 0, op.successors[0])}{_loop(e, op)}")


@_emits(llvm.CondBrOp)
def _cond_br(e: FunctionEmitter, op: llvm.CondBrOp) -> None:
    then, otherwise = op.successors
    e.line(
        f"br {e.typed(stored_operands(op)[0])}, {_label(e, op, 0, then)}, "
        f"{_label(e, op, 1, otherwise)}{_loop(e, op)}"
    )


@_emits(tvm_llvm.SwitchOp)
def _switch(e: FunctionEmitter, op: tvm_llvm.SwitchOp) -> None:
    type = e.type(op.value)
    cases = " ".join(
        f"{type} {value}, {_label(e, op, index, block)}"
        for index, (value, block, _) in enumerate(op.cases, start=1)
    )
    default = _label(e, op, 0, op.default_destination)
    e.line(f"switch {e.typed(op.value)}, {default} [ {cases} ]{_loop(e, op)}")


@_emits(llvm.ReturnOp)
def _return(e: FunctionEmitter, op: llvm.ReturnOp) -> None:
    e.line("ret void" if op.arg is None else f"ret {e.typed(op.arg)}")


@_emits(llvm.UnreachableOp)
def _unreachable(e: FunctionEmitter, op: llvm.UnreachableOp) -> None:
    e.line("unreachable")


# ------------------------------------------------------------------------ calls


def _finish_call(e: FunctionEmitter, op: Operation, text: str) -> None:
    if op.results:
        e.assign(op, text)
    else:
        e.line(text)


@_emits(llvm.CallOp)
def _call(e: FunctionEmitter, op: llvm.CallOp) -> None:
    if op.op_bundle_operands:
        raise DiagnosticException(f"'{op.name}' has operand bundles: remove them")
    arguments = list(op.args)
    if op.callee is None:
        callee = e.value(arguments.pop(0))
        signature = op.var_callee_type
    else:
        name = op.callee.string_value()
        target = e.module.symbols.get(name)
        if not isinstance(target, llvm.FuncOp):
            raise DiagnosticException(
                f"'{op.name}' calls '@{name}', which is no llvm.func of the module"
            )
        callee = f"@{name_text(name)}"
        signature = target.function_type
    kind = op.TailCallKind.data.value
    words = [
        "" if kind == "none" else kind,
        "call",
        fast_math(op).strip(),
        "" if op.CConv.convention.data == "ccc" else op.CConv.convention.data,
        _call_type(e, op, signature),
        f"{callee}({e.typed_list(arguments)})",
    ]
    _finish_call(e, op, " ".join(word for word in words if word))


def _call_type(
    e: FunctionEmitter, op: llvm.CallOp, signature: llvm.LLVMFunctionType | None
) -> str:
    if signature is not None and signature.is_variadic:
        return e.types.function(signature)
    return e.types.text(op.returned.type) if op.returned is not None else "void"


@_emits(llvm.InlineAsmOp)
def _inline_asm(e: FunctionEmitter, op: llvm.InlineAsmOp) -> None:
    words = ["call", e.type(op.res) if op.res is not None else "void", "asm"]
    if op.has_side_effects is not None:
        words.append("sideeffect")
    if op.is_align_stack is not None:
        words.append("alignstack")
    if op.asm_dialect is not None and op.asm_dialect.value.data == 1:
        words.append("inteldialect")
    text = quote(op.asm_string.data.encode())
    constraints = quote(op.constraints.data.encode())
    words.append(f'"{text}", "{constraints}"({e.typed_list(op.operands_)})')
    _finish_call(e, op, " ".join(words))


# ------------------------------------------------------------------- intrinsics


def _intrinsic(e: FunctionEmitter, op: Operation, name: str) -> None:
    """Calls `name` with the operands of `op`, adding the overload suffix."""
    operands = stored_operands(op)
    types = [*map(type_of, operands)]
    result = first_result(op).type if op.results else None
    e.call_intrinsic(
        op,
        overloaded_name(name, result, types),
        [*map(e.typed, operands)],
        types,
        fast_math(op),
    )


@_emits(tvm_llvm.CallIntrinsicOp)
def _call_intrinsic(e: FunctionEmitter, op: tvm_llvm.CallIntrinsicOp) -> None:
    _intrinsic(e, op, op.intrin.data)


@_emits(llvm.CallIntrinsicOp)
def _xdsl_call_intrinsic(e: FunctionEmitter, op: llvm.CallIntrinsicOp) -> None:
    if op.op_bundle_operands:
        raise DiagnosticException(f"'{op.name}' has operand bundles: remove them")
    _intrinsic(e, op, op.intrin.data)


@_emits(
    llvm.FAbsOp,
    llvm.FCeilOp,
    llvm.FCopySignOp,
    llvm.FCosOp,
    llvm.FExp2Op,
    llvm.FExpOp,
    llvm.FFloorOp,
    llvm.FLog2Op,
    llvm.FLogOp,
    llvm.FMAOp,
    llvm.FPowOp,
    llvm.FSinOp,
    llvm.FSqrtOp,
    llvm.StackRestoreOp,
    llvm.StackSaveOp,
    llvm.VectorFMaxOp,
    llvm.VectorFMinOp,
    llvm.VectorReduceFAddOp,
    llvm.VectorReduceFMulOp,
)
def _named_intrinsic(e: FunctionEmitter, op: Operation) -> None:
    _intrinsic(e, op, "llvm." + op.name.removeprefix("llvm.intr."))


@_emits(llvm.MaskedStoreOp)
def _masked_store(e: FunctionEmitter, op: llvm.MaskedStoreOp) -> None:
    types = [op.value.type, op.data.type, op.mask.type]
    pointer = f"{e.type(op.data)} align {op.alignment.value.data} {e.value(op.data)}"
    e.call_intrinsic(
        op,
        overloaded_name("llvm.masked.store", None, types),
        [e.typed(op.value), pointer, e.typed(op.mask)],
        types,
    )


# ------------------------------------------------------------------------- nvvm


def _literal_call(e: FunctionEmitter, op: Operation, name: str, *numbers: int) -> None:
    """Calls `name` with the operands of `op` and then `i32` numbers."""
    arguments = [e.typed(operand) for operand in op.operands]
    arguments += [f"i32 {number}" for number in numbers]
    types = [operand.type for operand in op.operands] + [i32] * len(numbers)
    e.call_intrinsic(op, name, arguments, types)


@_emits(*nvvm.NVVM_OPERATIONS)
def _nvvm(e: FunctionEmitter, op: Operation) -> None:
    assert isinstance(op, nvvm.IntrinsicOperation)
    _literal_call(e, op, available_name(op.intrinsic, e.module.sm))


@_emits(nvvm.Barrier0Op)
def _barrier(e: FunctionEmitter, op: nvvm.Barrier0Op) -> None:
    _literal_call(e, op, op.intrinsic, 0)


@_emits(nvvm.CpAsyncWaitGroupOp)
def _wait_group(e: FunctionEmitter, op: nvvm.CpAsyncWaitGroupOp) -> None:
    _literal_call(e, op, op.intrinsic, op.n.value.data)


@_emits(nvvm.CpAsyncBulkOp)
def _bulk(e: FunctionEmitter, op: nvvm.CpAsyncBulkOp) -> None:
    """The barrier is before the source, and no block but its own receives the copy."""
    operands = (op.dst, op.mbar, op.src, op.size)
    arguments = [e.typed(operand) for operand in operands]
    arguments += ["i16 0", "i64 0", "i1 false", "i1 false"]
    types = [*(operand.type for operand in operands), i16, i64, i1, i1]
    e.call_intrinsic(op, op.intrinsic, arguments, types)


@_emits(nvvm.CpAsyncBulkTensorOp)
def _bulk_tensor(e: FunctionEmitter, op: nvvm.CpAsyncBulkTensorOp) -> None:
    """No block but its own receives the copy."""
    operands = (op.dst, op.mbar, op.descriptor, *op.coordinates)
    arguments = [e.typed(operand) for operand in operands]
    arguments += ["i16 0", "i64 0", "i1 false", "i1 false", "i32 0"]
    types = [*(operand.type for operand in operands), i16, i64, i1, i1, i32]
    e.call_intrinsic(op, op.intrinsic, arguments, types)


@_emits(nvvm.WgmmaWaitGroupOp)
def _wait_products(e: FunctionEmitter, op: nvvm.WgmmaWaitGroupOp) -> None:
    e.call_intrinsic(op, op.intrinsic, [f"i64 {op.count}"], [i64])


@_emits(nvvm.WgmmaMmaAsyncOp)
def _begin_product(e: FunctionEmitter, op: nvvm.WgmmaMmaAsyncOp) -> None:
    """Assembly, as LLVM has no intrinsic; each sum stays in its register."""
    count, whole = op.columns // 2, e.type(op.res)
    sums: list[str] = []
    for number in range(count):
        sums.append(name := e.fresh())
        e.line(f"{name} = extractvalue {e.typed(op.inouts)}, {number}")
    registers = ", ".join(f"${number}" for number in range(count))
    accumulates = int(not op.begins_with_zero)
    text = (
        f"{op.instruction} {{{registers}}}, ${2 * count}, ${2 * count + 1}, "
        f"{accumulates}, 1, 1, 0, {int(op.is_transposed)};"
    )
    constraints = ["=f"] * count + [str(number) for number in range(count)] + ["l", "l"]
    arguments = [f"float {each}" for each in sums]
    arguments += [e.typed(op.descriptor_a), e.typed(op.descriptor_b)]
    called = f'asm sideeffect "{text}", "{",".join(constraints)}"'
    e.assign(op, f"call {whole} {called}({', '.join(arguments)})")


@_emits(tvm_llvm.RegisterFenceOp)
def _register_fence(e: FunctionEmitter, op: tvm_llvm.RegisterFenceOp) -> None:
    """Assembly without text, whose results are where its operands are."""
    count, whole = op.count, e.type(op.res)
    members: list[str] = []
    for number in range(count):
        members.append(name := e.fresh())
        e.line(f"{name} = extractvalue {e.typed(op.val)}, {number}")
    constraints = ["=f"] * count + [str(number) for number in range(count)]
    arguments = ", ".join(f"float {each}" for each in members)
    called = f'asm sideeffect "", "{",".join(constraints)},~{{memory}}"'
    if count == 1:
        found = e.fresh()
        e.line(f"{found} = call float {called}({arguments})")
        e.assign(op, f"insertvalue {whole} poison, float {found}, 0")
        return
    e.assign(op, f"call {whole} {called}({arguments})")


@_emits(nvvm.WMMAStoreOp, nvvm.WMMALoadOp)
def _fragment(e: FunctionEmitter, op: nvvm.WMMAStoreOp | nvvm.WMMALoadOp) -> None:
    """The stride is the last operand."""
    pointer, stride, *registers = op.operands
    operands = (pointer, *registers, stride)
    types = [operand.type for operand in operands]
    e.call_intrinsic(op, op.intrinsic, [e.typed(each) for each in operands], types)


EMITTABLE: frozenset[type[Operation]] = frozenset(
    {*HANDLERS, *CONSTANTS, llvm.FuncOp, llvm.GlobalOp}
)
"""Every operation that has an LLVM IR form."""

__all__ = ["CONSTANTS", "EMITTABLE", "HANDLERS", "TERMINATORS", "edges", "emit_block"]
