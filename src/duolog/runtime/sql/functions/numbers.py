"""Numeric functions as in Java's Math and BigDecimal: DOUBLEs give NaN or infinity, not errors."""

import math
import re
import struct
from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Final

_LONG: Final = 2**63
_EXACT: Final = Context(prec=10_000)
_PLACES_MAX: Final = 1100
"""No DOUBLE or DECIMAL has a digit farther from the decimal point."""
_BLANKS: Final = "".join(map(chr, range(33)))
_WORDS: Final = {
    "nan": math.nan,
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
}
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?")
_HEX: Final = re.compile(
    r"[+-]?0[xX]([0-9a-fA-F]+(\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[dDfF]?"
)
_PLAIN_LEAST: Final = 0.001
_PLAIN_BELOW: Final = 10_000_000.0
_LEAST_NORMAL: Final = 0x00100000
_THIRD: Final = 715094163
_THIRD_OF_SUBNORMAL: Final = 696219795
_RADII: Final = dict.fromkeys(
    ("km", "kilometer", "kilometers", "kilometre", "kilometres"), 6371.0
) | dict.fromkeys(("mi", "mile", "miles"), 3959.0)
_LATITUDE_MAX: Final = 90
_LONGITUDE_MAX: Final = 180


def of_double(compute: Callable[..., float]) -> Callable[..., float]:
    """Wrap a function of Python's math to return NaN and infinity instead of raising."""

    def computed(*values: float) -> float:
        try:
            return compute(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return computed


def cbrt(value: float) -> float:
    """Return the cube root with exactly the bits of Java's, which is fdlibm's.

    Source: fdlibm `s_cbrt.c`: an estimate from the exponent, one step to 23 bits, and one Newton
    step.
    """
    if value == 0 or not math.isfinite(value):
        return value
    high = _bits_of(abs(value)) >> 32
    if high < _LEAST_NORMAL:
        high = (_bits_of(abs(value) * 2.0**54) >> 32) // 3 + _THIRD_OF_SUBNORMAL
    else:
        high = high // 3 + _THIRD
    root = _of_bits(high << 32)
    ratio = root * root / abs(value)
    near = 19 / 35 + ratio * root
    root *= 5 / 14 + (45 / 28) / (near + 99 / 70 + (-864 / 1225) / near)
    # Rounded up to 20 bits, so that it is larger than the root.
    root = _of_bits(((_bits_of(root) >> 32) + 1) << 32)
    square = root * root
    quotient = abs(value) / square
    return math.copysign(root + root * ((quotient - root) / (root + root + quotient)), value)


def _bits_of(value: float) -> int:
    return int(struct.unpack(">q", struct.pack(">d", value))[0])


def _of_bits(bits: int) -> float:
    return float(struct.unpack(">d", struct.pack(">q", bits))[0])


def sinh(value: float) -> float:
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def cot(value: float) -> float:
    return divided(1.0, of_double(math.tan)(value))


def divided(one: float, other: float) -> float:
    if other != 0:
        return one / other
    if one == 0 or math.isnan(one):
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1.0, other)


def logarithm(base: float, value: float | None = None) -> float:
    """Return the logarithm to a base (NaN for base 0 or 1), or the natural one of one argument."""
    if value is None:
        return _ln(base)
    return math.nan if base in {0, 1} else divided(_ln(value), _ln(base))


def _ln(value: float) -> float:
    if value == 0:
        return -math.inf
    return math.nan if value < 0 else math.log(value)


def power(base: float, exponent: float) -> float:
    """Return a power as Java does; in C, 1 to any power is 1, even NaN."""
    if math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    try:
        return math.pow(base, exponent)
    except ValueError:
        if base != 0:
            return math.nan
    except OverflowError:
        pass
    return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf


