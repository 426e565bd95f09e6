"""What `HoistExpression` hoists, as flags under TVM's names."""

from enum import IntFlag


class HoistedConditionals(IntFlag):
    """Which conditions are hoisted; the bits of `hoisted_conditionals`."""

    Never = 0
    IfElseStmt = 1
    """Those of `tir.if`."""
    IfElseExpr = 2
    """Those of `tir.if_then_else`."""
    BooleanExpression = 4
    """Operands of `tir.and` and `tir.or`."""
    UsingBlockVar = 8
    """Also those that depend on a thread variable, and across its scope."""
    All = 15


class HoistedLetBindings(IntFlag):
    """Which bindings are hoisted; the bits of `hoisted_let_bindings`."""

    Never = 0
    RequiredByConditional = 1
    """Those that a hoisted condition needs."""
    LetStmt = 2
    """Bindings of statements."""
    LetExpr = 4
    """Bindings inside of expressions."""
    All = 7
