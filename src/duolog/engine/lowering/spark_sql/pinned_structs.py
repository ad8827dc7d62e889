"""The STRUCTs that aggregates sort by, with the field names of their pinned texts.

    ARRAY<STRUCT<`sort_col`: DOUBLE, `col0`: INT>>

Originally the fields had these names for all columns; now they are named after the columns. A store
holds them by position.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from duolog.engine.json_object import Json
from duolog.engine.lowering.spark_sql.pinned_texts import are_pinned
from duolog.plan.aggregates.accumulators import Accumulator
from duolog.plan.expressions import Call, Cast, Expression, Literal, rewrite, walk
from duolog.plan.types import Array, Column, Struct, Type

_Structs = Mapping[Type, Type]


def as_lowered_first(accumulators: Sequence[Accumulator]) -> Sequence[Accumulator]:
    """Return accumulators; their pinned texts have the first names of the fields they sort by."""
    if not are_pinned():
        return accumulators
    structs: _Structs = {of: _unnamed(of) for kept in accumulators for of in _sorted_by(kept.add)}
    return [
        replace(
            kept,
            type=_renamed(kept.type, structs),
            **_steps(kept, structs),
        )
        for kept in accumulators
    ]


def _steps(kept: Accumulator, structs: _Structs) -> Json:
    steps = {
        "initial": kept.initial,
        "add": kept.add,
        "subtract": kept.subtract,
        "merge": kept.merge,
    }
    return {name: _rewritten(step, structs) for name, step in steps.items() if step is not None}


def _sorted_by(expression: Expression) -> list[Struct]:
    return [
        like.type
        for part in walk(expression)
        if isinstance(part, Call) and part.function == "SORTABLE_AS"
        for like in part.args[:1]
        if isinstance(like, Cast) and isinstance(like.type, Struct)
    ]


def _unnamed(of: Struct) -> Struct:
    names = ("sort_col", *(f"col{place}" for place in range(len(of.fields) - 1)))
    return Struct(
        tuple(Column(name, field.type) for name, field in zip(names, of.fields, strict=True))
    )


def _renamed(of: Type, structs: _Structs) -> Type:
    match of:
        case Array(element=element):
            return Array(_renamed(element, structs))
        case _:
            return structs.get(of, of)


def _rewritten(expression: Expression, structs: _Structs) -> Expression:
    def change(part: Expression) -> Expression | None:
        match part:
            case Call("SORTABLE_AS", (_, *columns)):
                return Call("SORTABLE", tuple(rewrite(column, change) for column in columns))
            case Literal(value, of):
                return Literal(value, _renamed(of, structs))
            case Cast(arg, of):
                return Cast(rewrite(arg, change), _renamed(of, structs))
            case _:
                return None

    return rewrite(expression, change)
