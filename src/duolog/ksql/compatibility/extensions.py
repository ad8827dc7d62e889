"""Extensions of persistent queries that ksqlDB does not have; strict mode refuses them.

CREATE TABLE … AS SELECT DISTINCT …                    COUNT(DISTINCT x)
CREATE STREAM … AS SELECT … FROM (SELECT …) AS x       CREATE STREAM … AS CHANGES OF t
… AS WITH x AS (SELECT …) SELECT … FROM x              … AS SELECT … UNION ALL SELECT …
… AS SELECT x AS trace HEADER('trace') …               CREATE GLOBAL TABLE …
WINDOW TUMBLING (SIZE 1 MONTH, TIMEZONE 'Europe/Berlin', OFFSET 6 HOURS, IDLE TIMEOUT 1 DAY)
WITH (TTL = '7 days')                                  WITH (TOPIC_PATTERN = …)
"""

from typing import Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.catalog.properties import (
    DEAD_LETTER_TOPIC,
    INHERIT_HEADERS,
    TOPIC_PATTERN,
    Properties,
)
from duolog.ksql.errors import SqlError, syntax_error
from duolog.ksql.settings import Settings
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.durations import number_and_unit
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.words import CALENDAR_UNITS, ROWTOPIC

_PROPERTIES: Final = (
    "TTL",
    "WINDOW_TIMEZONE",
    TOPIC_PATTERN,
    INHERIT_HEADERS,
    DEAD_LETTER_TOPIC,
)


def ensure_global_allowed(node: nodes.CreateSource, settings: Settings, text: str) -> None:
    """Refuse GLOBAL in strict mode, and for a table that a query writes."""
    everywhere = node.args.get("everywhere")
    at = place_of(everywhere) if everywhere is not None else None
    if at is not None and settings.strict:
        raise syntax_error(at, "Expecting one of STREAM, TABLE, TYPE, found 'GLOBAL'", text)
    if at is not None and node.args.get("expression") is not None:
        raise SqlError(
            "A global table must read a topic; it cannot be the result of a query.",
            at=at,
            hint=f"Declare a global table over the topic that CREATE TABLE {node.this.name} "
            "AS SELECT writes.",
        )


def extension_column(query: exp.Expr, source: SourceInfo) -> exp.Column | None:
    """Return the use of ROWTOPIC as a pseudo-column in a query, or None."""
    if ROWTOPIC in {column.name for column in source.columns}:
        return None
    return next((one for one in query.find_all(exp.Column) if one.name == ROWTOPIC), None)


def changes_of(query: exp.Expr) -> exp.Expression | None:
    """Return the CHANGES OF clause of a query, or None."""
    found = query.find_all(exp.Table)
    changes: list[exp.Expression | None] = [table.args.get("changes") for table in found]
    return next((one for one in changes if one is not None), None)


def ensure_readable_by_ksqldb(query: exp.Expression, settings: Settings, text: str) -> None:
    """Refuse syntax that ksqlDB's grammar does not have, in strict mode; `text` is the statement.

    Raises:
        SqlError: the query uses such syntax; the position is the first word that ksqlDB would not
            accept.
    """
    if not settings.strict:
        return
    header = query.find(nodes.HeaderItem)
    if header is not None and (at := place_of(header)):
        raise syntax_error(at, "Expecting ',' or 'FROM', found 'HEADER'", text)
    if (changes := changes_of(query)) is not None and (at := place_of(changes)):
        wanted = "'SELECT'" if place_of(query) == at else "a stream or table"
        raise syntax_error(at, f"Expecting {wanted}, found 'CHANGES'", text)
    named = query.args.get("with_")
    if named is not None and (at := place_of(named)):
        raise syntax_error(at, "Expecting 'SELECT', found 'WITH'", text)
    union, inner = query.find(exp.SetOperation), query.find(exp.Subquery)
    at = place_of(inner) if inner is not None else None
    # A UNION of streams is stored as a subquery; its position is that of the UNION.
    if union is not None and at is not None and place_of(union) == at:
        raise syntax_error(at, "Expecting the end of the statement, found 'UNION'", text)
    if at is not None:
        raise syntax_error(at, "Expecting a stream or table, found '('", text)
    _ensure_windows(query, text)
    distinct = query.find(exp.Distinct)
    if distinct is not None and (at := place_of(distinct)):
        raise syntax_error(at, "Expecting an expression, found 'DISTINCT'", text)


def ensure_known_to_ksqldb(properties: Properties, settings: Settings) -> None:
    """Refuse properties that ksqlDB does not have, in strict mode.

    Raises:
        SqlError: such a property is given, or the size of a window has a calendar unit.
    """
    if not settings.strict:
        return
    if unknown := [name for name in _PROPERTIES if name in properties]:
        raise SqlError(f"Invalid config variable(s) in the WITH clause: {','.join(unknown)}")
    size = properties.text("WINDOW_SIZE")
    if size is not None and number_and_unit("WINDOW_SIZE", size)[1] in CALENDAR_UNITS:
        unit = size.split()[-1].upper()
        raise SqlError(
            f"Configuration WINDOW_SIZE is invalid: Invalid duration: '{size}'. Unknown "
            f"time unit: '{unit}'"
        )


def _ensure_windows(query: exp.Expression, text: str) -> None:
    """Refuse calendar durations and the window options that ksqlDB does not have."""
    for duration in query.find_all(nodes.Duration):
        unit = duration.args["unit"].name
        if unit in CALENDAR_UNITS and (at := place_of(duration)):
            known = "DAYS, HOURS, MINUTES, SECONDS or MILLISECONDS"
            raise syntax_error(at, f"Expecting a unit of time ({known}), found '{unit}'", text)
    for window in query.find_all(nodes.StreamWindow):
        for name, word in (("offset", "OFFSET"), ("zone", "TIMEZONE"), ("idle", "IDLE")):
            said = window.args.get(name)
            if said is not None and (at := place_of(said)):
                raise syntax_error(at, f"Expecting 'GRACE' or 'RETENTION', found '{word}'", text)
