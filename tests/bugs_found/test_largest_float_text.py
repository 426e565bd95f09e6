"""The largest float32 is printed with nine digits, which are beyond it when read."""

import pytest
from support.ir import parse
from xdsl.utils.exceptions import ParseError

from xdsl_tvm.dialects import tir

LARGEST = float.fromhex("0x1.fffffep127")


@pytest.mark.parametrize("sign", ["", "-"])
def test_the_largest_float_reads_back(sign: str):
    text = f"tir.func @f() {{\n  %x = tir.const {sign}3.40282347e+38 : f32\n}}"
    module = parse(text)
    (constant,) = [op for op in module.walk() if isinstance(op, tir.ConstOp)]
    assert abs(float(constant.literal)) == LARGEST
    assert str(parse(str(module))) == str(module)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_other_dtypes_do_not_hold_it(dtype: str):
    with pytest.raises(ParseError, match="out of range"):
        parse(f"tir.func @f() {{\n  %x = tir.const 3.40282347e+38 : {dtype}\n}}")


def test_more_than_the_largest_float_is_refused():
    with pytest.raises(ParseError, match="out of range of float32"):
        parse("tir.func @f() {\n  %x = tir.const 3.40282348e+38 : f32\n}")
