"""Constants of functions move to the module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    i32,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.module import (
    CONSTANTS,
    module_attributes,
    set_module_attribute,
)
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.statements import describe


@dataclass(frozen=True)
class ExtractPrimFuncConstants(CompilerPass):
    """Summary: Collects the contents of `tir.allocate_const` in the module.

    TVM name: tir.ExtractPrimFuncConstants (v0.20)
    Input form: any
    Output form: the same, without contents in `tir.allocate_const`
    Options: none
    Rewrites: before

            builtin.module {
              tir.func @f() {
                %p = tir.allocate_const dense<[1, 2]> : tensor<2xi32> : !tir.ptr<i32>
              }
            }

        after

            builtin.module attributes {tir.module_attrs = {
                constants = [dense<[1, 2]> : tensor<2xi32>]}} {
              tir.func @f() {
                %p = tir.allocate_const 0 : i32 : !tir.ptr<i32>
              }
            }

        The index is the place in the list `constants`. Contents of one type, shape and
        bits are there once, in the order in which the module has them first; what the
        list holds already stays in front. Time is linear in the size of the module.
    Leaves alone: all other ops; a `tir.allocate_const` that holds an index of the list
    Errors: an index that the list does not have; a list that is malformed
    Attributes: read: `constants` of the module; created: `constants`; removed: none
    Differs from TVM: the op holds either contents or an index, so that contents are
        replaced, and functions that were extracted are legal input. Constants below other
        constants are extracted; TVM does not reach them.
    """

    name = "tir-extract-prim-func-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        constants = ops_of(op, tir.AllocateConstOp)
        if not constants:
            return
        found = self._present(op)
        index_of: dict[Attribute, int] = {}
        for index, contents in enumerate(found):
            index_of.setdefault(contents, index)
        for constant in constants:
            if isinstance(constant.data, IntegerAttr):
                self._check_index(constant, len(found))
                continue
            index = index_of.get(constant.data)
            if index is None:
                index = index_of[constant.data] = len(found)
                found.append(constant.data)
            constant.properties["data"] = IntegerAttr(index, i32)
        set_module_attribute(op, CONSTANTS, ArrayAttr(found))

    def _present(self, module: ModuleOp) -> list[Attribute]:
        """The list of the module, empty where it has none."""
        try:
            present = module_attributes(module).get(CONSTANTS, ArrayAttr[Attribute]([]))
        except VerifyException as error:
            raise PassFailedException(f"{self.name}: {error}") from error
        items = (
            list(cast("ArrayAttr[Attribute]", present))
            if isinstance(present, ArrayAttr)
            else None
        )
        if items is None or not all(
            isinstance(item, DenseIntOrFPElementsAttr) for item in items
        ):
            raise PassFailedException(
                f"{self.name}: {module.name}: the attribute {CONSTANTS} must be a list "
                f"of dense arrays, got {present}"
            )
        return items

    def _check_index(self, constant: tir.AllocateConstOp, count: int) -> None:
        index = cast("IntegerAttr", constant.data).value.data
        if not 0 <= index < count:
            raise PassFailedException(
                f"{self.name}: {describe(constant)} holds no contents but the index "
                f"{index}, and the module has {count} constants; give it contents"
            )
