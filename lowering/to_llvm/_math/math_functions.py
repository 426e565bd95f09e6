"""Elementary functions as sequences of additions, multiplications and bit operations.

Every function is branch-free, so that LLVM vectorises a loop around it, and takes and
gives NaN, infinities, signed zeros and denormals as C's functions do (C23, annex F).

Polynomial coefficients without a source are Chebyshev fits made for this package in
50-digit arithmetic (mpmath.chebyfit); the series of exp is Taylor's. Those of log and of
sin and cos on [-pi/4, pi/4] are the minimax polynomials of FreeBSD's msun, as are the
ways of combining them (e_log.c, e_logf.c, k_sin.c, k_cos.c).

`tests/unit/lowering/to_llvm/test_expand_math.py` measures the error of each function.
"""

from __future__ import annotations

import math

from xdsl_tvm.lowering.to_llvm._math.float_values import (
    DOUBLE,
    SINGLE,
    Bits,
    Format,
    Value,
)

_INF = math.inf
_NAN = math.nan

_LN2 = {
    SINGLE: (0.6931471824645996, -1.9046542121259336e-09),
    DOUBLE: (0.6931471805599453, 2.3190468138462996e-17),
}
"""ln 2 as a sum of two numbers, each rounded to nearest."""

_LN2_SHORT = {
    SINGLE: (6.9313812256e-01, 9.0580006145e-06),
    DOUBLE: (6.93147180369123816490e-01, 1.90821492927058770002e-10),
}
"""ln 2 likewise; products of the first with an exponent are exact."""

_INVERSE_LN2 = {
    SINGLE: (1.4426950216293335, 1.925963033500011e-08),
    DOUBLE: (1.4426950408889634, 2.0355273740931033e-17),
}
_INVERSE_LN10 = {
    SINGLE: (0.4342944920063019, -1.0103049952192578e-08),
    DOUBLE: (0.4342944819032518, 1.098319650216765e-17),
}
_LOG10_2 = {
    SINGLE: (0.301025390625, 4.605039066518657e-06),
    DOUBLE: (0.3010299955494702, 1.1451100898021838e-10),
}

_EXP_TERMS = {SINGLE: 8, DOUBLE: 14}
_EXP_RANGE = {SINGLE: (-104.0, 89.0), DOUBLE: (-746.0, 710.0)}
_EXP2_RANGE = {SINGLE: (-150.0, 129.0), DOUBLE: (-1076.0, 1025.0)}
_EXPM1_RANGE = {SINGLE: (-20.0, 89.0), DOUBLE: (-40.0, 710.0)}


def _exp_series(format: Format) -> list[float]:
    """Coefficients of (exp(r) - 1 - r) / r^2."""
    return [1.0 / math.factorial(k) for k in range(2, _EXP_TERMS[format])]


def _clamp(x: Value, low: float, high: float) -> Value:
    """`x` between the bounds; NaN stays."""
    x = x.compare("ogt", high).select(high, x)
    return x.compare("olt", low).select(low, x)


def _nearest(x: Value, factor: float) -> tuple[Value, Bits]:
    """The integer nearest to x * factor, as a float and as an integer."""
    shifted = x.fma(factor, x.format.magic)
    return shifted - x.format.magic, shifted.bits() - x.format.magic_bits


def _power_of_two(exponent: Bits) -> Value:
    """2^exponent for exponents of normal numbers."""
    return ((exponent + exponent.format.bias) << exponent.format.mantissa).value()


def _scale(y: Value, exponent: Bits) -> Value:
    """y * 2^exponent, in two steps so that each factor is a normal number."""
    half = exponent >> 1
    return y * _power_of_two(half) * _power_of_two(exponent - half)


def _exp_tail(r: Value) -> Value:
    """exp(r) - 1 for |r| <= ln(2) / 2."""
    return (r * r).fma(r.polynomial(_exp_series(r.format)), r)


