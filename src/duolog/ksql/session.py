"""Execute SQL statements in order, over one catalog.

    text ─▶ statements ─▶ changed catalog │ planned query │ row to insert │ rows to return

The caller reads `Done`: the queries to start and stop, the rows to write, and the result to show.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp

from duolog.core.errors import StatementError
from duolog.ksql import settings
from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.errors import NoConnectCluster, SqlError, too_deep
from duolog.ksql.expressions.legacy_semantics import with_legacy_semantics
from duolog.ksql.expressions.user_calls import with_functions
from duolog.ksql.settings import Settings
from duolog.ksql.statements.dispatch import STATEMENTS, Run, create_as
from duolog.ksql.statements.state import Done, PersistentQuery, SessionState
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.amounts import Amount, ensure_variables
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.script import TEXT, parse, parsed, pieces, substituted, uses_variables

__all__ = ["Done", "PersistentQuery", "SqlSession", "parse"]


class SqlSession:
    """Runs statements over a catalog, and returns to the caller what has to be executed.

    Example:
        >>> session = SqlSession()
        >>> [done.message for done in session.run("CREATE TYPE code AS STRING;")]
        ["Registered custom type with name 'CODE' and SQL type STRING"]
    """

    def __init__(
        self,
        catalog: Catalog | None = None,
        given: Mapping[str, str] | None = None,
        *,
        of_tests: bool = True,
    ) -> None:
        """Create a session.

        `of_tests` allows ASSERT VALUES, ASSERT STREAM and ASSERT TABLE, which only test files may
        use.
        """
        self.state = SessionState(catalog or Catalog(), Settings(given))
        self._of_tests = of_tests

    @property
    def catalog(self) -> Catalog:
        return self.state.catalog

    def run(self, text: str) -> Iterator[Done]:
        """Run each statement of a text.

        Raises:
            SqlError: a statement cannot be parsed or executed. The statements before it have run.
        """
        for node, written in self.read(text):
            yield self.execute(node, written)

    def read(self, text: str, amount: Amount | None = None) -> Iterator[tuple[exp.Expression, str]]:
        """Yield each statement and its source, with variables replaced by their current values.

        `amount` limits the statements of a text that others have sent.

        Raises:
            SqlError: a statement cannot be parsed, or there are too many.
        """
        if amount is not None:
            amount.take(text)
        if not (uses_variables(text) and self.state.settings.truth(settings.SUBSTITUTION)):
            # Parse the whole text before running anything, so that a syntax error changes nothing.
            yield from parsed(text)
            return
        replaced = None if amount is None else Amount()
        for piece in pieces(text):
            enabled = self.state.settings.truth(settings.SUBSTITUTION)
            written = substituted(piece, self.state.variables) if enabled else piece
            if replaced is not None:
                replaced.take(written)
            found = parsed(written)
            if len(found) > 1 and written != piece:
                raise SqlError(
                    f"the values of variables make {len(found)} statements of one",
                    hint="Use values without a semicolon, or put the variable in quotes.",
                    statement=piece.strip(),
                )
            yield from found

    def execute(self, node: exp.Expression, text: str = "") -> Done:
        """Run a statement; `text` is its source.

        Raises:
            SqlError: the statement cannot be executed. Nothing has changed.
        """
        node.meta[TEXT] = text
        try:
            with settings.in_force(self.state.settings):
                return self._execute(with_legacy_semantics(node, self.state.settings))
        except SqlError as error:
            raise error.in_statement(text) from error.__cause__
        except RecursionError as error:
            raise too_deep(text) from error
        except StatementError as error:
            # Errors of the plan are errors of this statement too.
            in_sql = SqlError(error.message, detail=error.detail, hint=error.hint, statement=text)
            raise in_sql from error

    def _execute(self, node: exp.Expression) -> Done:
        called = with_functions(node, self.catalog.functions)
        done = self._done(node)
        if called and done.query is not None:
            query = replace(done.query, functions=called)
            self.state.queries[query.id] = query
            done = replace(done, query=query)
        return done

    def _done(self, node: exp.Expression) -> Done:
        if isinstance(node, nodes.CreateSource) and node.args.get("expression") is not None:
            return create_as(self.state, node)
        if isinstance(node, nodes.AssertValues | nodes.AssertSource) and not self._of_tests:
            raise _only_in_tests(node)
        run = _STATEMENTS.get(type(node))
        if run is None:
            raise SqlError(f"Do not know how to execute statement: {type(node).__name__}")
        return run(self.state, node)


def _set(state: SessionState, node: nodes.SetProperty) -> Done:
    name, value = node.this.name, node.args["value"].name
    before = state.settings.set(name, value)
    previous = "" if before is None else f" from '{before}'"
    shown = state.settings.shown(name, value)
    message = f"Successfully changed local property '{name}'{previous} to '{shown}'."
    if idle := state.settings.without_effect(name):
        message = f"{message} {idle}"
    return Done(node, message=message)


def _unset(state: SessionState, node: nodes.UnsetProperty) -> Done:
    name = node.this.name
    before = state.settings.unset(name)
    if before is None:
        raise SqlError(f"Cannot unset local property '{name}' which was never set")
    return Done(node, message=f"Successfully unset local property '{name}' (value was '{before}').")


def _define(state: SessionState, node: nodes.Define) -> Done:
    name, value = node.this.name.upper(), node.args["value"].name
    ensure_variables({**state.variables, name: value})
    state.variables[name] = value
    return Done(node)


def _undefine(state: SessionState, node: nodes.Undefine) -> Done:
    name = node.this.name.upper()
    if name not in state.variables:
        raise SqlError(f"Cannot undefine variable '{node.this.name}' which was never defined")
    del state.variables[name]
    return Done(node)


def _only_in_tests(node: nodes.AssertValues | nodes.AssertSource) -> SqlError:
    word = "NULL" if node.args.get("tombstone") else str(node.args.get("kind") or "VALUES")
    at = place_of(node)
    assert at is not None, "every statement has a position"
    return SqlError(
        f"Syntax error at or near '{word}' at line {at.line}:{at.column + len('ASSERT ')}",
        kind="syntax",
        at=at,
    )


def _run_script(_state: SessionState, node: nodes.RunScript) -> Done:
    # Only the shell reads files. ksqlDB's grammar for scripts does not have this statement.
    raise SqlError(
        "line 1:1: Syntax Error\nUnknown statement 'RUN'\nStatement: RUN SCRIPT "
        f"'{node.this.name}';",
        kind="syntax",
    )


def _no_connect(_state: SessionState, node: exp.Expression) -> Done:
    raise NoConnectCluster(at=place_of(node))


def _no_system(_state: SessionState, node: exp.Expression) -> Done:
    raise SqlError(
        "ALTER SYSTEM is not supported.", hint="Use SET to change a property of this session."
    )


_STATEMENTS: Final[dict[type[exp.Expression], Run]] = {
    **STATEMENTS,
    nodes.AlterSystem: _no_system,
    nodes.SetProperty: _set,
    nodes.UnsetProperty: _unset,
    nodes.Define: _define,
    nodes.Undefine: _undefine,
    nodes.RunScript: _run_script,
    nodes.ConnectorCommand: _no_connect,
}
