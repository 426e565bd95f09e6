"""Device regions become functions of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import (
    BoolAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.rewriter import Rewriter
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of, outermost_ops
from xdsl_tvm.analysis.tir.function_target import (
    functions_of,
    is_device_that_can_fail,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import (
    MIN_BLOCKS,
    MIN_BLOCKS_PRAGMA,
    integer_of,
    is_true,
)
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import UniqueNames, symbol_name
from xdsl_tvm.passes.tir._host_device.captures import Captures, sink_device_memory
from xdsl_tvm.passes.tir.convert_ssa import ConvertSSA
from xdsl_tvm.passes.tir.rewriting.statements import describe, insert_body_before

_ERROR_CODE = "kernel_error_code"
_MESSAGE = "Error executing compute kernel"
_BLOCKS: Final = range(1, 33)
"""How many blocks multiprocessors may hold: 32 on those that hold the most."""


@dataclass(frozen=True)
class SplitHostDevice(CompilerPass):
    """Summary: Moves each device region to a function, which the region's place calls.

    TVM name: tir.SplitHostDevice (v0.20)
    Input form: loops and buffers or later; after AnnotateDeviceRegions
    Output form: the same, without `tir.attr "target"` except inside of device code
    Options: none
    Rewrites: before

            tir.func @main(%n: i32) attributes {global_symbol = "main", target = …} {
              tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
                tir.evaluate %n : i32
              }
            }

        after

            tir.func @main(%n: i32) attributes {global_symbol = "main", target = …} {
              tir.call_func @main_kernel(%n) : (i32) -> ()
            }
            tir.func @main_kernel(%n: i32) attributes {target = #tir.target<"cuda">,
                tir.is_global_func = true, tir.noalias = true, param_names = ["n"]} {
              tir.evaluate %n : i32
            }

        The name is that of `global_symbol`, else of the function, with `_kernel`, and
        with `_1`, `_2`, … where it is taken. Parameters are what the region uses of the
        function: handles and pointers, then all others, both by name. Expressions without
        effects and reads are computed in the kernel anew, so that parameters are what
        they are computed of; values of loads and calls are parameters. A buffer is passed
        by its pointer and declared at the beginning of the kernel, the one that is used
        first last. On a device that reports errors (CPU, ext_dev, hexagon) the kernel
        returns `0 : i32`, and the caller asserts that it does:

            %e = tir.call_func @main_kernel(%n) : (i32) -> i32
            %kernel_error_code = tir.let "kernel_error_code" %e : i32
            %p = tir.cmp eq %kernel_error_code, %c0 : i32
            tir.assert %p, "Error executing compute kernel"

        A `tir.launch_thread` with the annotation `pragma_min_blocks` has the kernel get
        `tir.min_blocks` of it, else it gets that of the function. In the end
        `tir-convert-ssa` runs, if there were regions. Time is linear in the size of the
        module.
    Leaves alone: functions without regions; the attributes of the function that had the
        region; regions inside of regions; functions of other dialects
    Errors: a region that uses memory of a scope of the device, such as `shared`, that
        code outside of the region uses too; a `tir.ret` in a region, except one without
        a value in a `tir.launch_thread`; a region that uses a value of a type which
        parameters cannot have; a region inside of an operation that may have symbols of
        its own, as unregistered ones may; a `pragma_min_blocks` below 1 or above 32
    Attributes: read: `global_symbol`, `tir.noalias` and `tir.min_blocks` of functions,
        `pragma_min_blocks` of launches; created: `target`, `tir.is_global_func`,
        `tir.noalias`, `tir.min_blocks` and `tir_non_negative_var` on kernels; removed:
        `pragma_min_blocks` of launches
    Differs from TVM: a kernel has `tir.noalias` only if its pointers are known to be to
        different memory: if the function has `tir.noalias`, or all of them but one are
        to memory that the function allocates. TVM always adds it, and compiled kernels
        are wrong where one array is passed for two parameters. That a size is not
        negative is kept by the attribute `tir_non_negative_var` of the kernel. Variables
        that only occur in the element offset of a buffer become parameters, too.
        Memory in a scope of the device that is allocated before the region moves into
        it; TVM passes a pointer, which the device cannot use. Names of equal kind and
        text are in the order of their first use.
    """

    name = "tir-split-host-device"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names: dict[Operation, UniqueNames] = {}
        found = False
        for func in functions_of(op):
            if not any(map(is_device_region, ops_of(func, tir.AttrOp))):
                continue
            regions = outermost_ops(func, is_device_region)
            parent = func.parent_op()
            assert parent is not None, "held by the module"
            if parent not in names:
                symbols = (
                    symbol_name(op)
                    for region in parent.regions
                    for block in region.blocks
                    for op in block.ops
                )
                names[parent] = UniqueNames(filter(None, symbols), "_")
            _split(func, regions, names[parent])
            found = True
        if found:
            ConvertSSA().apply(ctx, op)


def is_device_region(op: Operation) -> bool:
    """Whether an op is a `tir.attr "target"`."""
    return isinstance(op, tir.AttrOp) and op.key.data == "target"


def _split(func: tir.FuncOp, regions: list[Operation], names: UniqueNames) -> None:
    symbol = func.attributes.get("global_symbol")
    prefix = getattr(symbol, "data", func.sym_name.data)
    base = f"{prefix}_kernel".replace(".", "_")
    block, last = func.parent, func
    assert block is not None, "held by the module"
    for region in regions:
        assert isinstance(region, tir.AttrOp)
        kernel = _outlined(func, region, names.unique(base))
        block.insert_op_after(kernel, last)
        last = kernel


def _outlined(func: tir.FuncOp, region: tir.AttrOp, name: str) -> tir.FuncOp:
    """The kernel of a region, which a call replaces."""
    target = region.node_attr
    assert isinstance(target, Target), "verified"
    device = target.without_host()
    can_fail = is_device_that_can_fail(device)
    _check_returns(region)
    _check_symbols(region, func)
    if not can_fail:
        sink_device_memory(region)
    least = _min_blocks(region) or func.attributes.get(MIN_BLOCKS)
    noalias = is_true(func.attributes.get("tir.noalias"))
    captures = Captures(region, noalias=noalias)
    body = captures.kernel_body()
    outputs: list[Attribute] = []
    if can_fail:
        zero = tir.ConstOp(IntegerAttr(0, i32))
        result = tir.RetOp(zero)
        zero.location = result.location = region.location
        body.add_ops((zero, result))
        outputs = [i32]
    attributes: dict[str, Attribute] = {
        "target": device,
        "tir.is_global_func": BoolAttr.from_bool(True),
    }
    if captures.are_distinct():
        attributes["tir.noalias"] = BoolAttr.from_bool(True)
    if captures.sizes:
        attributes["tir_non_negative_var"] = captures.sizes
    if least is not None:
        attributes[MIN_BLOCKS] = least
    kernel = tir.FuncOp(
        name,
        ([arg.type for arg in body.args], outputs),
        Region(body),
        attributes=attributes,
        param_names=captures.names,
    )
    kernel.location = region.location
    _call(region, kernel, captures)
    return kernel


def _min_blocks(region: tir.AttrOp) -> Attribute | None:
    """The most of what launches of a region are annotated with, which they lose."""
    found: list[int] = []
    for op in ops_of(region, tir.LaunchThreadOp):
        pragmas = {} if op.annotations is None else dict(op.annotations.data)
        count = integer_of(pragmas.pop(MIN_BLOCKS_PRAGMA, None))
        if count is None:
            continue
        if count not in _BLOCKS:
            raise PassFailedException(
                f"{describe(op)}: {MIN_BLOCKS_PRAGMA} is {count}; state 1 to "
                f"{max(_BLOCKS)} blocks of a multiprocessor, or remove it"
            )
        found.append(count)
        op.annotations = DictionaryAttr(pragmas) if pragmas else None
    return IntegerAttr(max(found), i32) if found else None


def _call(region: tir.AttrOp, kernel: tir.FuncOp, captures: Captures) -> None:
    """Replace a region by the call of its kernel."""
    outputs = kernel.function_type.outputs.data
    result_type = outputs[0] if outputs else None
    arguments = captures.arguments()
    call = tir.CallFuncOp(kernel.sym_name.data, arguments, result_type)
    ops: list[Operation] = [*captures.pointer_ops, call]
    if call.result is not None:
        code = tir.LetOp(call.result, name=_ERROR_CODE)
        code.result.name_hint = _ERROR_CODE
        zero = tir.ConstOp(IntegerAttr(0, i32))
        is_zero = tir.CmpOp(tir.CmpPredicate.EQ, code, zero)
        ops += [code, zero, is_zero, tir.AssertOp(is_zero, _MESSAGE)]
    for op in ops:
        op.location = region.location
    insert_body_before(region, Block(ops), followed=region.next_op is not None)
    Rewriter.erase_op(region)
    captures.erase_unused()


def _check_returns(region: tir.AttrOp) -> None:
    for op in all_ops(region):
        if isinstance(op, tir.RetOp) and not (
            op.value is None and _in_threads(op, region)
        ):
            raise PassFailedException(
                f"{describe(op)}: returns from inside of a device region, and in a "
                "kernel would leave only that; return after the region, or let threads "
                "end by a tir.ret without a value"
            )


def _check_symbols(region: tir.AttrOp, func: tir.FuncOp) -> None:
    """Refuse regions from which the kernel could not be called by its name."""
    parent = region.parent_op()
    while parent is not None and parent is not func:
        if parent.has_trait(SymbolTable, value_if_unregistered=True):
            raise PassFailedException(
                f"{describe(region)}: the device region is in {describe(parent)}, which "
                "may have symbols of its own, so that a kernel cannot be called there; "
                "lower that operation first"
            )
        parent = parent.parent_op()


def _in_threads(op: Operation, region: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and parent is not region:
        if isinstance(parent, tir.LaunchThreadOp):
            return True
        parent = parent.parent_op()
    return False