def _reduce_exp(x: Value) -> tuple[Value, Bits]:
    """r and n such that x = r + n ln 2, with |r| <= ln(2) / 2."""
    high, low = _LN2[x.format]
    number, exponent = _nearest(x, _INVERSE_LN2[x.format][0])
    return number.fma(-low, number.fma(-high, x)), exponent


def exp(x: Value) -> Value:
    r, exponent = _reduce_exp(_clamp(x, *_EXP_RANGE[x.format]))
    return _scale(_exp_tail(r) + 1.0, exponent)


def exp2(x: Value) -> Value:
    x = _clamp(x, *_EXP2_RANGE[x.format])
    high, low = _LN2[x.format]
    number, exponent = _nearest(x, 1.0)
    fraction = x - number
    r = fraction * high
    error = fraction.fma(high, -r) + fraction * low
    tail = (r * r).fma(r.polynomial(_exp_series(x.format)), error) + r
    return _scale(tail + 1.0, exponent)


def expm1(x: Value) -> Value:
    r, exponent = _reduce_exp(_clamp(x, *_EXPM1_RANGE[x.format]))
    # Half of 2^n, which is finite where the result is.
    half = _power_of_two(exponent - 1)
    y = half.fma(_exp_tail(r), half - 0.5) * 2.0
    tiny = abs(x).compare("olt", 2.0 ** -(x.format.mantissa + 2))
    return tiny.select(x, y)


# ----------------------------------------------------------------------- logarithms

_LOG_SERIES = {
    SINGLE: (
        0.66666662693023681640625,
        0.40000972151756286621,
        0.28498786687850952148,
        0.24279078841209411621,
    ),
    DOUBLE: (
        6.666666666666735130e-01,
        3.999999999940941908e-01,
        2.857142874366239149e-01,
        2.222219843214978396e-01,
        1.818357216161805012e-01,
        1.531383769920937332e-01,
        1.479819860511658591e-01,
    ),
}
"""(log(1 + f) - f + f^2/2) / s - f^2/2 in powers of z = s^2, s = f / (2 + f)."""


def _split_exponent(x: Value) -> tuple[Value, Value]:
    """m in [sqrt(1/2), sqrt(2)) and a whole k such that a positive x is m 2^k."""
    format = x.format
    lift = format.mantissa + 2
    small = x.compare("olt", 2.0 ** (1 - format.bias))
    bits = small.select(x * 2.0**lift, x).bits()
    root = _bits_of(math.sqrt(0.5), format)
    exponent = (bits - root) >> format.mantissa
    m = (bits - (exponent << format.mantissa)).value()
    number = (exponent + format.magic_bits).value() - format.magic
    return m, number - small.select(x.lift(float(lift)), 0.0)


def _bits_of(number: float, format: Format) -> int:
    import struct

    if format is SINGLE:
        return struct.unpack("<i", struct.pack("<f", number))[0]
    return struct.unpack("<q", struct.pack("<d", number))[0]


def _log_ends(x: Value, y: Value) -> Value:
    """The logarithm `y`, right at zero, infinity, NaN and below zero."""
    y = x.compare("olt", _INF).select(y, x)
    at_most_zero = x.compare("oeq", 0.0).select(x.lift(-_INF), _NAN)
    return x.compare("ole", 0.0).select(at_most_zero, y)


def _log_parts(m: Value) -> tuple[Value, Value, Value]:
    """f, f^2/2 and r such that log(m) = f - f^2/2 + r."""
    f = m - 1.0
    half_square = f * 0.5 * f
    s = f / (f + 2.0)
    z = s * s
    rest = z * z.polynomial(_LOG_SERIES[m.format])
    return f, half_square, s * (half_square + rest)


def log(x: Value) -> Value:
    return _log_ends(x, _finite_log(x, None))


def _finite_log(x: Value, correction: Value | None) -> Value:
    m, k = _split_exponent(x)
    f, half_square, rest = _log_parts(m)
    high, low = _LN2_SHORT[x.format]
    small = k.fma(low, rest)
    if correction is not None:
        small = small + correction
    return k * high - ((half_square - small) - f)


