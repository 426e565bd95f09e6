"""The stacks of a function that calls packed functions."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.name_hints import set_name_hint

_UI64: Final = IntegerType(64, Signedness.UNSIGNED)


class Stacks:
    """Arguments, type codes, arrays and extents of the calls in a block.

    The ops are made when they are first asked for; `insert` puts them at the beginning
    of the block, as large as the calls need.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self.most_arguments = 0
        self.most_arrays = 0
        self.most_extents = -1
        """-1 for no shape at all; a shape may have no extent."""
        self._codes = _Stack("arg_tcode", "stack_tcode", tir.PtrType(i32), _UI64)
        self._values = _Stack("arg_value", "stack_value", None, None)
        self._arrays = _Stack("array", "stack_array", None, None)
        self._shapes = _Stack("shape", "stack_shape", tir.PtrType(i64), i64)

    def needs(self, arguments: int, arrays: int, extents: int) -> None:
        """Note how much a call uses, with all calls among its arguments."""
        self.most_arguments = max(self.most_arguments, arguments)
        self.most_arrays = max(self.most_arrays, arrays)
        self.most_extents = max(self.most_extents, extents)

    @property
    def values(self) -> SSAValue:
        """The handle of the arguments."""
        return self._values.handle

    @property
    def arrays(self) -> SSAValue:
        """The handle of the DLTensors."""
        return self._arrays.handle

    @property
    def codes(self) -> SSAValue:
        """The pointer to the type codes."""
        return self._codes.handle

    @property
    def code_buffer(self) -> SSAValue:
        """The type codes as a buffer."""
        return self._codes.buffer

    @property
    def shapes(self) -> SSAValue:
        """The pointer to the extents."""
        return self._shapes.handle

    @property
    def shape_buffer(self) -> SSAValue:
        """The extents as a buffer."""
        return self._shapes.buffer

    def insert(self) -> None:
        """Put the stacks that are used at the beginning of the block."""
        ops: list[Operation] = []
        if self.most_arguments:
            ops += self._codes.sized(self.most_arguments)
            ops += self._values.sized(self.most_arguments)
        if self.most_arrays:
            ops += self._arrays.sized(self.most_arrays)
        if self.most_extents >= 0:
            ops += self._shapes.sized(self.most_extents)
        first = self._block.first_op
        for op in ops:
            if first is None:
                self._block.add_op(op)
            else:
                self._block.insert_op_before(op, first)


class _Stack:
    """One of the stacks: its memory, and a buffer on it where it has one."""

    def __init__(
        self,
        kind: str,
        name: str,
        pointer: tir.PtrType | None,
        index_type: IntegerType | None,
    ) -> None:
        self._kind = tir.StringOp(kind)
        self._size = tir.ConstOp(IntegerAttr(0, i32))
        self._alloca = tir.CallOp(
            "tvm_stack_alloca", [self._kind.result, self._size.result], tir.HandleType()
        )
        self._let = tir.LetOp(self._alloca.results[0], name=name, result_type=pointer)
        self._index_type = index_type
        self._name = name
        self._declaration: tir.DeclBufferOp | None = None
        set_name_hint(self._let.result, name)
        if pointer is not None:
            self._declaration = self._declared(pointer, 0)

    def _declared(self, pointer: tir.PtrType, size: int) -> tir.DeclBufferOp:
        found = tir.DeclBufferOp(
            self._let.result,
            tir.BufferType([size], pointer.element_type),
            name=self._name,
            index_type=self._index_type,
        )
        set_name_hint(found.buffer, self._name)
        return found

    @property
    def handle(self) -> SSAValue:
        """The variable that holds the address."""
        return self._let.result

    @property
    def buffer(self) -> SSAValue:
        """The buffer on the memory."""
        assert self._declaration is not None, "the stack has a buffer"
        return self._declaration.buffer

    def sized(self, size: int) -> list[Operation]:
        """The ops, in order, for so many elements."""
        self._size.properties["value"] = IntegerAttr(size, i32)
        ops: list[Operation] = [self._kind, self._size, self._alloca, self._let]
        old = self._declaration
        if old is not None:
            pointer = self._let.result.type
            assert isinstance(pointer, tir.PtrType), "as it was made"
            new = self._declared(pointer, size)
            old.buffer.replace_all_uses_with(new.buffer)
            old.erase()
            ops.append(new)
        return ops
