"""Symbols and bindings that add nothing go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.passes import ModulePass

from xdsl_tvm.passes.infra import CompositePass
from xdsl_tvm.passes.relax.canonicalize_relax_bindings import CanonicalizeRelaxBindings
from xdsl_tvm.passes.relax.canonicalize_tir_variables import CanonicalizeTIRVariables


@dataclass(frozen=True)
class CanonicalizeBindings(CompositePass):
    """Summary: Removes symbols that are known otherwise, and bindings that only name,
        pack and unpack values.

    TVM name: relax.CanonicalizeBindings (v0.20)
    Input form: any
    Output form: those of its two passes
    Options: none
    Rewrites: runs `relax-canonicalize-tir-variables`, then
        `relax-canonicalize-relax-bindings`, so that a cast goes whose result turns out to
        have the type of its operand
    Leaves alone: what both leave alone
    Errors: those of `relax-canonicalize-tir-variables`
    Attributes: none of its own
    Differs from TVM: as its two passes do
    """

    name = "relax-canonicalize-bindings"
    opt_level: ClassVar[int] = 1

    def passes(self) -> tuple[ModulePass, ...]:
        return CanonicalizeTIRVariables(), CanonicalizeRelaxBindings()