def log1p(x: Value) -> Value:
    """log(u) + e / u, where u + e = 1 + x exactly."""
    u = x + 1.0
    back = u - 1.0
    error = (1.0 - (u - back)) + (x - back)
    y = _finite_log(u, error / u)
    # Near zero, u holds too few bits of x, and nothing else is to be added.
    tiny = abs(x).compare("olt", 2.0 ** -(x.format.mantissa + 2))
    return tiny.select(x, _log_ends(u, y))


def log2(x: Value) -> Value:
    return _log_base(x, _INVERSE_LN2[x.format], None)


def log10(x: Value) -> Value:
    return _log_base(x, _INVERSE_LN10[x.format], _LOG10_2[x.format])


def _log_base(
    x: Value, factor: tuple[float, float], unit: tuple[float, float] | None
) -> Value:
    """log(m) * factor + k * unit, with the leading terms kept as exact sums."""
    m, k = _split_exponent(x)
    f, half_square, rest = _log_parts(m)
    high = f - half_square
    low = ((f - high) - half_square) + rest
    product = high * factor[0]
    error = low.fma(factor[0], high.fma(factor[0], -product)) + high * factor[1]
    whole = k
    if unit is not None:
        whole = k * unit[0]
        error = k.fma(unit[1], error)
    total = whole + product
    return _log_ends(x, total + (((whole - total) + product) + error))


# ----------------------------------------------------------------- tanh, sinh, cosh, erf


def tanh(x: Value) -> Value:
    t = expm1(abs(x) * -2.0)
    return (-t / (t + 2.0)).copysign(x)


def sinh(x: Value) -> Value:
    """(t + t / (t + 1)) / 2 with t = expm1(|x|), and by halves where that overflows."""
    size = abs(x)
    t = expm1(size)
    y = (t + t / (t + 1.0)) * 0.5
    high = _EXPM1_RANGE[x.format][1] - 1.0
    large = exp(size * 0.5)
    return size.compare("ogt", high).select(large * 0.5 * large, y).copysign(x)


def cosh(x: Value) -> Value:
    half = exp(abs(x) * 0.5)
    large = half * 0.5 * half
    small = exp(abs(x))
    y = (small + 1.0 / small) * 0.5
    return abs(x).compare("ogt", _EXPM1_RANGE[x.format][1] - 1.0).select(large, y)


_ERF_SMALL = {
    SINGLE: (
        0.12837916709551256,
        -0.3761262595653534,
        0.11283594369888306,
        -0.02685421146452427,
        0.005189087241888046,
        -0.000801686430349946,
        7.875874871388078e-05,
    ),
    DOUBLE: (
        0.12837916709551256,
        -0.3761263890318375,
        0.11283791670954879,
        -0.026866170645076792,
        0.0052239776248180145,
        -0.000854832698083379,
        0.0001205533111164271,
        -1.4925595266831182e-05,
        1.6461000484121368e-06,
        -1.6350312701054695e-07,
        1.4659775274047436e-08,
        -1.1372848856791674e-09,
        5.957176147748911e-11,
    ),
}
"""erf(x) / x - 1 in powers of x^2, for |x| <= 1."""

_ERFC = {
    SINGLE: (
        1.2769783735275269,
        -0.09276364743709564,
        -0.166030615568161,
        0.16403838992118835,
        -0.05420466512441635,
        -0.007798595353960991,
        0.008444948121905327,
    ),
    DOUBLE: (
        1.2769783815525286,
        -0.09276382658574601,
        -0.16603039761528932,
        0.16405128003344238,
        -0.05422000099204716,
        -0.00803401508233545,
        0.008722653876299433,
        0.0012713389580629767,
        -0.0014568139605064087,
        -0.0004543405652294873,
        0.00020636723786722266,
        0.00015103460369826765,
        -1.5058691620461093e-06,
        -3.6381396124818016e-05,
        -1.3562203110369223e-05,
        3.527701046764046e-06,
        5.700664780008497e-06,
        1.6688831319719147e-06,
        -1.942118968313534e-06,
    ),
}
"""erfc(x) exp(x^2) (1 + 2 x) in powers of t = (x - 2) / (x + 2), 1 <= x <= the end."""

