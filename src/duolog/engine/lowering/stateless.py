"""Nodes that look at one record at a time: filter, project, to_stream.

Of a table's change the kernel filters and projects old and new alike.
"""

from dataclasses import replace

from duolog.engine.expressions import lower_as_declared, lower_expression
from duolog.engine.lowering.operators import FilterOperator, ProjectOperator, ToStreamOperator
from duolog.engine.lowering.rows import Lowered, Row, Surroundings
from duolog.plan.nodes import Filter, Project, ToStream


def lower_filter(node: Filter, row: Row, _around: Surroundings) -> Lowered:
    predicate = lower_expression(node.predicate, row.naming(node.parent.schema))
    return Lowered([row.entry(node.name, FilterOperator(predicate=predicate))], row)


def lower_project(node: Project, row: Row, around: Surroundings) -> Lowered:
    needed = around.needed(node)
    naming = row.naming(node.parent.schema)
    computed = [(name, expression) for name, expression in node.values if name in needed]
    values = [lower_as_declared(expression, naming) for _, expression in computed]
    types = {column.name: column for column in node.schema.value}
    columns = tuple(types[name] for name, _ in computed)
    entry = row.entry(node.name, ProjectOperator(values=values))
    return Lowered([entry], Row.of(node.schema.key, columns, changes=row.changes))


def lower_to_stream(node: ToStream, row: Row, _around: Surroundings) -> Lowered:
    return Lowered([row.entry(node.name, ToStreamOperator())], replace(row, changes=False))
