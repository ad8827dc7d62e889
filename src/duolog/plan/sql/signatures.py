"""Signatures of SQL's functions, and overload resolution.

    "STRING (str STRING, pos INT)"              the result, then the parameters by name
    "T (first T, others T...)"                  any type, the same everywhere; "..." repeats
    "ARRAY<U> (array ARRAY<T>, f (T) => U)"     a lambda
    "DECIMAL (val DECIMAL)"                     a DECIMAL of any size; the result has the first's
    "DATE (unit UNIT, n INT, date DATE)"        a unit of time by its name, without quotes

A call resolves to the signature that its arguments fit with the fewest casts: numbers widen from
INT to BIGINT, DECIMAL and DOUBLE, a text is read as a DATE, TIME or TIMESTAMP, a null fits every
type. If a call with casts fits several overloads with a variable number of arguments, it is
ambiguous.

Source: ksqlDB's documented rules of overloads and implicit casts.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from duolog.plan.errors import TypeMismatch
from duolog.plan.types import (
    DATE,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
    numeric,
    parse_type,
)

Types = tuple[Type, ...]
ResultOf = Callable[[Types], Type]
"""Computes a result type that depends on argument types, if the signature does not fix it."""

_RANK: Final = {"INT": 0, "BIGINT": 1, "DECIMAL": 2, "DOUBLE": 3}
_READ_FROM_TEXT: Final = {DATE, TIME, TIMESTAMP}
_DIGITS: Final = {"INT": 10, "BIGINT": 19}
_GENERIC_COST: Final = 1
_CAST_COST: Final = 10
_VARIADIC_COST: Final = 100


@dataclass(frozen=True, slots=True)
class Generic(Type):
    """A type variable that a call binds: T."""


@dataclass(frozen=True, slots=True)
class AnyDecimal(Type):
    """A DECIMAL of any size."""


ANY: Final = Type("ANY")
"""Any type; only for operators, which check their arguments themselves."""
UNIT: Final = Type("UNIT")
"""The name of a unit of time; only as an argument."""


@dataclass(frozen=True, slots=True)
class LambdaOf(Type):
    """The type of a lambda: the types of its parameters and of its result."""

    parameters: Types
    result: Type

    def __str__(self) -> str:
        return f"LAMBDA ({', '.join(map(str, self.parameters))}) => {self.result}"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named parameter."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Signature:
    """One overload of a function."""

    parameters: tuple[Parameter, ...]
    result: Type
    variadic: bool = False
    """True if one parameter may occur any number of times, including zero."""
    trailing: int = 0
    """The number of parameters after that one."""

    def types_for(self, count: int) -> Types | None:
        """Return the types of `count` parameters; None if it does not accept this number."""
        found = self._parameters_for(count)
        return None if found is None else tuple(parameter.type for parameter in found)

    def names_for(self, count: int) -> tuple[str, ...] | None:
        """Return the names of `count` parameters; None if it does not accept this number."""
        found = self._parameters_for(count)
        return None if found is None else tuple(parameter.name for parameter in found)

    def filled(self, of: Type, arguments: Types) -> Type:
        """Return a type with its type variables bound by arguments that fit this signature."""
        found = _fit(arguments, self.types_for(len(arguments)) or ())
        return of if found is None else _filled(of, found[1], NULL)

    def _parameters_for(self, count: int) -> tuple[Parameter, ...] | None:
        given = self.parameters
        if not self.variadic:
            return given if count == len(given) else None
        at = len(given) - 1 - self.trailing
        times = count - at - self.trailing
        return given[:at] + given[at : at + 1] * times + given[at + 1 :] if times >= 0 else None


@dataclass(frozen=True, slots=True)
class Resolved:
    """A resolved call: the types that its arguments are cast to, and its result type."""

    signature: Signature
    arguments: Types
    result: Type


class AmbiguousCall(TypeMismatch):
    """A call that fits several overloads, each only with casts."""


class _Fit(NamedTuple):
    """A signature that fits a call, and its cost."""

    cost: int
    signature: Signature
    wanted: Types
    bound: dict[str, Type]


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A scalar function of SQL."""

    name: str
    family: str
    description: str
    signatures: tuple[Signature, ...]
    result_of: ResultOf | None = field(default=None, compare=False)
    hidden: bool = False
    """True if it is an operator, which is not listed among the functions."""

    def resolve(self, arguments: Types) -> Resolved:
        """Return the overload for a call with arguments of these types.

        Raises:
            AmbiguousCall: several overloads fit.
            TypeMismatch: none fits.
        """
        fits = self._fits(arguments)
        if not fits:
            raise TypeMismatch(f'function "{self.name}" does not take these arguments')
        best = min(fits, key=lambda fit: fit.cost)
        by_casts = best.cost >= _VARIADIC_COST + _CAST_COST
        if len(fits) > 1 and best.signature.variadic and by_casts:
            raise AmbiguousCall(f'function "{self.name}" takes these arguments in several ways')
        types = tuple(
            _filled(of, best.bound, given) for of, given in zip(best.wanted, arguments, strict=True)
        )
        return Resolved(best.signature, types, self._result(best.signature, best.bound, types))

    def means_several(self, arguments: Types) -> bool:
        """Return True if a call with only nulls fits several signatures: ksqlDB refuses it."""
        if set(arguments) != {NULL}:
            return False
        fits = self._fits(arguments)
        return len(fits) > 1 and min(fits, key=lambda fit: fit.cost).signature.variadic

    def _fits(self, arguments: Types) -> list[_Fit]:
        fits: list[_Fit] = []
        for signature in self.signatures:
            wanted = signature.types_for(len(arguments))
            fitted = None if wanted is None else _fit(arguments, wanted)
            if fitted is None or wanted is None:
                continue
            cost, bound = fitted
            cost += _VARIADIC_COST * signature.variadic
            fits.append(_Fit(cost, signature, wanted, bound))
        return fits

    def type_of(self, arguments: Types) -> Type:
        return self.resolve(arguments).result

    def takes(self, of: Type, at: int) -> bool:
        """Return True if some signature has a parameter of this type at this position, from 0."""
        places = [signature.parameters for signature in self.signatures]
        return any(len(found) > at and found[at].type == of for found in places)

    def parameter_types(
        self, signature: Signature, arguments: Types, wanted: LambdaOf
    ) -> Types | None:
        """Return the types of a lambda's parameters in a call.

        Args:
            signature: the candidate signature of the call.
            arguments: the types of the call's arguments, NULL for lambdas whose type is not known
                yet.
            wanted: the signature's parameter for the lambda.

        Returns:
            The types, or None if the other arguments do not fit the signature.
        """
        types = signature.types_for(len(arguments))
        bound: dict[str, Type] = {}
        for given, of in zip(arguments, types or (), strict=True):
            if not isinstance(of, LambdaOf) and _cost(given, of, bound) is None:
                return None
        return tuple(_filled(of, bound, NULL) for of in wanted.parameters)

    def _result(self, signature: Signature, bound: Mapping[str, Type], types: Types) -> Type:
        if self.result_of is not None:
            return self.result_of(types)
        decimals = [of for of in types if isinstance(of, Decimal)]
        return _filled(signature.result, bound, decimals[0] if decimals else NULL)