_ERF_END = {SINGLE: 4.0, DOUBLE: 6.0}
"""From here on, erf(x) rounds to one."""


def erf(x: Value) -> Value:
    size = abs(x)
    near = (x * x).polynomial(_ERF_SMALL[x.format]).fma(x, x)
    end = _ERF_END[x.format]
    far = size.compare("ogt", end).select(end, size)
    t = (far - 2.0) / (far + 2.0)
    tail = t.polynomial(_ERFC[x.format]) * exp(-(far * far)) / far.fma(2.0, 1.0)
    return size.compare("olt", 1.0).select(near, (1.0 - tail).copysign(x))


# -------------------------------------------------------------------- sin, cos and tan

_TWO_OVER_PI = (
    "0x1.45f306cp-1",
    "0x1.c9c882ap-29",
    "0x1.4fe13a8p-59",
    "0x1.f47d4dp-86",
    "0x1.bb81b6cp-113",
    "0x1.4acc9ep-143",
    "0x1.0e4107cp-170",
)
"""2 / pi in pieces of 28 bits."""

_SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


def _two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """a + b rounded, and the rounding error (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _product(a: Value, b: Value | float) -> tuple[Value, Value]:
    """a * b rounded, and the rounding error."""
    high = a * b
    return high, a.fma(b, -high)


def _quadrant_of_single(x: Value) -> tuple[Value, Value, Bits]:
    """r, its rounding error and n with x = r + n pi/2, for an f32 held in f64.

    Each product of x with a piece of 2/pi is exact, and so is its remainder modulo 4:
    no multiple of a full turn has to be known, however large x is.
    """
    total, error = x.lift(0.0), x.lift(0.0)
    for text in _TWO_OVER_PI:
        product = x * float.fromhex(text)
        part = (product * 0.25).roundeven().fma(-4.0, product)
        total, rest = _two_sum(total, part)
        error = error + rest
    shifted = total + x.format.magic
    fraction = (total - (shifted - x.format.magic)) + error
    return fraction * (math.pi / 2), x.lift(0.0), shifted.bits()


_PI_2 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""pi / 2 as a sum of three numbers, 160 bits together."""

TRIGONOMETRIC_LIMIT = 2.0**45
"""Beyond this magnitude, sin, cos and tan of an f64 give NaN."""


def _quadrant_of_double(x: Value) -> tuple[Value, Value, Bits]:
    """r, its rounding error and n with x = r + n pi/2, for |x| <= 2^45.

    Beyond, n is no longer found to a small fraction of one.
    """
    x = abs(x).compare("ogt", TRIGONOMETRIC_LIMIT).select(_NAN, x)
    number, quadrant = _nearest(x, 2 / math.pi)
    first, first_low = _product(number, _PI_2[0])
    second, second_low = _product(number, _PI_2[1])
    # The first difference is exact: its operands are close to each other.
    high, error = _two_sum(x - first, -first_low)
    high, rest = _two_sum(high, -second)
    error = number.fma(-_PI_2[2], (error + rest) - second_low)
    total = high + error
    return total, (high - total) + error, quadrant


def _sine_and_cosine(r: Value, low: Value) -> tuple[Value, Value]:
    """sin and cos of r + low, |r| <= pi / 4."""
    z = r * r
    v = z * r
    inner = z.polynomial(_SIN[1:])
    sine = r - ((z * (low * 0.5 - v * inner) - low) - v * _SIN[0])
    half = z * 0.5
    w = 1.0 - half
    cosine = w + (((1.0 - w) - half) + (z * z.polynomial(_COS) * z - r * low))
    return sine, cosine


def _trigonometric(x: Value, format: Format) -> tuple[Value, Value, Bits]:
    """sin and cos of the remainder of x modulo pi/2, and the quadrant."""
    reduce = _quadrant_of_single if format is SINGLE else _quadrant_of_double
    r, low, quadrant = reduce(x)
    sine, cosine = _sine_and_cosine(r, low)
    return sine, cosine, quadrant


