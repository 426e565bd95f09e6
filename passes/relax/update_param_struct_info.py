"""Parameters get other types, and what is computed of them, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import ParseError, PassFailedException, VerifyException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.algebra import erase_symbols
from xdsl_tvm.dialects.relax.functions import infer_if, parameter_symbols
from xdsl_tvm.dialects.relax.operators import InferredResultOp
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.registry import new_context


@dataclass(frozen=True)
class UpdateParamStructInfo(CompilerPass):
    """Summary: Gives parameters other types, and infers those of what is computed of
        them.

    TVM name: relax.UpdateParamStructInfo (v0.20)
    Input form: any
    Output form: the same
    Options: `sinfo_func`: in Python, a function from a parameter to its new type, or to
        None; `types`: the same as texts, by function and position,
        "main 0 = tensor<4xf32>" (none)
    Rewrites: with `types="main 0 = tensor<8xf32>"`, before

            relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
              %y = relax.exp %x : (tensor<4xf32>) -> tensor<4xf32>
              relax.return %y : tensor<4xf32>

        after

            relax.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
              %y = relax.exp %x : (tensor<8xf32>) -> tensor<8xf32>
              relax.return %y : tensor<8xf32>

        An operation whose result has the type that its operands imply gets the one that
        the new operands imply, and so does the function's result. A type that says less
        or more than that stays. Dimensions of the result are forgotten where no parameter
        tells their symbols. Time is linear in the size of the module.
    Leaves alone: parameters that have no new type; results of calls, function literals
        and operations of other dialects; declarations
    Errors: a text that is no type of a parameter of a function; operands that do not fit
        together, or a declared type that cannot be that of a value any more
    Attributes: read: none; created: none; removed: none
    Differs from TVM: types that a program declares for itself are kept, and checked
    """

    name = "relax-update-param-struct-info"

    sinfo_func: InitVar[Callable[[BlockArgument], Attribute | None] | None] = None
    types: tuple[str, ...] = ()
    _function: Callable[[BlockArgument], Attribute | None] | None = field(
        init=False, repr=False, compare=False, default=None
    )

    def __post_init__(
        self, sinfo_func: Callable[[BlockArgument], Attribute | None] | None
    ) -> None:
        object.__setattr__(self, "_function", sinfo_func)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {
            func.sym_name.data: func
            for func in op.ops
            if isinstance(func, relax.FuncOp) and func.body.blocks
        }
        if not functions:
            return
        new: dict[BlockArgument, Attribute] = {}
        if self._function is not None:
            for func in functions.values():
                for arg in func.args:
                    if (type_ := self._function(arg)) is not None:
                        new[arg] = type_
        for text in self.types:
            arg, type_ = self._parsed(text, functions)
            new[arg] = type_
        for func in functions.values():
            if any(arg in new and new[arg] != arg.type for arg in func.args):
                self._update(func, new)

    def _parsed(
        self, text: str, functions: dict[str, relax.FuncOp]
    ) -> tuple[BlockArgument, Attribute]:
        place, _, type_ = text.partition("=")
        name, _, position = place.strip().rpartition(" ")
        func = functions.get(name)
        try:
            if func is not None and position.isdecimal():
                parsed = Parser(new_context(), type_).parse_type()
                return func.args[int(position)], parsed
        except (ParseError, IndexError):
            pass
        raise PassFailedException(
            f"{self.name}: '{text}' is no type of a parameter of a function; write it as "
            '"main 0 = tensor<4xf32>"'
        )

    def _update(self, func: relax.FuncOp, new: dict[BlockArgument, Attribute]) -> None:
        inferred = {op for op in all_ops(func) if _has_inferred_type(op)}
        is_inferred = func.return_op.value.type == func.output_type
        try:
            for arg in func.args:
                type_ = new.get(arg, arg.type)
                if type_ != arg.type:
                    Rewriter.replace_value_with_new_type(arg, type_)
            for op in _inside_out(func):
                if op in inferred:
                    _infer(op)
            told = parameter_symbols(arg.type for arg in func.args)
            output = func.return_op.value.type if is_inferred else func.output_type
            update_signature(func, erase_symbols(output, told))
            func.verify()
        except VerifyException as error:
            raise PassFailedException(
                f"{self.name}: {error}; give parameters types that fit together"
            ) from error


def _inside_out(op: Operation) -> list[Operation]:
    """The operations in an operation, each after those that it holds."""
    found: list[Operation] = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if not isinstance(inner, relax.LambdaOp):
                    found += _inside_out(inner)
                found.append(inner)
    return found


def _has_inferred_type(op: Operation) -> bool:
    """Whether the result has the very type that the operands imply."""
    type_ = _inferred(op)
    return type_ is not None and type_ == op.results[0].type


def _inferred(op: Operation) -> Attribute | None:
    match op:
        case InferredResultOp():
            return op.infer_result_type()
        case relax.TupleOp():
            return relax.TupleType.of(op.operand_types)
        case relax.AliasOp():
            return op.value.type
        case relax.IfOp():
            return infer_if(op.true_region, op.false_region)
        case relax.DataflowOp() if op.results:
            return op.results[0].type
        case _:
            return None


def _infer(op: Operation) -> None:
    if isinstance(op, relax.DataflowOp):
        types = list(op.output_op.operand_types)
    else:
        type_ = _inferred(op)
        assert type_ is not None, "it was inferred before"
        types = [type_]
    for result, type_ in zip(list(op.results), types, strict=True):
        _retype(result, type_)


def _retype(value: SSAValue, type_: Attribute) -> None:
    if value.type != type_:
        Rewriter.replace_value_with_new_type(value, type_)
