"""Vector stores that bypass the caches, at addresses of which nothing is known.

Processors write a line of memory past the caches at once, from a vector that begins where
the line does. For an address that may be any, LLVM writes a few bytes at a time, each
past the caches. So the address decides when the program runs, in a function for each type
of vectors, which LLVM inlines.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    UnitAttr,
    f16,
    i64,
)
from xdsl.ir import Block, Operation, Region

from xdsl_tvm.dialects.dtypes import element_of, lanes_of
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.quick_operation import create, segments
from xdsl_tvm.lowering.to_llvm._symbols import Symbols, symbol_table

LINE_BYTES = 64
_LEAST_BYTES = 16
_STEM = "store_past_caches"


def store_past_caches(
    run: LocatedBuilder,
    symbols: Symbols,
    user: Operation,
    store: llvm.StoreOp,
    size: int,
) -> None:
    """Insert a nontemporal store of a vector of `size` bytes, of which only the natural
    alignment is known, as a call of the function for such vectors.

    What is smaller than 16 bytes, or no power of two, is stored as it is, and so are
    vectors of f16: LLVM has no instruction for them that stores a whole one.
    """
    vector, pointer = (operand.type for operand in store.operands)
    if size < _LEAST_BYTES or size & (size - 1) or element_of(vector) == f16:
        run.insert_op(store)
        return
    module = symbol_table(user)
    name = f"{_STEM}_{lanes_of(vector)}x{element_of(vector)}"
    found = symbols.table(module).get(name)
    type_ = llvm.LLVMFunctionType([vector, pointer])
    if not isinstance(found, llvm.FuncOp) or found.function_type != type_:
        name = symbols.unique(module, name)
        body = _body(store, size)
        function = llvm.FuncOp(
            name,
            type_,
            linkage=llvm.LinkageAttr("internal"),
            body=body,
            extra_attrs={"always_inline": UnitAttr()},
        )
        symbols.add(module, name, function)
    run.insert_op(llvm.CallOp(SymbolRefAttr(name), *store.operands))
    store.erase()


def _body(store: llvm.StoreOp, size: int) -> Region:
    """Stores at the beginning of a line, or at any other address."""
    line = min(size, LINE_BYTES)
    types = [operand.type for operand in store.operands]
    entry, aligned, other = Block(arg_types=types), Block(), Block()
    at = LocatedBuilder(entry, store)
    number = at.insert(llvm.PtrToIntOp(entry.args[1], i64))
    rest = at.insert(llvm.AndOp(number, at.insert(llvm.ConstantOp(_int(line - 1), i64))))
    zero = at.insert(llvm.ConstantOp(_int(0), i64))
    begins = at.insert(llvm.ICmpOp(rest, zero, _int(_EQUAL)))
    at.insert_op(
        create(
            llvm.CondBrOp,
            operands=[begins],
            successors=[aligned, other],
            properties={"operandSegmentSizes": segments(1, 0, 0)},
        )
    )
    assert store.alignment is not None, "given"
    for block, alignment in ((aligned, _int(line)), (other, store.alignment)):
        properties = {**store.properties, "alignment": alignment}
        block.add_op(
            create(llvm.StoreOp, operands=list(entry.args), properties=properties)
        )
        block.add_op(llvm.ReturnOp())
    return Region([entry, aligned, other])


def _int(value: int) -> IntegerAttr[IntegerType]:
    return IntegerAttr(value, i64)


_EQUAL = 0
"""The predicate of comparisons."""