def _fit(arguments: Types, wanted: Types) -> tuple[int, dict[str, Type]] | None:
    """Return the cost of a call with these arguments and its type variables; None: no match."""
    bound: dict[str, Type] = {}
    total = 0
    for given, of in zip(arguments, wanted, strict=True):
        cost = _cost(given, of, bound)
        if cost is None:
            return None
        total += cost
    return total, bound


def _cost(  # noqa: PLR0911 - a table of cases
    given: Type, wanted: Type, bound: dict[str, Type]
) -> int | None:
    if wanted in {given, ANY}:
        return 0
    if isinstance(wanted, Generic):
        return _bind(given, wanted, bound)
    if given == NULL:
        return 1
    match given, wanted:
        case Decimal(), AnyDecimal():
            return 0
        case _, AnyDecimal() if numeric(given) and given != DOUBLE:
            return _CAST_COST * (_RANK["DECIMAL"] - _RANK[given.name])
        case Array(element=one), Array(element=other):
            return _cost(one, other, bound)
        case Map(key=k1, value=v1), Map(key=k2, value=v2):
            return _sum(_cost(k1, k2, bound), _cost(v1, v2, bound))
        case LambdaOf(parameters=p1, result=one), LambdaOf(parameters=p2, result=other):
            return _cost(one, other, bound) if len(p1) == len(p2) else None
        case Struct(), Struct(fields=()):
            return 0
        case _ if given == STRING and wanted in _READ_FROM_TEXT:
            return _CAST_COST
        case _ if numeric(given) and numeric(wanted):
            steps = _RANK[wanted.name] - _RANK[given.name]
            return _CAST_COST * steps if steps > 0 else None
        case _:
            return None


