"""The page of the streams DSL, written from its classes, the plan's functions and its types.

operators     ◄── public methods of `Topology` and of every class that one of them returns
expressions   ◄── what `duolog` exports, and the methods of a column; types by asking the plan
aggregates    ◄── the same, folded over a stream and over a table
types, limits ◄── the plan's types and the serdes' bounds
what shows it ◄── `operator_evidence`, whose tests are looked up
"""

import datetime as dt
import inspect
import operator
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal as PythonDecimal
from importlib import import_module
from itertools import combinations_with_replacement
from typing import Any, Final

from kafka_streams_names import counterparts, names_there
from operator_evidence import ensure_shown, evidence_table
from shown_operators import SHOWN
from streams_texts import (
    AGGREGATES_INTRO,
    BOTH,
    EVIDENCE_INTRO,
    EXPRESSIONS_INTRO,
    INTRO,
    LIMITS,
    NAMES_INTRO,
    TYPES_INTRO,
)

import duolog
import duolog.dsl
from duolog.core.errors import StatementError
from duolog.dsl.expressions.columns import Expr, col
from duolog.dsl.expressions.schemas import PYTHON_TYPES
from duolog.dsl.topology import Topology
from duolog.plan.aggregates import fold
from duolog.plan.expressions import Aggregate, Expression, Literal, Scope, column_names, type_of
from duolog.plan.formats import JSON, KAFKA_TYPES
from duolog.plan.nodes.node import ensure_key
from duolog.plan.schema import Schema
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    Type,
    numeric,
)
from duolog.serde.serde import value_serde

PRICE: Final = Decimal(10, 2)
PLAIN: Final = (BOOLEAN, INT, BIGINT, DOUBLE, PRICE, STRING, BYTES, DATE, TIMESTAMP)
NESTED: Final = (
    Array(STRING),
    Map(STRING, BIGINT),
    Struct((Column("url", STRING), Column("ms", BIGINT))),
)
TYPES: Final = (*PLAIN, *NESTED)
NUMBERS: Final = [of for of in PLAIN if numeric(of)]
SAMPLES: Final[Sequence[tuple[Type, object]]] = (
    (BOOLEAN, True),
    (INT, 15),
    (BIGINT, 15),
    (DOUBLE, 1.5),
    (PRICE, PythonDecimal("1.50")),
    (STRING, "SFO"),
    (BYTES, b"abc"),
    (DATE, dt.date(2013, 1, 1)),
    (TIMESTAMP, dt.datetime(2013, 1, 1, 10, 15, tzinfo=dt.UTC)),
    (NESTED[0], ["SFO", "LAX"]),
    (NESTED[1], {"SFO": 3}),
    (NESTED[2], {"url": "/", "ms": 12}),
)

OPERATORS: Final[dict[str, tuple[str, Callable[[Any, Any], Any]]]] = {
    "__eq__": ("a == b", operator.eq),
    "__ne__": ("a != b", operator.ne),
    "__lt__": ("a < b", operator.lt),
    "__le__": ("a <= b", operator.le),
    "__gt__": ("a > b", operator.gt),
    "__ge__": ("a >= b", operator.ge),
    "__and__": ("a & b", operator.and_),
    "__or__": ("a \\| b", operator.or_),
    "__invert__": ("~a", lambda a, _: ~a),
    "__add__": ("a + b", operator.add),
    "__sub__": ("a - b", operator.sub),
    "__mul__": ("a * b", operator.mul),
    "__truediv__": ("a / b", operator.truediv),
    "__mod__": ("a % b", operator.mod),
    "__neg__": ("-a", lambda a, _: -a),
    "__getitem__": ("a[b]", operator.getitem),
}
_ARGUMENTS: Final = {"Expr": col("a"), "int": 1, "str": "a", "float": 0.5}
"""Sample arguments for functions, by annotation."""
NO_OPERATOR: Final = ("__init__", "__repr__", "__str__", "__format__", "__bool__", "__abs__")


