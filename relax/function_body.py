"""The body of a function that is built: its blocks, and what may be added where.

`BlockBuilder` and the reader of scripts add their operations to one, so both check purity
and symbols here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.dialects.relax.types import (
    definable_symbols,
    is_bool_scalar,
    symbols_in,
    verify_type,
)


class FunctionBody:
    """The blocks of a function, the innermost one open, and the symbols visible there.

    All methods raise VerifyException for what the rules of the dialect forbid.
    """

    def __init__(self, name: str, params: Sequence[Attribute], *, is_pure: bool) -> None:
        self.name = name
        self.entry = Block(arg_types=params)
        self.block = self.entry
        """Where operations are added."""
        self.symbols = set(parameter_symbols(params))
        self.is_pure = is_pure
        """Whether impure operations are refused."""
        self.is_in_dataflow = False

    # ---- blocks ----

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Operations are added to a block; symbols that it defines are its own."""
        before, symbols = self.block, self.symbols
        self.block, self.symbols = block, set(symbols)
        try:
            yield
        finally:
            self.block, self.symbols = before, symbols

    @contextmanager
    def dataflow(self) -> Generator[Block]:
        """A dataflow block; symbols that it defines stay visible after it."""
        if self.is_in_dataflow:
            raise VerifyException(
                "relax.dataflow: a dataflow block cannot be in another one"
            )
        block, self.is_in_dataflow = Block(), True
        try:
            with self.inside(block):
                yield block
                symbols = self.symbols
        finally:
            self.is_in_dataflow = False
        self.symbols = symbols

    # ---- operations ----

    def add(self, op: Operation, *, is_verified: bool = False) -> None:
        """Add an operation; `is_verified` if it is known to be valid by itself."""
        self._check_purity(op)
        self.check_visible(f"{op.name}: ", symbols_in(op))
        if not is_verified:
            op.verify_()
        self.block.add_op(op)

    def match_cast(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The value under a type that is checked at run time.

        Symbols of the type that are not visible, and are a dimension by themselves, are
        defined by it.
        """
        verify_type(type_)
        new = [name for name in definable_symbols(type_) if name not in self.symbols]
        op = relax.MatchCastOp(value, type_, new)
        op.verify_()
        self.symbols.update(new)
        self.add(op, is_verified=True)
        return op.result

    def add_dataflow(
        self, block: Block, outputs: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """End a dataflow block and add it; what stands for its outputs after it."""
        block.add_op(relax.OutputOp(*outputs))
        op = relax.DataflowOp([output.type for output in outputs], Region(block))
        self.add(op)
        return op.results

    # ---- rules ----

    @property
    def allows_effects(self) -> bool:
        """Whether an impure operation may be added."""
        return not self.is_in_dataflow and not self.is_pure

    def check_if(self, condition: Attribute) -> None:
        """Check that a `relax.if` on a condition of that type may be added."""
        if self.is_in_dataflow:
            raise VerifyException(
                "relax.if is in a dataflow block; a dataflow block holds no 'if', "
                "put it before or after"
            )
        if not is_bool_scalar(condition):
            raise VerifyException(
                "relax.if: the condition must be a tensor of rank 0 of bool, not "
                f"{condition}"
            )

    def _check_purity(self, op: Operation) -> None:
        if not relax.is_impure(op):
            return
        if self.is_in_dataflow:
            raise VerifyException(
                f"{op.name} in @{self.name} is impure and is in a dataflow block; "
                "put it before or after the block"
            )
        if self.is_pure:
            raise VerifyException(
                f"{op.name} in @{self.name} is impure and the function is not; build it "
                "with pure=False, as in @R.function(pure=False)"
            )

    def check_visible(self, prefix: str, names: Iterable[str]) -> None:
        """Raises VerifyException for a symbol that nothing has defined."""
        for name in names:
            if name not in self.symbols:
                raise VerifyException(
                    f"{prefix}the symbolic dimension '{name}' has no value here; a "
                    "parameter or a match_cast above must have it as a dimension by "
                    "itself"
                )