def _bind(given: Type, wanted: Generic, bound: dict[str, Type]) -> int | None:
    known = bound.get(wanted.name)
    if known is None or known == NULL:
        bound[wanted.name] = given
        return _GENERIC_COST
    if given in {known, NULL}:
        return _GENERIC_COST
    if isinstance(given, Decimal) and isinstance(known, Decimal):
        bound[wanted.name] = wider_decimal(known, given)
        return _GENERIC_COST + _CAST_COST
    if numeric(given) and numeric(known):
        bound[wanted.name] = _wider_number(known, given)
        return _GENERIC_COST + _CAST_COST
    return None


def wider_decimal(one: Decimal, other: Decimal) -> Decimal:
    """Return the DECIMAL that holds the values of two others, limited to the greatest precision."""
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return Decimal(min(whole + scale, DECIMAL_PRECISION_MAX), scale)


def _wider_number(one: Type, other: Type) -> Type:
    """Return the type that holds the numbers of two others."""
    if DOUBLE not in {one, other} and (isinstance(one, Decimal) or isinstance(other, Decimal)):
        sides = (
            of if isinstance(of, Decimal) else Decimal(_DIGITS[of.name]) for of in (one, other)
        )
        return wider_decimal(*sides)
    return max(one, other, key=lambda of: _RANK[of.name])


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _filled(  # noqa: PLR0911 - a table of cases
    of: Type, bound: Mapping[str, Type], given: Type
) -> Type:
    match of:
        case Generic(name=name):
            return bound.get(name, NULL)
        case _ if of == ANY:
            return given
        case AnyDecimal():
            return Decimal(_DIGITS[given.name]) if given.name in _DIGITS else given
        case Array(element=element):
            inner = given.element if isinstance(given, Array) else NULL
            return Array(_filled(element, bound, inner))
        case Map(key=key, value=value):
            inner = given if isinstance(given, Map) else Map(NULL, NULL)
            return Map(_filled(key, bound, inner.key), _filled(value, bound, inner.value))
        case LambdaOf():
            return given
        case Struct(fields=()):
            return given
        case _:
            return of


# The text form of signatures.


def signature(text: str) -> Signature:
    """Return the signature that a text describes.

    Example:
        >>> found = signature("ARRAY<U> (array ARRAY<T>, f (T) => U)")
        >>> [parameter.name for parameter in found.parameters], str(found.result)
        (['array', 'f'], 'ARRAY<U>')
    """
    result, _, rest = text.partition(" (")
    parameters: list[Parameter] = []
    variadic: int | None = None
    for part in _parts(rest[:-1]):
        name, _, kind = part.strip().partition(" ")
        variadic = len(parameters) if kind.endswith("...") else variadic
        parameters.append(Parameter(name, _type(kind.removesuffix("..."))))
    trailing = 0 if variadic is None else len(parameters) - 1 - variadic
    return Signature(tuple(parameters), _type(result), variadic is not None, trailing)


def _parts(text: str) -> Iterator[str]:
    """Yield the parts between commas outside of brackets."""
    depth, start = 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "(<") - (sign in ")>" and text[at - 1 : at + 1] != "=>")
        if sign == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if text[start:].strip():
        yield text[start:]


def _type(text: str) -> Type:  # noqa: PLR0911 - a table of cases
    text = text.strip()
    if text.startswith("("):
        inside, _, result = text[1:].partition(") => ")
        return LambdaOf("LAMBDA", tuple(map(_type, _parts(inside))), _type(result))
    if len(text) == 1:
        return Generic(text)
    if text == "DECIMAL":
        return AnyDecimal(text)
    if text == "STRUCT":
        return Struct(())
    if text in {"TIME", "UNIT", "ANY"}:
        return Type(text)
    if text.startswith("ARRAY<"):
        return Array(_type(text[6:-1]))
    if text.startswith("MAP<"):
        key, value = _parts(text[4:-1])
        return Map(_type(key), _type(value))
    return parse_type(text)


def function(
    name: str,
    family: str,
    description: str,
    *signatures: str,
    result_of: ResultOf | None = None,
    hidden: bool = False,
) -> SqlFunction:
    """Return a function with the signatures that the texts describe."""
    return SqlFunction(
        name, family, description, tuple(map(signature, signatures)), result_of, hidden
    )