def _flip(y: Value, quadrant: Bits) -> Value:
    """`y` with its sign flipped where bit 1 of the quadrant is set."""
    width = y.format.integer.bitwidth
    return (y.bits() ^ ((quadrant & 2) << (width - 2))).value()


def sin(x: Value, format: Format) -> Value:
    sine, cosine, quadrant = _trigonometric(x, format)
    y = (quadrant & 1).is_zero().select(sine, cosine)
    return x.compare("oeq", 0.0).select(x, _flip(y, quadrant))


def cos(x: Value, format: Format) -> Value:
    sine, cosine, quadrant = _trigonometric(x, format)
    y = (quadrant & 1).is_zero().select(cosine, sine)
    return _flip(y, quadrant + 1)


def tan(x: Value, format: Format) -> Value:
    sine, cosine, quadrant = _trigonometric(x, format)
    even = (quadrant & 1).is_zero()
    y = even.select(sine, -cosine) / even.select(cosine, sine)
    return x.compare("oeq", 0.0).select(x, y)


# ------------------------------------------------------------------ inverse functions

_ATAN = (
    -0.3333333333333333,
    0.19999999999999804,
    -0.14285714285659828,
    0.11111111105155447,
    -0.09090908753500877,
    0.07692296375032143,
    -0.06666424885738255,
    0.05878928997834775,
    -0.052304542706502435,
    0.04551593220626546,
    -0.03457056198142766,
    0.01628575685522094,
)
"""(atan(x) / x - 1) / x^2 in powers of x^2, for |x| <= tan(pi / 8)."""

_PI_LOW = 1.2246467991473532e-16


def _atan_ratio(low: Value, high: Value) -> Value:
    """atan(low / high) for 0 <= low <= high."""
    large = low.compare("ogt", high * math.tan(math.pi / 8))
    q = large.select(low - high, low) / large.select(low + high, high)
    z = q * q
    tail = (z * z.polynomial(_ATAN)) * q
    rest = large.select(tail + _PI_LOW / 4, tail)
    return large.select(q + math.pi / 4, q) + large.select(
        ((q.lift(math.pi / 4) - (q + math.pi / 4)) + q) + rest, rest
    )


def atan2(y: Value, x: Value) -> Value:
    """The angle of the point (x, y), for f64 or an f32 held in f64."""
    a, b = abs(y), abs(x)
    steep = a.compare("ogt", b)
    high, low = steep.select(a, b), steep.select(b, a)
    # Of two infinities the ratio is one; of two zeros, zero.
    both = low.compare("oeq", _INF)
    endless = high.compare("oeq", _INF)
    low = both.select(1.0, endless.select(0.0, low))
    high = endless.select(1.0, high)
    high = high.compare("oeq", 0.0).select(1.0, high)
    # Far from overflow, so that their sum is finite.
    huge = high.compare("ogt", 2.0**1000)
    high = huge.select(high * 2.0**-100, high)
    low = huge.select(low * 2.0**-100, low)
    tiny = high.compare("olt", 2.0**-900)
    high = tiny.select(high * 2.0**100, high)
    low = tiny.select(low * 2.0**100, low)
    angle = _atan_ratio(low, high)
    angle = steep.select((math.pi / 2 - angle) + _PI_LOW / 2, angle)
    backward = (x.bits() >> 63).is_zero()
    angle = backward.select(angle, (math.pi - angle) + _PI_LOW)
    angle = angle.copysign(y)
    return (x.compare("uno", y)).select(x + y, angle)


def atan(x: Value) -> Value:
    return atan2(x, x.lift(1.0))


def asin(x: Value) -> Value:
    return atan2(x, ((1.0 - x) * (x + 1.0)).sqrt())


def acos(x: Value) -> Value:
    return atan2(((1.0 - x) * (x + 1.0)).sqrt(), x)


# ------------------------------------------------------------------------------- powers

