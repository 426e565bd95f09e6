"""Metadata of loops and of memory accesses."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, UnitAttr, i1
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

__all__ = ["AliasScopeAttr", "LoopAttr"]

_LOOP_FLAGS = frozenset(
    {
        "mustprogress",
        "unroll.disable",
        "unroll.enable",
        "unroll.full",
        "unroll_and_jam.disable",
        "unroll_and_jam.enable",
        "licm.disable",
        "distribute.enable",
        "vectorize.enable",
        "vectorize.predicate.enable",
        "vectorize.scalable.enable",
    }
)

_LOOP_COUNTS = frozenset(
    {"unroll.count", "unroll_and_jam.count", "vectorize.width", "interleave.count"}
)

_LOOP_BOOLS = frozenset(
    {
        "distribute.enable",
        "vectorize.enable",
        "vectorize.predicate.enable",
        "vectorize.scalable.enable",
    }
)


@irdl_attr_definition
class LoopAttr(ParametrizedAttribute):
    """Hints for the loop that a branch closes, as `llvm.loop.*` metadata.

    `#tvm_llvm.loop<{unroll.count = 4 : i64, vectorize.enable = true}>`. Keys are the
    metadata names without `llvm.loop.`; counts are positive `i64`, the `vectorize.*`
    and `distribute.*` switches are booleans, the rest are unit attributes. Placed under
    the key `tvm_llvm.loop` of the back-edge branch.
    """

    name = "tvm_llvm.loop"

    hints: DictionaryAttr

    def verify(self) -> None:
        for key, value in self.hints.data.items():
            if key in _LOOP_COUNTS:
                if not isinstance(value, IntegerAttr) or value.value.data < 1:
                    raise VerifyException(
                        f"loop hint '{key}' must be a positive integer, got {value}"
                    )
            elif key in _LOOP_BOOLS:
                if (
                    not isinstance(value, IntegerAttr)
                    or cast(Attribute, value.type) != i1
                ):
                    raise VerifyException(
                        f"loop hint '{key}' must be true or false, got {value}"
                    )
            elif key not in _LOOP_FLAGS:
                raise VerifyException(f"unknown loop hint '{key}'")
            elif not isinstance(value, UnitAttr):
                raise VerifyException(f"loop hint '{key}' takes no value, got {value}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [DictionaryAttr(parser.parse_optional_dictionary_attr_dict())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attr_dict(self.hints.data)


@irdl_attr_definition
class AliasScopeAttr(ParametrizedAttribute):
    """A set of memory accesses, for the type `!alias.scope` and `!noalias` metadata.

    `#tvm_llvm.alias_scope<"A", "kernel">`: scope `A` of the domain `kernel`. Two scopes
    are the same exactly if both names agree.
    """

    name = "tvm_llvm.alias_scope"

    scope: StringAttr
    domain: StringAttr
