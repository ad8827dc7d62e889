"""The functions of a module, all at once: `duolog sql --functions scoring`.

Each that is not in the catalog as the module has it is put there by CREATE OR REPLACE FUNCTION, a statement like any other: who
starts without the option later still has it.
"""

from collections.abc import Iterator
from dataclasses import replace

from duolog.core.errors import StatementError
from duolog.ksql.errors import SqlError
from duolog.ksql.udf.modules import functions_of
from duolog.runtime.sql.answers import Answer
from duolog.runtime.sql.engine import SqlEngine


def define_functions(engine: SqlEngine, module: str) -> Iterator[Answer]:
    """Bring all functions of a module into the catalog; yield what is answered for those that were not there so.

    Raises:
        SqlError: the module cannot be imported, or a function of it cannot be had.
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
