"""The foreign-key join: subscriptions to the right table's tasks, and responses.

Messages:      a subscription   key = foreign key   value = left key, number, instruction, left
               a response       key = left key      value = number, outcome, left, right
               an announcement  key = left key      value = number, whether it can be joined
"""

from duolog.engine.lowering.expressions.expressions import Names, lower_as_declared
from duolog.engine.lowering.nodes.required import needed_values
from duolog.engine.lowering.nodes.rows import Lowered, Row, Surroundings
from duolog.engine.lowering.nodes.tables import lower_getter
from duolog.engine.lowering.spark_sql.sql import spark_types
from duolog.engine.lowering.spec.foreign_operators import (
    AnnounceOperator,
    ForeignJoinOperator,
    ForeignTableOperator,
    NewestOperator,
    NumberOperator,
    SubscribeOperator,
    SubscriptionsOperator,
)
from duolog.engine.lowering.spec.operators import TableOperator
from duolog.plan.expressions import Scope
from duolog.plan.nodes import (
    Announce,
    Answers,
    ForeignJoin,
    ForeignTable,
    Newest,
    Numbered,
    Subscribe,
    Subscriptions,
)
from duolog.plan.nodes.foreign_join import left_column, right_column
from duolog.plan.types import Column


def lower_numbered(node: Numbered, row: Row, _around: Surroundings) -> Lowered:
    left = node.left.schema
    naming = row.naming(left)
    values = [row.names[column.name] for column in left.value]
    values += [lower_as_declared(expression, naming) for _, expression in node.keys]
    entry = row.entry(node.name, NumberOperator(store=node.store, values=[*values, "a0"]))
    return Lowered([entry], Row.of(left.key, node.schema.value, changes=True))


def lower_announce(node: Announce, row: Row, _around: Surroundings) -> Lowered:
    operator = AnnounceOperator(left=node.kind == "left", foreign_columns=len(node.numbered.keys))
    entry = row.entry(node.name, operator)
    return Lowered([entry], Row.of(node.schema.key, node.schema.value, changes=False))


def lower_newest(node: Newest, row: Row, _around: Surroundings) -> Lowered:
    return Lowered([row.entry(node.name, NewestOperator(store=node.store))], row)


def lower_subscribe(node: Subscribe, row: Row, around: Surroundings) -> Lowered:
    left = node.numbered.left.schema
    first = len(left.value)
    needed = around.needed(node)
    columns = [column for column in left.value if left_column(column).name in needed]
    operator = SubscribeOperator(
        left=node.kind == "left",
        keys=[f"v{first + at}" for at in range(len(node.numbered.keys))],
        values=[
            *(f"k{at}" for at in range(len(left.key))),
            "a0",
            "a1",
            *(row.names[column.name] for column in columns),
        ],
    )
    sent = Row.of(node.schema.key, needed_values(node, around.required), changes=False)
    return Lowered([row.entry(node.name, operator)], sent)


def lower_subscriptions(node: Subscriptions, row: Row, around: Surroundings) -> Lowered:
    right = lower_getter(around.levels.looked_up(node, node.right), around)
    operator = SubscriptionsOperator(
        store=node.store,
        table_store=right.store,
        getter=right.json(),
        right_types=spark_types(right.row.value),
        primary_columns=len(node.numbered.left.schema.key),
        values=[f"r{right.row.names[of.name][1:]}" for of in _right_columns(node, around)],
    )
    return Lowered([row.entry(node.name, operator)], _answers(node, around))


def lower_foreign_table(node: ForeignTable, row: Row, around: Surroundings) -> Lowered:
    left = node.numbered.left.schema
    needed = around.needed(node)
    columns = [column for column in left.value if left_column(column).name in needed]
    operator = ForeignTableOperator(
        subscriptions=node.subscriptions.store,
        primary_types=spark_types(left.key),
        left_types=spark_types(tuple(columns)),
        values=[row.names[column.name] for column in _right_columns(node, around)],
    )
    return Lowered([row.entry(node.name, operator)], _answers(node, around))


def lower_answers(_node: Answers, row: Row, _around: Surroundings) -> Lowered:
    """Lower to nothing: both parents send their responses over the one edge."""
    return Lowered([], row)


def lower_foreign_join(node: ForeignJoin, row: Row, _around: Surroundings) -> Lowered:
    """Convert responses to upserts, and these to changes."""
    left, right = node.left.schema, node.right.schema
    names = {column.name: f"k{at}" for at, column in enumerate(left.key)}
    names |= {
        column.name: row.names[left_column(column).name]
        for column in left.value
        if left_column(column).name in row.names
    }
    of_right = {
        column.name: row.names[right_column(column).name]
        for column in right.value
        if right_column(column).name in row.names
    }
    naming = Names(Scope(left.columns, right.value), names, of_right, {})
    operator = ForeignJoinOperator(
        newest=node.newest.store,
        results=node.store,
        left=node.kind == "left",
        values=[lower_as_declared(expression, naming) for _, expression in node.values],
    )
    joined = Row.of(left.key, node.schema.value, changes=False)
    table = joined.entry(f"{node.name}-table", TableOperator(store=node.store))
    changes = Row.of(left.key, node.schema.value, changes=True)
    return Lowered([row.entry(node.name, operator), table], changes)


def _right_columns(node: Subscriptions | ForeignTable, around: Surroundings) -> list[Column]:
    needed = around.needed(node)
    return [of for of in node.right.schema.value if right_column(of).name in needed]


def _answers(node: Subscriptions | ForeignTable, around: Surroundings) -> Row:
    return Row.of(node.schema.key, needed_values(node, around.required), changes=False)
