"""Allocations of WMMA fragments state their sizes and layout."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.statements import describe

_MOVES = ("tvm_load_matrix_sync", "tvm_store_matrix_sync")
_FILL = "tvm_fill_fragment"
_PRODUCTS = ("tvm_mma_sync", "tvm_bmma_sync")
_OPERANDS = ("wmma.matrix_a", "wmma.matrix_b")


@dataclass(frozen=True)
class _Fragment:
    """Sizes m, n and k, and the layout; none is empty."""

    sizes: tuple[int, ...]
    layout: str


@dataclass(frozen=True)
class InferFragment(CompilerPass):
    """Summary: Records sizes and layout of WMMA fragments on their allocations.

    TVM name: tir.InferFragment (v0.20)
    Input form: any; fragments are `tir.allocate`, pointers to them are taken directly
    Output form: the same
    Options: none
    Rewrites: before

            %p = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_a">
            %0 = tir.call "tvm_load_matrix_sync"(%p, %c16, %c16, %c16, %c0, %q, %s, %row)

        after

            %p = tir.allocate [256] annotations {
                fragment_layout = "row_major", fragment_shape = "16, 16, 16"
            } : !tir.ptr<f16, "wmma.matrix_a">
            %0 = tir.call "tvm_load_matrix_sync"(%p, %c16, %c16, %c16, %c0, %q, %s, %row)

        The first load, store or fill in the text tells sizes and layout. An accumulator
        has the layout `row_major` if it is filled first, and none otherwise. Time is
        linear in the size of the module.
    Leaves alone: functions without WMMA; allocations that no call fills, loads or stores
    Errors: of a call: other sizes than the first call for a fragment; another layout, of
        a matrix_a or matrix_b; sizes that are not constant; a product of a fragment that
        is neither filled nor loaded, or of fragments of different sizes
    Attributes: read: none; created: `fragment_shape`, `fragment_layout` in annotations of
        `tir.allocate`; removed: none
    Differs from TVM: annotations of the allocation take the place of attributes around
        it. Views of the pointer count as the pointer.
    """

    name = "tir-infer-fragment"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in ops_of(op, tir.FuncOp):
            _infer(func)


def _infer(func: tir.FuncOp) -> None:
    calls = ops_of(func, tir.CallOp)
    found: dict[SSAValue, _Fragment] = {}
    for call in calls:
        if call.callee.data in (*_MOVES, _FILL):
            _record(call, found)
    for call in calls:
        if call.callee.data in _PRODUCTS:
            _check_product(call, found)
    for root, fragment in found.items():
        if isinstance(root.owner, tir.AllocateOp):
            _annotate(root.owner, fragment)


def _refused(op: Operation, problem: str) -> PassFailedException:
    return PassFailedException(f"{describe(op)}: {problem}")


def _record(call: tir.CallOp, found: dict[SSAValue, _Fragment]) -> None:
    name = call.callee.data
    root = origin(call.args[0])
    sizes: list[int] = []
    for value in call.args[1:4]:
        number = tir.constant_value(value)
        if not isinstance(number, int):
            raise _refused(call, f"{name} needs constant sizes m, n and k; specialize it")
        sizes.append(number)
    pointer = root.type
    scope = ""
    if isinstance(pointer, tir.PtrType | tir.BufferType):
        scope = pointer.scope.data
    layout = "row_major" if name == _FILL else ""
    if name != _FILL and scope in _OPERANDS:
        text = call.args[7].owner
        layout = text.value.data if isinstance(text, tir.StringOp) else ""
    new = _Fragment(tuple(sizes), layout)
    old = found.setdefault(root, new)
    if old.sizes != new.sizes:
        raise _refused(
            call,
            f"{name} uses a fragment of sizes {_text(old)} with sizes {_text(new)}; use "
            "one fragment for each",
        )
    if name != _FILL and scope in _OPERANDS and old.layout != new.layout:
        raise _refused(
            call,
            f"{name} uses a fragment of layout {old.layout} with layout {new.layout}; "
            "use one fragment for each",
        )


def _check_product(call: tir.CallOp, found: dict[SSAValue, _Fragment]) -> None:
    name = call.callee.data
    sizes: dict[tuple[int, ...], _Fragment] = {}
    for value in call.args[:8:2]:
        fragment = found.get(origin(value))
        if fragment is None:
            raise _refused(
                call,
                f"{name} uses a fragment that must be filled with tvm_fill_fragment or "
                "loaded with tvm_load_matrix_sync before use; fill or load it",
            )
        sizes[fragment.sizes] = fragment
    if len(sizes) > 1:
        texts = " and ".join(_text(fragment) for fragment in sizes.values())
        raise _refused(
            call,
            f"{name} multiplies fragments of sizes {texts}; give all of them one shape",
        )


def _annotate(allocation: tir.AllocateOp, fragment: _Fragment) -> None:
    annotations = allocation.annotations
    data = {} if annotations is None else dict(annotations.data)
    if fragment.layout:
        data["fragment_layout"] = StringAttr(fragment.layout)
    data["fragment_shape"] = StringAttr(_text(fragment))
    allocation.annotations = DictionaryAttr(data)


def _text(fragment: _Fragment) -> str:
    return ", ".join(map(str, fragment.sizes))
