"""Define all functions of a module: `duolog sql --functions scoring`.

Each function that the catalog does not have in this form is defined by CREATE OR REPLACE FUNCTION.
These are normal statements, so a later start without the option has the functions too.
"""

from collections.abc import Iterator
from dataclasses import replace

from duolog.core.errors import StatementError
from duolog.ksql.errors import SqlError
from duolog.ksql.udf.modules import functions_of
from duolog.runtime.sql.answers import Answer
from duolog.runtime.sql.engine import SqlEngine


def define_functions(engine: SqlEngine, module: str) -> Iterator[Answer]:
    """Define all functions of a module; yield the results for those that are new or have changed.

    Raises:
        SqlError: the module cannot be imported, or a function cannot be defined.
        BrokerUnavailable, CommandDamaged: as `SqlEngine.follow`.
    """
    try:
        found = functions_of(module)
    except StatementError as error:
        raise SqlError(error.message, detail=error.detail, hint=error.hint) from error
    engine.follow()
    for function in found:
        there = engine.catalog.functions.get(function.name)
        as_it_was = there is not None and there == replace(function, revision=there.revision)
        if there is None or there.code.missing or not as_it_was:
            text = f"CREATE OR REPLACE FUNCTION `{function.name}` FROM '{function.origin}';"
            yield from engine.execute(text)
