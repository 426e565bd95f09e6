"""A `tir.func` as a `func.func`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.dialects.tir.annotations import packed_abi
from xdsl_tvm.lowering.runtime_symbols import NOALIAS
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.calling_convention import (
    argument_types,
    bound_symbols,
)
from xdsl_tvm.lowering.tir.conversion.packed import memory_at
from xdsl_tvm.lowering.tir.conversion.types import signless
from xdsl_tvm.lowering.tir.conversion.views import Memory
from xdsl_tvm.lowering.to_llvm.lower_assert import RETURNS_STATUS

ConverterFactory = Callable[[Block, ModuleOp, str], BodyConverter]
"""A converter for an entry block, the module, and the name of the function."""


def is_noalias(source: tir.FuncOp) -> bool:
    """Whether the function promises that its buffers do not overlap."""
    value = source.attributes.get("tir.noalias")
    if isinstance(value, IntegerAttr):
        return value.value.data != 0
    return isinstance(value, UnitAttr)


def is_packed(source: tir.FuncOp) -> bool:
    """Whether a function has a packed convention."""
    return packed_abi(source) is not None


def convert_function(
    source: tir.FuncOp, converter: ConverterFactory, space: int, module: ModuleOp
) -> func.FuncOp:
    """The function that `source` becomes; it is not inserted anywhere yet.

    `converter` makes the converter of the body; memrefs are in address space `space`.
    Globals that the function needs are added to `module`.

    Raises PassFailedException for what cannot be lowered.
    """
    symbols = bound_symbols(source)
    function_type = converted_type(source, space)
    inputs = list(function_type.inputs)
    body = Region()
    if not source.is_declaration:
        block = Block(arg_types=inputs)
        body.add_block(block)
        _fill(source, converter(block, module, source.sym_name.data), block, symbols)
    properties: dict[str, Attribute] = {
        "sym_name": source.sym_name,
        "function_type": function_type,
    }
    if "global_symbol" not in source.attributes or source.is_declaration:
        properties["sym_visibility"] = StringAttr("private")
    if is_noalias(source):
        properties["arg_attrs"] = noalias_arguments(inputs)
    result = create(func.FuncOp, properties=properties, regions=[body])
    if is_packed(source):
        result.attributes[RETURNS_STATUS] = UnitAttr()
    result.location = source.location
    return result


def converted_type(source: tir.FuncOp, space: int) -> FunctionType:
    """The type of the function that `source` becomes, memrefs in address space `space`.

    Raises PassFailedException for parameters that cannot be lowered.
    """
    inputs = [*argument_types(source, space), *(i64 for _ in bound_symbols(source))]
    results = [signless(dtype) for dtype in source.function_type.outputs]
    return FunctionType.from_lists(inputs, results)


def noalias_arguments(inputs: Sequence[Attribute]) -> ArrayAttr[DictionaryAttr]:
    """The attributes of arguments of which the memrefs do not overlap."""
    noalias = DictionaryAttr({NOALIAS: UnitAttr()})
    none = DictionaryAttr({})
    return ArrayAttr(
        noalias if isinstance(dtype, MemRefType) else none for dtype in inputs
    )


def _fill(
    source: tir.FuncOp,
    cv: BodyConverter,
    block: Block,
    symbols: list[SSAValue],
) -> None:
    cv.source = source
    cv.is_packed = is_packed(source)
    count = len(source.args)
    _bind_symbols(cv, symbols, block.args[count:])
    bind_parameters(cv, source, block)
    cv.convert_ops(source.body.block)
    cv.source = source
    expected = source.function_type.outputs.data
    if expected and cv.returned is None:
        raise cv.fail(f"function @{source.sym_name.data} ends without a tir.ret")
    if expected and cv.returned is not None:
        result, found = signless(expected[0]), cv.returned.type
        if found != result:
            advice = "cast the value"
            if not isinstance(result, IntegerType | AnyFloat):
                advice = "pass a buffer to write to"
            raise cv.fail(
                f"function @{source.sym_name.data} has a result of {result}, but its "
                f"tir.ret has {found}; {advice}"
            )
    returned = [] if cv.returned is None or not expected else [cv.returned]
    cv.emit(create(func.ReturnOp, operands=returned))


def _bind_symbols(
    cv: BodyConverter, symbols: list[SSAValue], arguments: tuple[SSAValue, ...]
) -> None:
    for symbol, argument in zip(symbols, arguments, strict=True):
        argument.name_hint = symbol.name_hint
        value = argument
        dtype = signless(symbol.type)
        if dtype != i64:
            value = cv.build(arith.TruncIOp, [argument], dtype)
        cv.values[symbol] = value


def bind_parameters(cv: BodyConverter, source: tir.FuncOp, block: Block) -> None:
    """Let the arguments of a block stand for the parameters of a function."""
    for parameter, argument in zip(source.args, block.args, strict=False):
        argument.name_hint = parameter.name_hint
        if not isinstance(parameter.type, tir.PtrType):
            # Of a handle with a buffer it is the memref, which only the buffer asks for.
            cv.values[parameter] = argument
        elif isinstance(argument.type, MemRefType):
            cv.memories[parameter] = Memory(argument)
        else:
            cv.memories[parameter] = memory_at(cv, argument, parameter.type)