_POW_TAIL = (
    0.4,
    0.2857142857142937,
    0.22222222221654697,
    0.181818183356598,
    0.15384594934129375,
    0.13334806232940835,
    0.11706195217866709,
    0.11723607898886837,
)
"""(log((1 + s) / (1 - s)) / s - 2 - 2/3 s^2) / s^4 in powers of s^2."""

_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)


def _log_pair(x: Value) -> tuple[Value, Value]:
    """log(x) of a positive, finite f64 as a sum of two numbers, to about 2^-67."""
    m, k = _split_exponent(x)
    f, g = m - 1.0, m + 1.0
    g_low = m - (g - 1.0)
    s = f / g
    s_low = ((s.fma(-g, f)) - s * g_low) / g
    z, z_low = _product(s, s)
    z_low = (s * 2.0).fma(s_low, z_low)
    cube, cube_low = _product(s, z)
    cube_low = s.fma(z_low, s_low.fma(z, cube_low))
    third, third_low = _product(cube, _TWO_THIRDS[0])
    third_low = cube.fma(_TWO_THIRDS[1], cube_low.fma(_TWO_THIRDS[0], third_low))
    tail = (cube * z) * z.polynomial(_POW_TAIL)
    high, low = _LN2_SHORT[x.format]
    total, e1 = _two_sum(k * high, s * 2.0)
    total, e2 = _two_sum(total, third)
    part, part_low = _product(k, low)
    total, e3 = _two_sum(total, part)
    rest = e1 + e2 + e3 + third_low + s_low * 2.0 + part_low + k * _LN2_REST + tail
    top = total + rest
    return top, (total - top) + rest


_LN2_REST = 1.1612227229362532e-26
"""ln 2 less the two numbers of `_LN2_SHORT[DOUBLE]`; checked by the tests."""


def _integer_parity(y: Value) -> tuple[Value, Value]:
    """y - floor(y) and the same of y / 2: zero for whole and for even numbers."""
    half = y * 0.5
    return y - y.floor(), half - half.floor()


def powf(x: Value, y: Value) -> Value:
    """x^y in f64 (or of f32 values held in f64)."""
    size = abs(x)
    normal = size.compare("ogt", 0.0) & size.compare("olt", _INF)
    exponent = _clamp(y, -(2.0**70), 2.0**70)
    log_high, log_low = _log_pair(normal.select(size, 1.0))
    high, low = _product(log_high, exponent)
    low = log_low.fma(exponent, low)
    beyond = abs(high).compare("ogt", 800.0)
    high = _clamp(high, -800.0, 800.0)
    high = _clamp(high, *_EXP_RANGE[x.format])
    r, power = _reduce_exp(high)
    r = r + beyond.select(0.0, low)
    result = _scale(_exp_tail(r) + 1.0, power)

    falling = y.compare("olt", 0.0)
    zero = size.compare("oeq", 0.0)
    at_zero = falling.select(x.lift(_INF), 0.0)
    at_infinity = falling.select(x.lift(0.0), _INF)
    result = normal.select(result, zero.select(at_zero, at_infinity))

    infinite_exponent = abs(y).compare("oeq", _INF)
    fraction, half_fraction = _integer_parity(infinite_exponent.select(0.0, y))
    whole = fraction.compare("oeq", 0.0)
    odd = whole & half_fraction.compare("une", 0.0)
    signed = odd.select(result.copysign(x), result)
    undefined = x.compare("olt", 0.0) & normal & ~whole
    result = undefined.select(_NAN, signed)
    result = x.compare("uno", y).select(x + y, result)
    one = y.compare("oeq", 0.0) | x.compare("oeq", 1.0)
    return one.select(1.0, result)


def rsqrt(x: Value) -> Value:
    return 1.0 / x.sqrt()


def round_half_away(x: Value) -> Value:
    whole = x.trunc()
    away = abs(x - whole).compare("oge", 0.5)
    step = x.lift(1.0).copysign(x)
    return away.select(whole + step, whole).copysign(x)