def rounded(value: float) -> int:
    """Round to the nearest whole number, ties up, limited to BIGINT."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return _LONG - 1 if value > 0 else -_LONG
    floor = math.floor(value)
    return max(-_LONG, min(_LONG - 1, floor + (value - floor >= 0.5)))


def rounded_at(value: float, places: int) -> float:
    return float(_rounded(Decimal(repr(value)), places))


def rounded_decimal(value: Decimal, places: int) -> str:
    return f"{_rounded(value, places):f}"


def truncated_at(value: float, places: int) -> float:
    return float(_at(Decimal(repr(value)), places, ROUND_DOWN))


def truncated_decimal(value: Decimal, places: int) -> str:
    return f"{_at(value, places, ROUND_DOWN):f}"


def _rounded(value: Decimal, places: int) -> Decimal:
    return _at(value, places, ROUND_HALF_DOWN if value < 0 else ROUND_HALF_UP)


def _at(value: Decimal, places: int, how: str) -> Decimal:
    if not value.is_finite():
        raise ValueError(value)
    near = max(-_PLACES_MAX, min(_PLACES_MAX, places))
    return value.quantize(Decimal((0, (1,), -near)), how, context=_EXACT)


def variance(values: Sequence[float | None]) -> float:
    """Return the sample variance, computed value by value as in the kernel.

    0 for fewer than 2 values.

    Results with infinity and NaN depend on the order of the values, as there.

    Source: Youngs and Cramer, "Some results relevant to choice of sum and sum-of-product
    algorithms".
    """
    count, total, squares = 0, 0.0, 0.0
    for value in values:
        if value is None:
            continue
        count, total = count + 1, total + value
        if count > 1:
            apart = count * value - total
            squares += apart * apart / (count * (count - 1.0))
    return squares / (count - 1) if count > 1 else 0.0


def distance(
    latitude1: float,
    longitude1: float,
    latitude2: float,
    longitude2: float,
    unit: str | None = None,
) -> float:
    """Return the great-circle distance by the haversine formula; the default unit is kilometres."""
    if _greatest(abs(latitude1), abs(latitude2)) > _LATITUDE_MAX:
        raise ValueError(latitude1)
    if _greatest(abs(longitude1), abs(longitude2)) > _LONGITUDE_MAX:
        raise ValueError(longitude1)
    radius = _RADII[("km" if unit is None else unit).lower()]
    phi1, phi2 = math.radians(latitude1), math.radians(latitude2)
    south = math.sin((phi2 - phi1) / 2)
    east = math.sin(math.radians(longitude2 - longitude1) / 2)
    inside = south * south + east * east * math.cos(phi1) * math.cos(phi2)
    return 2 * radius * math.asin(math.sqrt(inside))


def _greatest(one: float, other: float) -> float:
    """Return the greater one, or NaN if either is NaN, as Java does."""
    return math.nan if math.isnan(one) or math.isnan(other) else max(one, other)


def text_double(text: str) -> float | None:
    """Parse a DOUBLE as Java and Spark do; None if the string is not a number."""
    trimmed = text.strip(_BLANKS)
    word = _WORDS.get(trimmed.lower())
    if word is not None:
        return word
    if _DECIMAL.fullmatch(trimmed):
        return float(trimmed.rstrip("dDfF"))
    return _of_hex(trimmed) if _HEX.fullmatch(trimmed) else None


def _of_hex(text: str) -> float:
    """Parse a hexadecimal number; infinity on overflow."""
    mantissa, exponent = re.split("[pP]", text.rstrip("dDfF"))
    try:
        return float.fromhex(f"{mantissa}p{exponent}")
    except OverflowError:
        return math.copysign(math.inf, -1.0 if text.startswith("-") else 1.0)


def double_text(value: float) -> str:
    """Format a DOUBLE as Java does.

    Example:
        >>> [double_text(value) for value in (15.0, 1.5e7, 1e-5, float("inf"))]
        ['15.0', '1.5E7', '1.0E-5', 'Infinity']
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _PLAIN_LEAST <= abs(value) < _PLAIN_BELOW:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int), value
    digits_text = "".join(map(str, digits))
    inside = digits_text[1:].rstrip("0") or "0"
    return f"{'-' if sign else ''}{digits_text[0]}.{inside}E{exponent + len(digits_text) - 1}"
