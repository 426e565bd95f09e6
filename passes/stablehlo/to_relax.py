"""Programs of StableHLO, as JAX prints them, become functions of Relax."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects.stablehlo import CHLO, StableHLO
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols, referenced_symbols
from xdsl_tvm.passes.stablehlo.conversion import FunctionConversion

_OPERATIONS = (*StableHLO.operations, *CHLO.operations)


@dataclass(frozen=True)
class ToRelax(CompilerPass):
    """Summary: Converts functions of StableHLO to functions of Relax.

    TVM name: none
    Input form: public `func.func` on tensors of known shape, with one block, that hold
        `stablehlo` or `chlo` operations, themselves or in what they call
    Output form: `relax.func` of the same names, with `global_symbol`
    Options: none
    Rewrites: before

            func.func public @main(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> … {
              %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : …
              %1 = call @relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
              return %1 : tensor<2x3xf32>
            }

        after

            relax.func @main(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> … {
              %r = relax.dataflow -> (tensor<2x3xf32>) {
                %0 = relax.matmul %x, %w dtype f32 : …
                … the operations of @relu
                relax.output %1 : tensor<2x3xf32>
              }
              relax.return %r : tensor<2x3xf32>
            }

        Several results become a tuple. Calls are inlined, and private functions that
        nothing calls any more are erased. Loops are unrolled whose number of steps
        follows from constants, at most 1024; others become private functions, `while_0`
        and so on, that end by calling themselves. Branches become `relax.if`, or the
        chosen one where the condition is known. Reductions, windows, sorts and scatters
        are recognized by their body. Gathers and scatters that no operator of Relax is
        are one of a vector, with the numbers of elements computed. Time is linear in the
        size of the result.
    Leaves alone: other functions, and the rest of the module
    Errors: operations and element types that are not converted, `custom_call` by the name
        that it calls, shapes that are not known, bodies that are not recognized,
        recursion, loops whose condition always holds; more than 262144 operations; a type
        of a result that does not follow from the operands
    Attributes: read: none; created: `global_symbol`; removed: those of the functions
    Differs from TVM: TVM's `from_stablehlo` is a Python function on MLIR's own objects,
        which knows fewer operations
    """

    name = "stablehlo-to-relax"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {
            each.sym_name.data: each
            for each in op.ops
            if isinstance(each, FuncOp) and each.body.blocks
        }
        converted = _functions_of_stablehlo(functions)
        self._refuse_foreign(op)
        inlined: set[str] = set()
        made: list[tuple[FuncOp, Operation]] = []
        loops: list[Operation] = []
        taken = set(module_symbols(op))
        for name in converted:
            func = functions[name]
            if _is_private(func):
                continue
            conversion = FunctionConversion(self.name, functions, taken)
            made.append((func, conversion.converted(func)))
            loops += conversion.loops
            inlined |= conversion.inlined
        for old, new in made:
            block = old.parent_block()
            assert block is not None
            block.insert_op_before(new, old)
            old.detach()
            old.erase()
        op.body.block.add_ops(loops)
        _erase_unused(op, {functions[name] for name in inlined | converted})

    def _refuse_foreign(self, module: ModuleOp) -> None:
        """Operations of a dialect `stablehlo` that another package defines."""
        for op in module.walk():
            if op.name.startswith(("stablehlo.", "chlo.")) and not isinstance(
                op, _OPERATIONS
            ):
                raise PassFailedException(
                    f"{self.name}: {op.name}: the operation is not one of this "
                    "package's dialect; read the text with xdsl-tvm"
                )


def _is_private(func: FuncOp) -> bool:
    visibility = func.sym_visibility
    return isinstance(visibility, StringAttr) and visibility.data == "private"


def _functions_of_stablehlo(functions: dict[str, FuncOp]) -> set[str]:
    """The functions that hold operations of StableHLO, or call such functions."""
    callers: dict[str, set[str]] = {}
    pending: list[str] = []
    for name, func in functions.items():
        has_operation = False
        for op in func.walk():
            has_operation |= isinstance(op, _OPERATIONS)
            if isinstance(op, CallOp):
                callers.setdefault(op.callee.string_value(), set()).add(name)
        if has_operation:
            pending.append(name)
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(callers.get(name, ()))
    return found


def _erase_unused(module: ModuleOp, candidates: set[FuncOp]) -> None:
    """Erases private functions that are referred to no more, until there are none."""
    left = {func for func in candidates if func.parent is not None and _is_private(func)}
    while True:
        used = {
            name for op in module.ops if op not in left for name in referenced_symbols(op)
        }
        reached = {func for func in left if func.sym_name.data in used}
        if not reached:
            break
        left -= reached
    for func in left:
        func.detach()
        func.erase()
