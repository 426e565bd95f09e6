"""Dtype constructors of TVMScript: `T.int32`, `T.float32x4`, `T.handle` and so on.

A constructor makes a variable of its dtype where it is called with nothing, and converts
an expression else (docs/spec/tvmscript.md §3.2). Uncalled it annotates a parameter.
"""

from __future__ import annotations

from typing import TypeAlias, overload

from xdsl.dialects.builtin import AnyFloat, NoneType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.relax.types import PrimType
from xdsl_tvm.tvmscript.nodes.expressions import (
    Expr,
    ExprLike,
    FloatImm,
    ScriptTypeError,
    Var,
    as_type,
    cast,
    const,
)


class Dtype:
    """The constructor of one dtype."""

    def __init__(self, dtype: str | Attribute) -> None:
        self.type = as_type(dtype)

    def __repr__(self) -> str:
        return f"T.{tir.dtype_name(self.type)}"

    def relax_type(self) -> Attribute:
        """The type of scalars in Relax, which newer TVM annotates so."""
        return PrimType.of(self.type)

    @overload
    def __call__(self, value: None = None, *, is_size_var: bool = False) -> Var: ...
    @overload
    def __call__(self, value: ExprLike, *, is_size_var: bool = False) -> Expr: ...
    def __call__(
        self, value: ExprLike | None = None, *, is_size_var: bool = False
    ) -> Expr:
        """A variable, or `value` converted; `"inf"`, `"-inf"` and `"nan"` are floats.

        Raises ScriptTypeError for a constant that does not fit the dtype.
        """
        if isinstance(self.type, NoneType):
            raise ScriptTypeError("there are no values of dtype void")
        if value is None:
            return Var("", self.type, is_size_var)
        if isinstance(value, str):
            return self._special(value)
        if isinstance(value, int) and value >= 1 << 63:
            # No dtype of a bare number holds it.
            return const(value, self.type)
        return cast(self.type, value)

    def _special(self, text: str) -> Expr:
        if text not in ("inf", "-inf", "nan") or not isinstance(self.type, AnyFloat):
            raise ScriptTypeError(
                f'{self!r}("{text}"): a string is "inf", "-inf" or "nan" of a float dtype'
            )
        return FloatImm(self.type, float(text))


DtypeLike: TypeAlias = "str | Attribute | Dtype"
"""What names a dtype: TVM's name of it, its type, or its constructor."""


def dtype_of(dtype: DtypeLike) -> Attribute:
    """The type of a dtype however it is named."""
    return dtype.type if isinstance(dtype, Dtype) else as_type(dtype)


def pointer_type(element: DtypeLike, scope: str = "global") -> tir.PtrType:
    """The type of pointers to elements of a dtype; an empty scope is `global`.

    Raises ScriptTypeError for an unknown scope.
    """
    try:
        return tir.PtrType(dtype_of(element), scope or "global")
    except VerifyException as error:
        raise ScriptTypeError(str(error)) from None


class HandleDtype(Dtype):
    """The constructor of handles and typed pointers."""

    def __init__(self) -> None:
        super().__init__(tir.HandleType())

    def __call__(
        self,
        value: DtypeLike | ExprLike | None = None,
        storage_scope: str = "global",
        *,
        is_size_var: bool = False,
    ) -> Var:
        """A variable of dtype handle; with a dtype, a pointer to elements of it."""
        if value is None:
            return Var("", tir.HandleType(), is_size_var)
        if not isinstance(value, str | Attribute | Dtype):
            raise ScriptTypeError(
                "T.handle takes the dtype that a pointer points to; use T.reinterpret to "
                "convert a value"
            )
        return Var("", pointer_type(value, storage_scope))

    # Python would take it apart by indices from 0 on, without an end.
    __iter__ = None

    def __getitem__(self, args: DtypeLike | tuple[DtypeLike, str]) -> Var:
        """The deprecated spelling `T.Ptr[dtype, scope]`."""
        if isinstance(args, tuple):
            return self(args[0], args[1])
        return self(args)