def streams_page() -> str:
    """Return the page of the DSL."""
    classes = operator_classes()
    ours = operator_names(classes)
    there = names_there(ours)
    parts = ["# Streams DSL", INTRO]
    for of in classes:
        parts += [
            f"## {_title(of)}",
            BOTH if _heirs(of) else _summary(of),
            _operators_table(of, there),
        ]
    parts += ["## Expressions", EXPRESSIONS_INTRO, "### Functions", _functions_table()]
    parts += ["### Operators", _expr_operators_table(), "### Of a column", _methods_table()]
    parts += ["### Numbers together", _arithmetic_table(), "### Casts", _casts_table()]
    parts += ["## Aggregates", AGGREGATES_INTRO, _aggregates_table()]
    parts += ["## Types", TYPES_INTRO, _types_table(), "## Limits", LIMITS]
    ensure_shown(SHOWN, ours)
    parts += ["## What shows it", EVIDENCE_INTRO, evidence_table(SHOWN)]
    parts += ["## Names of Kafka Streams", NAMES_INTRO, _names_table(ours)]
    return "\n\n".join(parts)


# Operators.


def operator_classes() -> list[type]:
    """Return `Topology`, and the DSL classes that its methods return, transitively."""
    modules = [
        import_module(found.name)
        for found in pkgutil.walk_packages(duolog.dsl.__path__, "duolog.dsl.")
    ]
    known = {
        name: of
        for module in modules
        for name, of in inspect.getmembers(module, inspect.isclass)
        if of.__module__ == module.__name__
    }
    found: list[type] = [Topology]
    for of in found:
        returned = {word for _, method in methods_of(of) for word in _returned_words(method)}
        new = [one for one in known.values() if one.__name__ in returned and one not in found]
        bases = [base for one in new for base in _shared_bases(one) if base in known.values()]
        found += dict.fromkeys(one for one in (*bases, *new) if one not in found)
    return [of for of in found if any(methods_of(of))]


def operator_names(classes: Sequence[type]) -> list[str]:
    """Return names such as `Stream.filter` for each operator of each class."""
    names = []
    for of in classes:
        heirs = [one for one in classes if of in one.__mro__[1:]]
        names += [f"{one.__name__}.{name}" for one in heirs or [of] for name, _ in methods_of(of)]
    return names


