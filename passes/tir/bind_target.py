"""Functions are bound to what they are compiled for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra import CompilerPass

_HOST = "tir.is_host_func"


@dataclass(frozen=True)
class BindTarget(CompilerPass):
    """Summary: Gives every function the attribute `target`: what it is compiled for.

    TVM name: tir.BindTarget (v0.20)
    Input form: any
    Output form: the same; every function has a target
    Options: `target`: the target, as `Target.parse` takes it: `llvm`,
        `cuda -arch=sm_80 -host=llvm`; `host`: its host, in the same forms, in place of
        one that it has
    Rewrites: functions without a target. A function that is visible outside of the
        module, which has `global_symbol`, gets the target with its host. A private one
        gets it without the host. One that runs on the host, with `tir.is_host_func`, gets
        the host as its target, `llvm` where there is none, whose host is the same again.

            tir.func @f() attributes {global_symbol = "f"}
            tir.func @g()

        after `target="cuda -host=llvm"`

            tir.func @f() attributes {
                global_symbol = "f",
                target = #tir.target<"cuda", host = #tir.target<"llvm">>}
            tir.func @g() attributes {target = #tir.target<"cuda">}

        A target that a visible function has already gets the host, if it has none. Time
        is linear in the size of the module.
    Leaves alone: other targets that functions have; bodies; functions of other dialects
    Errors: a target or a host that does not parse
    Attributes: read: `global_symbol`, `target`, `tir.is_host_func`; created: `target`;
        removed: `tir.is_host_func`
    Differs from TVM: the option `host` is the second argument of TVM's `Target`;
        declarations get a target as well
    """

    name = "tir-bind-target"

    target: str
    host: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        binding = _Binding(self._parsed())
        for func in ops_of(op, tir.FuncOp):
            found = binding.target_of(func)
            func.attributes.pop(_HOST, None)
            func.attributes["target"] = found

    def _parsed(self) -> Target:
        try:
            target = Target.parse(self.target)
            return target if self.host is None else target.with_host(self.host)
        except ValueError as error:
            raise PassFailedException(f"{self.name}: {error}") from error


class _Binding:
    """The targets that functions without one get, by their role."""

    def __init__(self, target: Target) -> None:
        self.exposed = target
        self.host = target.host_target

    @cached_property
    def private(self) -> Target:
        return self.exposed.without_host()

    @cached_property
    def on_host(self) -> Target:
        host = self.host or Target.parse("llvm")
        return host.with_host(host)

    def target_of(self, func: tir.FuncOp) -> Target:
        is_exposed = "global_symbol" in func.attributes
        own = func.attributes.get("target")
        if isinstance(own, Target):
            if self.host is None or own.host_target is not None or not is_exposed:
                return own
            return own.with_host(self.host)
        if is_true(func.attributes.get(_HOST)):
            return self.on_host
        return self.exposed if is_exposed else self.private
