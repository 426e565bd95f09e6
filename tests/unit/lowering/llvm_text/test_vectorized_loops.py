"""Which text LLVM's vectorizers have nothing to find in."""

from __future__ import annotations

import pytest

from xdsl_tvm.lowering.llvm_text.vectorized_loops import is_vectorized

VECTOR = "%x = load <4 x float>, ptr %p, align 4\n  store <4 x float> %x, ptr %q, align 4"
SCALAR = "%x = load float, ptr %p, align 4\n  store float %x, ptr %q, align 4"
SPLAT = "%y = insertelement <4 x float> undef, float %f, i64 0"
SPLAT_OF_INTEGERS = "%z = insertelement <4 x i64> undef, i64 %i, i64 0"
GATHER = "%y = insertelement <4 x float> %z, float %f, i64 1"
FULL = ", !llvm.loop !1"
HINTS = """
!0 = !{!"llvm.loop.unroll.full"}
!1 = distinct !{!1, !0}
!2 = !{!"llvm.loop.unroll.disable"}
!3 = distinct !{!3, !2}
"""


def loop(body: str, hint: str = "") -> str:
    """A module whose only function has one loop."""
    return f"""declare void @g(ptr)
define void @f(ptr %p, ptr %q, i64 %n) {{
b0:
  br label %b1
b1:
  %i = phi i64 [ 0, %b0 ], [ %j, %b1 ]
  {body}
  %j = add nsw i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %b1, label %b2{hint}
b2:
  ret void
}}
{HINTS}"""


def nest(inner: str, outer: str, hint: str) -> str:
    """A module with a loop in a loop; the hint is that of the inner one."""
    return f"""define void @f(ptr %p, ptr %q, i64 %n) {{
b0:
  br label %b1
b1:
  %i = phi i64 [ 0, %b0 ], [ %j, %b3 ]
  {outer}
  br label %b2
b2:
  %k = phi i64 [ 0, %b1 ], [ %l, %b2 ]
  {inner}
  %l = add nsw i64 %k, 1
  %d = icmp slt i64 %l, 4
  br i1 %d, label %b2, label %b3{hint}
b3:
  %j = add nsw i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %b1, label %b4
b4:
  ret void
}}
{HINTS}"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (loop(VECTOR), True),
        (loop(f"{VECTOR}\n  {SPLAT}"), True),
        (loop(f"{VECTOR}\n  {SPLAT_OF_INTEGERS}"), True),
        (loop(SCALAR), False),
        (loop(SCALAR, ", !llvm.loop !3"), False),
        (loop("%x = add i64 %i, 3"), True),
        (loop(f"{VECTOR}\n  {GATHER}"), False),
        (loop(f"{SCALAR}\n  call void @g(ptr %p)"), True),
        (loop("call void @f(ptr %p, ptr %q, i64 %n)"), False),
        (loop(f"{SCALAR}\n  call float @llvm.fabs.f32(float %x)"), False),
        # What is unrolled is a part of the loop around it.
        (nest(VECTOR, "", ""), True),
        (nest(VECTOR, "", FULL), True),
        (nest("", VECTOR, FULL), True),
        (nest("", VECTOR, ""), True),
        (nest(SCALAR, VECTOR, ""), False),
        (nest("%x = load float, ptr %p", VECTOR, FULL), True),
        (nest("%x = load float, ptr %p", "", FULL), False),
        # Four stores beside each other.
        (nest(SCALAR, VECTOR, FULL), False),
        (nest(VECTOR, SCALAR, ""), True),
        (nest(VECTOR, f"{SCALAR}\n  {SCALAR}", ""), False),
    ],
)
def test_loops(text: str, expected: bool) -> None:
    assert is_vectorized(text) is expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [("", False), ("noinline", True), ("alwaysinline", False)],
)
def test_calls(attributes: str, expected: bool) -> None:
    """A function that LLVM would inline is not left where it is."""
    text = f"""define internal void @"a b"(ptr %p) {attributes} {{
b0:
  ret void
}}
define void @f(ptr %p) {{
b0:
  call void @"a b"(ptr %p)
  ret void
}}
"""
    assert is_vectorized(text) is expected
