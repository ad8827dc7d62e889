"""Dispatch statements that read or change the catalog, or plan a query.

Each function imports its module when it is first called, so that SHOW STREAMS does not load the
planner.
`duolog.ksql.session` runs the statements that change only the session.
"""

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from duolog.ksql.statements.state import Done, SessionState
from duolog.ksql.syntax import nodes


def create_as(state: SessionState, node: nodes.CreateSource) -> Done:
    from duolog.ksql.statements import queries

    return queries.create_as(state, node)


def _declare(state: SessionState, node: nodes.CreateSource) -> Done:
    from duolog.ksql.statements import definitions

    return definitions.declare(state, node)


def _create_type(state: SessionState, node: nodes.CreateType) -> Done:
    from duolog.ksql.statements import definitions

    return definitions.create_type(state, node)


def _drop_type(state: SessionState, node: nodes.DropType) -> Done:
    from duolog.ksql.statements import definitions

    return definitions.drop_type(state, node)


def _drop(state: SessionState, node: nodes.DropSource) -> Done:
    from duolog.ksql.statements import definitions

    return definitions.drop(state, node)


def _alter(state: SessionState, node: nodes.AlterSource) -> Done:
    from duolog.ksql.statements import definitions

    return definitions.alter(state, node)


def _create_function(state: SessionState, node: nodes.CreateFunction) -> Done:
    from duolog.ksql.statements import function_definitions

    return function_definitions.create_function(state, node)


def _drop_function(state: SessionState, node: nodes.DropFunction) -> Done:
    from duolog.ksql.statements import function_definitions

    return function_definitions.drop_function(state, node)


def _insert_select(state: SessionState, node: nodes.InsertSelect) -> Done:
    from duolog.ksql.statements import queries

    return queries.insert_select(state, node)


def _select(state: SessionState, node: exp.Select) -> Done:
    from duolog.ksql.statements import queries

    return queries.select(state, node)


def _query_command(state: SessionState, node: nodes.QueryCommand) -> Done:
    from duolog.ksql.statements import queries

    return queries.query_command(state, node)


def _insert_values(state: SessionState, node: nodes.InsertValues) -> Done:
    from duolog.ksql.statements import insert_values

    return insert_values.insert_values(state, node)


def _assert_values(state: SessionState, node: nodes.AssertValues) -> Done:
    from duolog.ksql.statements import insert_values

    return insert_values.assert_values(state, node)


def _delete_rows(state: SessionState, node: nodes.DeleteRows) -> Done:
    from duolog.ksql.statements import deleting

    return deleting.delete_rows(state, node)


def _show(state: SessionState, node: nodes.Show) -> Done:
    from duolog.ksql.statements import listing

    return listing.show(state, node)


def _describe(state: SessionState, node: nodes.Describe) -> Done:
    from duolog.ksql.statements import listing

    return listing.describe(state, node)


def _explain(state: SessionState, node: nodes.Explain) -> Done:
    from duolog.ksql.statements import listing

    return listing.explain(state, node)


def _assert_topic(state: SessionState, node: nodes.AssertTopic) -> Done:
    from duolog.ksql.statements import assertions

    return assertions.assert_topic(state, node)


def _assert_schema(state: SessionState, node: nodes.AssertSchema) -> Done:
    from duolog.ksql.statements import assertions

    return assertions.assert_schema(state, node)


def _assert_source(state: SessionState, node: nodes.AssertSource) -> Done:
    from duolog.ksql.statements import assertions

    return assertions.assert_source(state, node)


Run = Callable[[SessionState, Any], Done]
"""Runs a statement of one node type."""

STATEMENTS: Final[dict[type[exp.Expression], Run]] = {
    nodes.CreateSource: _declare,
    nodes.CreateType: _create_type,
    nodes.DropType: _drop_type,
    nodes.DropSource: _drop,
    nodes.AlterSource: _alter,
    nodes.CreateFunction: _create_function,
    nodes.DropFunction: _drop_function,
    nodes.InsertSelect: _insert_select,
    exp.Select: _select,
    nodes.QueryCommand: _query_command,
    nodes.InsertValues: _insert_values,
    nodes.AssertValues: _assert_values,
    nodes.DeleteRows: _delete_rows,
    nodes.Show: _show,
    nodes.Describe: _describe,
    nodes.Explain: _explain,
    nodes.AssertTopic: _assert_topic,
    nodes.AssertSchema: _assert_schema,
    nodes.AssertSource: _assert_source,
}
