"""The text of one function of an LLVM module: names of values and blocks, and lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.all_ops import ops_in
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.quick_accessors import (
    first_result,
    segment_starts,
    stored_operands,
    type_of,
)
from xdsl_tvm.lowering.llvm_text.module_tables import ModuleTables
from xdsl_tvm.lowering.llvm_text.types import constant_text, name_text, space_of

_is_constant = of_classes(
    llvm.AddressOfOp, llvm.ConstantOp, llvm.UndefOp, llvm.ZeroOp, tvm_llvm.PoisonOp
)


def edges(op: Operation) -> list[tuple[Block, Sequence[SSAValue]]]:
    """The successors of a terminator with the arguments they get."""
    if not _is_jump(op):
        return []
    if isinstance(op, llvm.BrOp):
        return [(op.successors[0], stored_operands(op))]
    if isinstance(op, llvm.CondBrOp):
        operands, starts = stored_operands(op), segment_starts(op)
        then, otherwise = op.successors
        return [(then, operands[1 : starts[2]]), (otherwise, operands[starts[2] :])]
    cases = [(block, arguments) for _, block, arguments in op.cases]
    return [(op.default_destination, op.default_operands), *cases]


_is_jump = of_classes(llvm.BrOp, llvm.CondBrOp, tvm_llvm.SwitchOp)


_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class FunctionEmitter:
    """The text of one function: names of its values and blocks, and its lines."""

    def __init__(self, module: ModuleTables) -> None:
        self.module = module
        self.types = module.types
        self.lines: list[str] = []
        self.values: dict[SSAValue, str] = {}
        self.labels: dict[Block, str] = {}
        self.incoming: dict[Block, list[tuple[str, Sequence[SSAValue]]]] = {}
        self.edge_labels: dict[tuple[Operation, int], str] = {}
        self._counter = 0

    def name_all(self, op: llvm.FuncOp) -> None:
        """Names blocks and values ahead, so that blocks may be in any order."""
        blocks = op.body.blocks
        for index, argument in enumerate(blocks[0].args):
            self.values[argument] = f"%a{index}"
        for index, block in enumerate(blocks):
            self.labels[block] = f"b{index}"
        for block in blocks:
            for argument in block.args:
                self.values.setdefault(argument, self.fresh())
            for inner in ops_in(block):
                if not self.add_constant(inner):
                    for result in inner.results:
                        self.values[result] = self._name(inner, result)
            if (last := block.last_op) is not None:
                self._add_edges(block, last, edges(last), blocks[0])

    def _add_edges(
        self,
        block: Block,
        last: Operation,
        targets: Sequence[tuple[Block, Sequence[SSAValue]]],
        entry: Block,
    ) -> None:
        seen: set[Block] = set()
        for index, (target, arguments) in enumerate(targets):
            if target is entry:
                raise DiagnosticException(
                    f"'{last.name}' jumps to the entry block of its function: "
                    "put an empty block before it"
                )
            source = self.labels[block]
            if target in seen and arguments:
                # Two edges between the same blocks cannot carry different values.
                source = self.edge_labels[last, index] = f"{source}.e{index}"
            seen.add(target)
            self.incoming.setdefault(target, []).append((source, arguments))

    def _name(self, op: Operation, result: SSAValue) -> str:
        """A new local name, which for arrays in kernels tells which one it is."""
        if self.module.sm and isinstance(op, llvm.AllocaOp):
            hint = result.name_hint or ""
            if _WORD.fullmatch(hint):
                return f"%{hint}.{self.fresh()[1:]}"
        return self.fresh()

    def fresh(self) -> str:
        """A new local name."""
        self._counter += 1
        return f"%v{self._counter}"

    def add_constant(self, op: Operation) -> bool:
        """Whether `op` is a constant; then its uses are written as the constant."""
        if not _is_constant(op):
            return False
        if isinstance(op, llvm.ConstantOp):
            text = constant_text(op.value, first_result(op).type, self.types)
        elif isinstance(op, llvm.AddressOfOp):
            text = self._address(op)
        elif isinstance(op, llvm.UndefOp):
            text = "undef"
        elif isinstance(op, llvm.ZeroOp):
            pointer = isinstance(op.res.type, llvm.LLVMPointerType)
            text = "null" if pointer else "zeroinitializer"
        else:
            text = "poison"
        self.values[first_result(op)] = text
        return True

    def _address(self, op: llvm.AddressOfOp) -> str:
        name = op.global_name.string_value()
        target = self.module.symbols.get(name)
        if target is None:
            raise DiagnosticException(
                f"'{op.name}' refers to '@{name}', which is not there"
            )
        space = target.addr_space.value.data if isinstance(target, llvm.GlobalOp) else 0
        type = op.result.type
        if space_of(type) != space:
            raise DiagnosticException(
                f"'@{name}' is in address space {space}, but its address is {type}"
            )
        return f"@{name_text(name)}"

    # ------------------------------------------------------------------- lines

    def value(self, value: SSAValue) -> str:
        """The operand, without its type."""
        text = self.values.get(value)
        if text is None:
            raise DiagnosticException(
                "a function uses a value of another function: pass it as an argument"
            )
        return text

    def type(self, value: SSAValue) -> str:
        """The type of a value."""
        return self.types.text(type_of(value))

    def typed(self, value: SSAValue) -> str:
        """The operand with its type before it."""
        return f"{self.types.text(type_of(value))} {self.value(value)}"

    def typed_list(self, values: Iterable[SSAValue]) -> str:
        """Operands with types, separated by commas."""
        return ", ".join(map(self.typed, values))

    def line(self, text: str) -> None:
        """Adds an instruction without a result."""
        self.lines.append(f"  {text}")

    def assign(self, op: Operation, text: str) -> None:
        """Adds the instruction that defines the only result of `op`."""
        self.lines.append(f"  {self.values[first_result(op)]} = {text}")

    def call_intrinsic(
        self,
        op: Operation,
        name: str,
        arguments: Sequence[str],
        types: Sequence[Attribute],
        flags: str = "",
    ) -> None:
        """Calls an intrinsic with operands `arguments` (typed) of types `types`."""
        result = self.type(op.results[0]) if op.results else "void"
        self.module.declare(name, f"{result} @{name}({self.types.list(types)})")
        text = f"call {flags}{result} @{name}({', '.join(arguments)})"
        if op.results:
            self.assign(op, text)
        else:
            self.line(text)


def fast_math(op: Operation) -> str:
    """The fast-math flags of `op`, each followed by a space."""
    flags = op.properties.get("fastmathFlags")
    if not isinstance(flags, llvm.FastMathAttr) or not flags.data:
        return ""
    if len(flags.data) == len(FastMathFlag):
        return "fast "
    return "".join(f"{flag.value} " for flag in FastMathFlag if flag in flags.data)
