"""State that methods of a model take and return: what was printed, caches of attention.

A state is a value of the program. `_initialize_effect` of an exported module makes the
first values; each method takes the current ones after its inputs, and returns
`(result, states)`. Functions of the runtime work on them
(`runtime/attention_caches/rows.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar

from xdsl_tvm.dialects.relax import OBJECT
from xdsl_tvm.dialects.relax.symbolic import DimLike
from xdsl_tvm.relax.block_builder import BlockBuilder
from xdsl_tvm.relax.calls import call_inplace_packed, call_pure_packed, null_value
from xdsl_tvm.relax.expr import Expr, PrimValue, ShapeExpr, Var, call
from xdsl_tvm.relax.frontend.nn.tensor import Tensor, bound, get_default_dtype
from xdsl_tvm.relax.struct_info import TensorStructInfo

_CREATE = "vm.builtin.attention_kv_cache_create"
_APPEND = "vm.builtin.attention_kv_cache_append"
_VIEW = "vm.builtin.attention_kv_cache_view"
_PRINT = "effect.print"


class Effect:
    """A state of a model, in attributes of modules; derive from it for another one."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Var]:
        """Emit what makes the first values."""
        raise NotImplementedError(f"{type(self).__name__} has no emit_init")

    def create(self, name_hint: str) -> list[Var]:
        """The parameters of a method for the current values."""
        raise NotImplementedError(f"{type(self).__name__} has no create")

    def set_state(self, state_vars: Sequence[Expr]) -> None:
        """Set the current values, in a method that begins."""
        raise NotImplementedError(f"{type(self).__name__} has no set_state")

    def finalize(self) -> list[Expr]:
        """The current values, of a method that ends."""
        raise NotImplementedError(f"{type(self).__name__} has no finalize")

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype, if the state has one."""


class StateEffect(Effect):
    """A state of one value, which is no tensor."""

    def __init__(self) -> None:
        self._state: Expr | None = None

    def create(self, name_hint: str) -> list[Var]:
        return [Var(name_hint, OBJECT)]

    def set_state(self, state_vars: Sequence[Expr]) -> None:
        (self._state,) = state_vars

    def finalize(self) -> list[Expr]:
        result = [self.state]
        self._state = None
        return result

    @property
    def state(self) -> Expr:
        """The current value. Raises RuntimeError outside of an export."""
        if self._state is None:
            raise RuntimeError(
                f"nn.{type(self).__name__} has a value while a model is exported only"
            )
        return self._state

    def update(self, value: Expr) -> None:
        """Let another value be the current one."""
        name = self._state.name_hint if isinstance(self._state, Var) else ""
        self._state = bound(value, name)


_CURRENT_IO: ContextVar[IOEffect | None] = ContextVar("nn_io_effect", default=None)


class IOEffect(StateEffect):
    """What a model prints, in order."""

    @staticmethod
    def current() -> IOEffect | None:
        """That of the model that is exported, with `debug=True`."""
        return _CURRENT_IO.get()

    def make_current(self) -> Callable[[], None]:
        """Let `print_` use this one; returns what ends that."""
        token = _CURRENT_IO.set(self)
        return lambda: _CURRENT_IO.reset(token)

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Var]:
        return [builder.emit(null_value(), f"{name_hint}.io")]

    def create(self, name_hint: str) -> list[Var]:
        return super().create(f"{name_hint}.io")

    def print_(self, tensor: Tensor) -> None:
        """Print a tensor when the model runs."""
        printed = call_pure_packed(_PRINT, self.state, tensor.expr, sinfo_args=[OBJECT])
        self.update(printed)


class KVCache(StateEffect):
    """Rows `[*unit_shape]` that grow in number: keys or values of earlier tokens."""

    def __init__(
        self, init_seq_len: int, unit_shape: Sequence[int], dtype: str | None = None
    ) -> None:
        """A cache with memory for `init_seq_len` rows, which grows if there are more.

        Raises VerifyException for an unknown dtype and a wrong dimension.
        """
        super().__init__()
        self.init_seq_len = init_seq_len
        self.unit_shape = [int(extent) for extent in unit_shape]
        self.dtype = get_default_dtype() if dtype is None else dtype
        TensorStructInfo([init_seq_len, *self.unit_shape], self.dtype)

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Var]:
        shape = ShapeExpr([self.init_seq_len, *self.unit_shape])
        memory = call("zeros", shape, self.dtype)
        made = call_pure_packed(_CREATE, memory, shape, PrimValue(0), sinfo_args=[OBJECT])
        return [builder.emit(made, name_hint)]

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype. Raises VerifyException for an unknown one."""
        if dtype is not None:
            TensorStructInfo((), dtype)
            self.dtype = dtype

    def view(self, seq_len: DimLike) -> Tensor:
        """The last `seq_len` rows, `[seq_len, *unit_shape]`."""
        shape = [seq_len, *self.unit_shape]
        type_ = TensorStructInfo(shape, self.dtype)
        viewed = call_pure_packed(_VIEW, self.state, ShapeExpr(shape), sinfo_args=[type_])
        return Tensor(_expr=bound(viewed, ""))

    def append(self, new_element: Tensor) -> None:
        """Add rows, `[n, *unit_shape]`. Raises TypeError for others."""
        shape = new_element.shape[1:]
        if new_element.dtype != self.dtype or shape != self.unit_shape:
            raise TypeError(
                f"nn.KVCache: rows are {self.unit_shape} of {self.dtype}, not "
                f"{shape} of {new_element.dtype}"
            )
        appended = call_inplace_packed(
            _APPEND,
            self.state,
            new_element.expr,
            inplace_indices=[0],
            sinfo_args=[OBJECT],
        )
        self.update(appended)
