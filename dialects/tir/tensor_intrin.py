"""Tensor intrinsics: what a block computes, and what does it instead.

docs/spec/tir-ir.md §9.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir.buffers import MatchBufferOp
from xdsl_tvm.dialects.tir.functions import FuncOp
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.dialects.tir.types import HandleType


@dataclass(frozen=True, eq=False)
class TensorIntrin:
    """A description and an implementation, functions on the same buffers.

    The description says what is computed and is matched with blocks; the implementation
    takes their place. Both have as many parameters, all of them handles matched to
    buffers, of the same rank, element type and scope one by one.
    """

    desc: FuncOp
    impl: FuncOp

    _REGISTRY: ClassVar[dict[str, TensorIntrin]] = {}

    def __post_init__(self) -> None:
        """Raises VerifyException where description and implementation do not fit."""
        described, implemented = _buffers(self.desc), _buffers(self.impl)
        if len(described) != len(implemented):
            raise VerifyException(
                f"tensor intrinsic: {_name(self.desc)} has {len(described)} parameters, "
                f"but {_name(self.impl)} has {len(implemented)}"
            )
        pairs = zip(described, implemented, strict=True)
        for index, (left, right) in enumerate(pairs):
            for what, ours, theirs in (
                ("element type", left.type.element_type, right.type.element_type),
                ("scope", left.type.scope.data, right.type.scope.data),
                ("rank", left.type.get_num_dims(), right.type.get_num_dims()),
            ):
                if ours != theirs:
                    raise VerifyException(
                        f"tensor intrinsic: parameter {index} has {what} {ours} in "
                        f"{_name(self.desc)}, but {theirs} in {_name(self.impl)}"
                    )

    @staticmethod
    def register(
        name: str, desc: FuncOp, impl: FuncOp, *, override: bool = False
    ) -> TensorIntrin:
        """Make an intrinsic known under a name, and return it.

        Raises ValueError if the name is taken, unless `override` is set, and
        VerifyException where the functions do not fit.
        """
        if name in TensorIntrin._REGISTRY and not override:
            raise ValueError(
                f"tensor intrinsic '{name}' is registered already; give another name, or "
                "override=True"
            )
        intrinsic = TensorIntrin(desc, impl)
        TensorIntrin._REGISTRY[name] = intrinsic
        return intrinsic

    @staticmethod
    def get(name: str) -> TensorIntrin:
        """The intrinsic of a name. Raises ValueError for an unknown one."""
        found = TensorIntrin._REGISTRY.get(name)
        if found is None:
            known = tuple(TensorIntrin._REGISTRY)
            raise ValueError(
                f"unknown tensor intrinsic '{name}'{did_you_mean(name, known)}; register "
                "it by TensorIntrin.register"
            )
        return found

    @staticmethod
    def registered() -> tuple[str, ...]:
        """The names of all intrinsics."""
        return tuple(TensorIntrin._REGISTRY)

    @staticmethod
    def unregister(name: str) -> None:
        """Forget the intrinsic of a name. Raises ValueError for an unknown one."""
        TensorIntrin.get(name)
        del TensorIntrin._REGISTRY[name]


def _name(function: FuncOp) -> str:
    return f"@{function.sym_name.data}"


def _buffers(function: FuncOp) -> list[MatchBufferOp]:
    """The buffers of the parameters, in their order."""
    matched = function.buffer_map
    for parameter in function.args:
        if not isinstance(parameter.type, HandleType) or parameter not in matched:
            raise VerifyException(
                f"tensor intrinsic: parameter {parameter.index} of {_name(function)} "
                "must be a handle that tir.match_buffer matches"
            )
    if function.is_declaration:
        raise VerifyException(f"tensor intrinsic: {_name(function)} must have a body")
    return [matched[parameter] for parameter in function.args]
