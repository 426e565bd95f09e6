"""Hints of where tensors should be become types, and copies between devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.passes.relax.rewriting.devices import listed_vdevices, values_in
from xdsl_tvm.passes.relax.rewriting.signatures import references

_Leaf: TypeAlias = tuple[SSAValue, int]
"""A tensor in a value: the value, and which of its tensors."""


@dataclass(frozen=True)
class RealizeVDevice(CompilerPass):
    """Summary: Puts tensors on the virtual devices that hints, and tensors beside them,
        tell.

    TVM name: relax.RealizeVDevice (v0.20)
    Input form: any
    Output form: no `relax.hint_on_device`
    Options: none
    Rewrites: before, where the module lists "llvm" and "cuda",

            %y = relax.add %x, %x : (!t, !t) -> !t
            %g = relax.hint_on_device %y device 2, 0 : (!t) -> !t
            %r = relax.exp %g : (!t) -> !t

        after, with `!c` for `!t` on the CUDA device,

            %y = relax.add %x, %x : (!c, !c) -> !c
            %r = relax.exp %y : (!c) -> !c

        A tensor is known to be on a device if its type says so, if the function returns
        it as one on the device, or if it is the result of a hint; and, where nothing
        else is known of it, if it is the operand of one. What an operation reads and
        makes is on one device, tuples field by field, but for hints and
        `relax.to_vdevice`. A hint of a tensor that is on another device becomes
        `relax.to_vdevice`, another one the tensor itself. Time is linear in the size of
        the module.
    Leaves alone: tensors of unknown rank, which have no place for a device; parameters of
        functions that the module calls; function literals; nested modules
    Errors: a hint of a device that the module does not list in `relax.vdevices`
    Attributes: read: `relax.vdevices`; created: none; removed: none
    Differs from TVM: fields of a tuple may be on several devices
    """

    name = "relax-realize-v-device"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        devices = listed_vdevices(op)
        used = references(op)
        for func in relax_functions(op):
            if func.parent_op() is op and func.body.blocks:
                is_called = func.sym_name.data in used
                _Placement(devices, is_called).realize(func)


@dataclass
class _Placement:
    devices: Sequence[VDeviceAttr]
    is_called: bool
    known: dict[_Leaf, VDeviceAttr] = field(default_factory=dict[_Leaf, VDeviceAttr])
    beside: dict[_Leaf, list[_Leaf]] = field(default_factory=dict[_Leaf, list[_Leaf]])

    def realize(self, func: relax.FuncOp) -> None:
        hints = [op for op in all_ops(func) if isinstance(op, relax.HintOnDeviceOp)]
        values = [value for value in values_in(func) if self._has_place(value)]
        places = {op: self._device_of(op) for op in hints}
        for value in values:
            for index, info in enumerate(_tensors(value.type)):
                if info.vdevice is not None:
                    self.known[value, index] = info.vdevice
        returned = func.return_op.value
        for index, info in enumerate(_tensors(func.output_type)):
            if info.vdevice is not None:
                self.known.setdefault((returned, index), info.vdevice)
        for op, device in places.items():
            self.known.setdefault((op.result, 0), device)
        for op in func.walk():
            self._connect(op)
        self._spread(list(self.known))
        for op, device in places.items():
            if (op.data, 0) not in self.known:
                self.known[op.data, 0] = device
                self._spread([(op.data, 0)])
        for op, device in places.items():
            self._replace_hint(op, device)
        for value in values:
            self._place(value)
        update_signature(func)

    def _has_place(self, value: SSAValue) -> bool:
        """Whether the type of a value may be given devices."""
        if not isinstance(value, BlockArgument):
            return True
        parent = value.block.parent_op()
        return not (self.is_called and isinstance(parent, relax.FuncOp))

    def _device_of(self, op: relax.HintOnDeviceOp) -> VDeviceAttr:
        kind, index = op.dev_type.value.data, op.dev_id.value.data
        for device in self.devices:
            target = device.target
            if not isinstance(target, Target) or device.index.data != index:
                continue
            if target.device_type.value == kind:
                return device
        raise PassFailedException(
            f"{RealizeVDevice.name}: {op.name} names device {kind}, {index}, which the "
            "module's relax.vdevices does not list; add it"
        )

    # ---- tensors that are on one device ----

    def _connect(self, op: Operation) -> None:
        match op:
            case relax.HintOnDeviceOp() | relax.ToVDeviceOp() | relax.LambdaOp():
                return
            case relax.TupleOp():
                fields = [leaf for value in op.operands for leaf in _leaves(value)]
                self._pair(fields, _leaves(op.result))
            case relax.GetItemOp():
                type_ = op.tuple_value.type
                assert isinstance(type_, TupleType), "verified"
                position = op.index.value.data
                start = sum(len(_tensors(t)) for t in type_.fields.data[:position])
                found = _leaves(op.result)
                self._pair(_leaves(op.tuple_value)[start : start + len(found)], found)
            case relax.AliasOp() | relax.MatchCastOp():
                self._pair(_leaves(op.value), _leaves(op.result))
            case relax.DataflowOp():
                for value, result in zip(op.output_op.values, op.outputs, strict=True):
                    self._pair(_leaves(value), _leaves(result))
            case relax.IfOp():
                for region in op.regions:
                    last = region.block.last_op
                    assert isinstance(last, relax.YieldOp), "verified"
                    self._pair(_leaves(last.value), _leaves(op.result))
            case relax.FuncOp() | relax.OutputOp() | relax.ReturnOp() | relax.YieldOp():
                return
            case _:
                values = (*op.operands, *op.results)
                together = [leaf for value in values for leaf in _leaves(value)]
                for leaf in together[1:]:
                    self._pair([together[0]], [leaf])

    def _pair(self, left: Sequence[_Leaf], right: Sequence[_Leaf]) -> None:
        if len(left) != len(right):
            return  # The type of one of them says less.
        for one, other in zip(left, right, strict=True):
            self.beside.setdefault(one, []).append(other)
            self.beside.setdefault(other, []).append(one)

    def _spread(self, leaves: Iterable[_Leaf]) -> None:
        """Let what is beside known tensors be on their devices."""
        pending = list(leaves)[::-1]
        while pending:
            leaf = pending.pop()
            for other in self.beside.get(leaf, ()):
                if other not in self.known:
                    self.known[other] = self.known[leaf]
                    pending.append(other)

    # ---- types ----

    def _replace_hint(self, op: relax.HintOnDeviceOp, device: VDeviceAttr) -> None:
        if self.known[op.data, 0] == device:
            Rewriter.replace_op(op, (), (op.data,))
            return
        info = TensorInfo.of(op.result.type)
        assert info is not None, "verified"
        new = relax.ToVDeviceOp(op.data, device, replace(info, vdevice=device).type)
        new.location = op.location
        Rewriter.replace_op(op, new)

    def _place(self, value: SSAValue) -> None:
        owner = value.owner
        if isinstance(owner, relax.HintOnDeviceOp):
            return  # It was replaced.
        found = iter([self.known.get(leaf) for leaf in _leaves(value)])
        type_ = _placed(value.type, found)
        if type_ != value.type:
            Rewriter.replace_value_with_new_type(value, type_)


def _tensors(type_: Attribute) -> list[TensorInfo]:
    """The tensors in a type, fields of tuples one after the other."""
    if isinstance(type_, TupleType):
        return [info for part in type_.fields.data for info in _tensors(part)]
    info = TensorInfo.of(type_)
    return [] if info is None else [info]


def _leaves(value: SSAValue) -> list[_Leaf]:
    return [(value, index) for index in range(len(_tensors(value.type)))]


def _placed(type_: Attribute, devices: Iterator[VDeviceAttr | None]) -> Attribute:
    """The type with tensors on devices, in order."""
    if isinstance(type_, TupleType):
        return TupleType.of([_placed(part, devices) for part in type_.fields.data])
    info = TensorInfo.of(type_)
    if info is None:
        return type_
    device = next(devices)
    if device is None or info.dims is None:
        return type_
    return replace(info, vdevice=device).type