def methods_of(of: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods of a class in source order, starting with its unshared bases."""
    shared = _shared_bases(of)
    for own in (one for one in reversed(of.__mro__[:-1]) if one not in shared):
        for name, member in vars(own).items():
            if inspect.isfunction(member) and not name.startswith("_"):
                yield name, member


def _shared_bases(of: type) -> list[type]:
    """Return the bases that other classes share; an unshared base is documented with its class."""
    return [base for base in of.__mro__[1:-1] if len(_leaves(base)) > 1]


def _leaves(of: type) -> set[type]:
    heirs: list[type] = of.__subclasses__()
    return {leaf for one in heirs for leaf in _leaves(one)} or {of}


def _returned_words(method: Callable[..., Any]) -> set[str]:
    returned = inspect.signature(method).return_annotation
    text = returned if isinstance(returned, str) else getattr(returned, "__name__", "")
    return set(re.findall(r"\w+", text))


def _title(of: type) -> str:
    return " and ".join(one.__name__ for one in _heirs(of) or [of])


def _heirs(of: type) -> list[type]:
    return [one for one in operator_classes() if of in one.__mro__[1:]]


def _operators_table(of: type, there: dict[str, str]) -> str:
    heirs = _heirs(of) or [of]
    rows = []
    for name, method in methods_of(of):
        named = "; ".join(dict.fromkeys(_code(there[f"{one.__name__}.{name}"]) for one in heirs))
        rows.append(f"| `{name}{_arguments(method)}` | {_summary(method)} | {named} |")
    return _table(("", "effect", "Kafka Streams"), rows)


def _code(names: str) -> str:
    """Return text in which names are formatted as code."""
    first, comma, rest = names.partition(", ")
    return f"`{first}`{comma}{rest if ' ' in rest else _code(rest) if rest else ''}"


def _arguments(method: Callable[..., Any]) -> str:
    """Return the signature with default values."""
    signature = inspect.signature(method)
    shown = [
        one.replace(annotation=one.empty)
        for one in signature.parameters.values()
        if one.name != "self"
    ]
    return str(signature.replace(parameters=shown, return_annotation=signature.empty))


def _summary(of: object) -> str:
    """Return the first sentence of a docstring, or an empty string."""
    return (
        inspect.cleandoc(of.__doc__ or "")
        .partition("\n\n")[0]
        .replace("\n", " ")
        .replace("|", "\\|")
    )


# Expressions.


def exported() -> dict[str, Callable[..., Expr]]:
    """Return the functions exported by `duolog` that return expressions."""
    found = {name: getattr(duolog, name) for name in duolog.__all__}
    return {
        name: of
        for name, of in found.items()
        if inspect.isfunction(of) and of.__module__.startswith("duolog.dsl.")
    }


def _functions_table() -> str:
    rows = []
    for name, function in exported().items():
        made = _made(function)
        if made is None or not isinstance(made.expression, Aggregate):
            rows.append(
                f"| `{name}{_arguments(function)}` | {_types(made)} | {_summary(function)} |"
            )
    return _table(("", "types", "result"), rows)


def _methods_table() -> str:
    rows = [
        f"| `{name}{_arguments(method)}` | {_types(_made(method, col('a')))} | {_summary(method)} |"
        for name, method in methods_of(Expr)
    ]
    return _table(("", "types", "result"), rows)


def _expr_operators_table() -> str:
    defined = [
        name for name, of in vars(Expr).items() if inspect.isfunction(of) and name[:2] == "__"
    ]
    reflected = [name for name in defined if f"__{name[3:]}" in defined and name[2] == "r"]
    unknown = set(defined) - set(OPERATORS) - set(NO_OPERATOR) - set(reflected)
    assert not unknown, f"say in OPERATORS of scripts/lib/streams_page.py how {unknown} are written"
    rows = []
    for name in defined:
        if name in OPERATORS:
            written, apply = OPERATORS[name]
            made = None if name == "__getitem__" else apply(col("a"), col("a"))
            rows.append(f"| `{written}` | {_types(made)} | {_summary(vars(Expr)[name])} |")
    return _table(("", "types", "result"), rows)


def _made(function: Callable[..., object], *first: Expr) -> Expr | None:
    """Call a function with column `a` for each column; None if there is no expression."""
    arguments = list[object](first)
    for one in list(inspect.signature(function).parameters.values())[len(first) :]:
        of = str(one.annotation)
        if one.kind is one.KEYWORD_ONLY or ("Expr" not in of and one.default is not one.empty):
            continue
        known = [value for name, value in _ARGUMENTS.items() if name in of]
        if not known:
            return None
        arguments.append(known[0])
        if one.kind is one.VAR_POSITIONAL and one.name != "others":
            arguments.append(known[0])
    try:
        made = function(*arguments)
    except (StatementError, TypeError):
        return None
    return made if isinstance(made, Expr) else None


def _types(made: Expr | None) -> str:
    """Return the types of column `a` that an expression accepts, with the result types."""
    if made is None or isinstance(made.expression, Literal):
        return ""
    given = {of: found for of in TYPES if (found := _type(made.expression, of))}
    if given and not column_names(made.expression):
        return str(given[STRING])
    return _taken_and_given(given)


def _taken_and_given(given: Mapping[Type, Type]) -> str:
    """Return the shortest form of `INT, BIGINT → DOUBLE; STRING → the same`."""
    if len(set(given.values())) == 1 and len(given) > 1:
        return f"{_names(list(given))} → {next(iter(given.values()))}"
    by_result: dict[str, list[Type]] = {}
    for of, found in given.items():
        array = (_around(of, found) if len(given) > 1 else "") or str(found)
        by_result.setdefault("the same" if found == of else array, []).append(of)
    parts = [f"{_names(taken)} → {found}" for found, taken in by_result.items()]
    return "; ".join(parts).replace("DECIMAL(", "D(")


def _around(of: Type, found: Type) -> str:
    """Return a phrase for a result type in terms of the argument type, independent of its name."""
    match found:
        case Array(element=element) if element == of:
            return "an ARRAY of them"
        case Array(element=Struct(fields=fields)) if fields[0].type == of:
            return "an ARRAY of STRUCTs of them"
        case Map(key=key, value=value) if key == of:
            return "a MAP of them" if value == of else f"a MAP of {value} by them"
        case _:
            return ""


def _names(types: Sequence[Type]) -> str:
    left_out = [of.name for of in TYPES if of not in types]
    if len(left_out) <= len(NESTED):
        return f"all but {', '.join(left_out)}" if left_out else "all"
    if list(types) == NUMBERS:
        return "numbers"
    return ", ".join(of.name if of in NESTED else str(of) for of in types)


def _type(expression: Expression, of: Type) -> Type | None:
    try:
        return type_of(expression, Scope((Column("a", of),), of_record=True, of_source=True))
    except StatementError:
        return None


def _arithmetic_table() -> str:
    a, b = col("a"), col("b")
    rows = []
    for left, right in combinations_with_replacement(NUMBERS, 2):
        scope = Scope((Column("a", left), Column("b", right)))
        made = (a + b, a * b, a / b, a % b)
        cells = " | ".join(str(type_of(one.expression, scope)) for one in made)
        rows.append(f"| {left}, {right} | {cells} |")
    return _table(("of", "`+` `-`", "`*`", "`/`", "`%`"), rows)


def _casts_table() -> str:
    rows = []
    for of in PLAIN:
        taken = [to for to in PLAIN if to != of and _type(col("a").cast(to).expression, of)]
        rows.append(f"| {of} | {', '.join(to.name for to in taken)} |")
    return _table(("from", "to"), rows)


# Aggregates, types, limits, names.


def _aggregates_table() -> str:
    rows = []
    for name, function in exported().items():
        made = _made(function)
        if made is None or not isinstance(made.expression, Aggregate):
            continue
        given = {of: found for of in TYPES if (found := _folded(made, of, undo=False))}
        table = "yes" if any(_folded(made, of, undo=True) for of in PLAIN) else "no"
        written = f"`{name}{_arguments(function)}`"
        rows.append(f"| {written} | {_taken_and_given(given)} | {table} | {_summary(function)} |")
    return _table(("", "types", "grouped tables", "result"), rows)


def _folded(made: Expr, of: Type, *, undo: bool) -> Type | None:
    scope = Scope((Column("a", of),))
    try:
        folded = fold((("a", made.expression),), scope, undo=undo)
        kept = tuple(Column(one.name, one.type) for one in folded.accumulators)
        return type_of(folded.results[0][1], Scope(scope.columns, accumulators=kept))
    except StatementError:
        return None


def _types_table() -> str:
    python = {of: name.__name__ for name, of in PYTHON_TYPES.items() if isinstance(name, type)}
    rows = []
    for of, sample in SAMPLES:
        written = value_serde(JSON.name, (Column("a", of),)).serialize((sample,))
        assert written is not None
        text = written.decode().removeprefix('{"a":').removesuffix("}")
        key = _is_key(of)
        kafka = "yes" if of in KAFKA_TYPES else ""
        rows.append(
            f"| {of} | {_python(of, python)} | `{text}` | {kafka} | {'yes' if key else 'no'} |"
        )
    return _table(("type", "Python", "in JSON", "KAFKA", "in a key"), rows)


def _python(of: Type, plain: dict[Type, str]) -> str:
    match of:
        case Array():
            return "`list[str]`"
        case Map():
            return "`dict[str, int]`"
        case Struct():
            return "a dataclass, a dict"
        case Decimal():
            return "`Decimal` is DECIMAL(38,18)"
        case _:
            return f"`{plain[of]}`" if of in plain else '`"INT"`'


def _is_key(of: Type) -> bool:
    try:
        ensure_key(Schema((Column("a", of),), ()))
    except StatementError:
        return False
    return True


def _names_table(ours: Sequence[str]) -> str:
    rows = []
    for row in counterparts(ours):
        here = f"`{row.ours}`" if row.ours else "not yet"
        rows.append(f"| `{row.theirs}` | {here} | {row.note} |")
    return _table(("Kafka Streams", "here", ""), rows)


def _table(head: Sequence[str], rows: Sequence[str]) -> str:
    return "\n".join((f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows))
