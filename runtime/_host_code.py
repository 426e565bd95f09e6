"""Runs the host part of functions that launch kernels.

That part is a little integer arithmetic around the launches, so it is evaluated as it
is, on Python integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, cast

from xdsl.dialects import arith, cf, func, gpu, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects.integers import truncated_quotient, truncated_remainder
from xdsl_tvm.lowering.tir.conversion.types import element_bytes

Values: TypeAlias = dict[SSAValue, Any]


class Device(Protocol):
    """What host code does to a GPU."""

    def allocate(self, size: int) -> int: ...

    def free(self, pointer: int) -> None: ...

    def launch_kernel(
        self,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[tuple[Attribute, Any]],
    ) -> None:
        """Launch a kernel; an argument is its type and the number or address."""
        ...


def run_host_function(
    function: func.FuncOp, arguments: Sequence[Any], device: Device
) -> Any:
    """Run a function; the arguments are numbers, and addresses of device memory.

    Gives the scalar it returns, or None. Raises PassFailedException for an operation
    that is more than arithmetic around launches.
    """
    runner = _Runner(function.sym_name.data, device)
    block = function.body.block
    runner.values.update(zip(block.args, arguments, strict=True))
    try:
        results = runner.run(block)
    finally:
        runner.free_all()
    return results[0] if results else None


class _Runner:
    def __init__(self, function: str, device: Device) -> None:
        self.function = function
        self.device = device
        self.values: Values = {}
        self.allocated: set[int] = set()

    def run(self, block: Block) -> list[Any]:
        """Run a block; gives the operands of its terminator."""
        for op in block.ops:
            if isinstance(op, scf.YieldOp | func.ReturnOp):
                return [self.values[operand] for operand in op.operands]
            self.step(op)
        return []

    def step(self, op: Operation) -> None:
        handler = _HANDLERS.get(type(op))
        if handler is None:
            raise PassFailedException(
                f"@{self.function}: '{op.name}' cannot run beside kernel launches; move "
                "it into a kernel"
            )
        result = handler(self, op)
        if op.results:
            self.values[op.results[0]] = result

    def free_all(self) -> None:
        for pointer in self.allocated:
            self.device.free(pointer)
        self.allocated.clear()

    # -- control flow

    def loop(self, op: scf.ForOp) -> None:
        if op.iter_args:
            raise PassFailedException(
                f"@{self.function}: 'scf.for' with carried values cannot run beside "
                "kernel launches"
            )
        low, high, step = (self.values[v] for v in (op.lb, op.ub, op.step))
        block = op.body.block
        for index in range(low, high, step):
            self.values[block.args[0]] = index
            self.run(block)

    def choose(self, op: scf.IfOp) -> Any:
        region = op.true_region if self.values[op.cond] else op.false_region
        results = self.run(region.block) if region.blocks else []
        return results[0] if results else None

    def check(self, op: cf.AssertOp) -> None:
        if not self.values[op.arg]:
            raise ValueError(f"@{self.function}: {op.msg.data}")

    # -- device

    def launch(self, op: gpu.LaunchFuncOp) -> None:
        values = self.values
        grid = (values[op.gridSizeX], values[op.gridSizeY], values[op.gridSizeZ])
        block = (values[op.blockSizeX], values[op.blockSizeY], values[op.blockSizeZ])
        if min(*grid, *block) <= 0:
            # No thread at all, which the driver calls an error.
            return
        name = op.kernel.nested_references.data[-1].data
        arguments = [(operand.type, values[operand]) for operand in op.kernelOperands]
        self.device.launch_kernel(name, grid, block, arguments)

    def allocate(self, op: gpu.AllocOp) -> int:
        type_ = op.result.type
        sizes = iter(op.dynamicSizes)
        total = element_bytes(type_.element_type)
        for extent in type_.get_shape():
            total *= self.values[next(sizes)] if extent == DYNAMIC_INDEX else extent
        pointer = self.device.allocate(max(total, 0))
        self.allocated.add(pointer)
        return pointer

    def free(self, op: gpu.DeallocOp) -> None:
        pointer = self.values[op.buffer]
        self.allocated.discard(pointer)
        self.device.free(pointer)

    def same(self, op: Operation) -> Any:
        return self.values[op.operands[0]]

    # -- arithmetic

    def constant(self, op: arith.ConstantOp) -> Any:
        value = op.value
        number = cast(IntegerAttr, value).value.data
        return wrap(number, op.result.type) if isinstance(value, IntegerAttr) else number


def width_of(dtype: Attribute) -> int:
    """Bits of an integer type; `index` has 64."""
    if isinstance(dtype, IndexType):
        return 64
    return cast(IntegerType, dtype).width.data


def wrap(number: int, dtype: Attribute) -> int:
    """`number` modulo the type, as a signed number; 0 or 1 for `i1`."""
    width = width_of(dtype)
    number &= (1 << width) - 1
    return number - (1 << width) if width > 1 and number >> (width - 1) else number


def unsigned(number: int, dtype: Attribute) -> int:
    """`number` as an unsigned number of the type."""
    return number & ((1 << width_of(dtype)) - 1)


_SIGNED: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.DivSIOp: truncated_quotient,
    arith.RemSIOp: truncated_remainder,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.XOrIOp: lambda a, b: a ^ b,
    arith.ShLIOp: lambda a, b: a << b,
    arith.ShRSIOp: lambda a, b: a >> b,
}
_UNSIGNED: dict[type[Operation], Callable[[int, int], int]] = {
    arith.DivUIOp: lambda a, b: a // b,
    arith.RemUIOp: lambda a, b: a % b,
    arith.MinUIOp: min,
    arith.MaxUIOp: max,
    arith.ShRUIOp: lambda a, b: a >> b,
}
_COMPARE: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)


def _signed_binary(run: _Runner, op: Operation) -> int:
    a, b = (run.values[operand] for operand in op.operands)
    return wrap(_SIGNED[type(op)](a, b), op.results[0].type)


def _unsigned_binary(run: _Runner, op: Operation) -> int:
    a, b = (unsigned(run.values[operand], operand.type) for operand in op.operands)
    return wrap(_UNSIGNED[type(op)](a, b), op.results[0].type)


def _compare(run: _Runner, op: arith.CmpiOp) -> int:
    predicate = op.predicate.value.data
    a, b = run.values[op.lhs], run.values[op.rhs]
    if predicate >= 6:
        a, b = unsigned(a, op.lhs.type), unsigned(b, op.rhs.type)
        predicate -= 4
    return int(_COMPARE[predicate](a, b))


def _select(run: _Runner, op: arith.SelectOp) -> Any:
    return run.values[op.lhs if run.values[op.cond] else op.rhs]


def _resize(run: _Runner, op: Operation) -> int:
    number = run.values[op.operands[0]]
    if op.operands[0].type == IntegerType(1) and not isinstance(op, arith.TruncIOp):
        number = -number
    return wrap(number, op.results[0].type)


def _zero_extend(run: _Runner, op: arith.ExtUIOp) -> int:
    operand = op.operands[0]
    return wrap(unsigned(run.values[operand], operand.type), op.results[0].type)


_HANDLERS: dict[type[Operation], Callable[[_Runner, Any], Any]] = {
    **dict.fromkeys(_SIGNED, _signed_binary),
    **dict.fromkeys(_UNSIGNED, _unsigned_binary),
    arith.CmpiOp: _compare,
    arith.ConstantOp: _Runner.constant,
    arith.ExtSIOp: _resize,
    arith.ExtUIOp: _zero_extend,
    arith.IndexCastOp: _resize,
    arith.SelectOp: _select,
    arith.TruncIOp: _resize,
    cf.AssertOp: _Runner.check,
    gpu.AllocOp: _Runner.allocate,
    gpu.DeallocOp: _Runner.free,
    gpu.LaunchFuncOp: _Runner.launch,
    memref.CastOp: _Runner.same,
    memref.ReinterpretCastOp: _Runner.same,
    scf.ForOp: _Runner.loop,
    scf.IfOp: _Runner.choose,
}
