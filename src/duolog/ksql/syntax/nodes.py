"""The syntax tree of statements, beside sqlglot's own nodes for queries and expressions.

    CREATE STREAM s (a INT KEY) WITH (...) AS SELECT ...    CreateSource
    SELECT a FROM s WINDOW TUMBLING (SIZE 1 HOUR) ...       sqlglot's Select, with a StreamWindow, Emit and PartitionBy in it
    a->b, STRUCT(x := 1), x => x + 1                        Deref, StructOf, sqlglot's Lambda

Every node keeps where it stands in the text: `place_of`.
"""

from sqlglot import exp

from duolog.ksql.errors import Place


def place_of(node: exp.Expression) -> Place | None:
    """Return where `node` begins, or the first of its parts that is known to stand somewhere."""
    for part in node.walk(bfs=False):
        meta = part.meta
        if "line" in meta:
            line, column = meta["line"], meta["col"] - (meta["end"] - meta["start"])
            if column < 1:  # Line and column are those of its end, and it has several lines.
                line, column = line - part.name.count("\n"), 1
            return Place(line, column, meta["start"], meta["end"] + 1)
    return None


# Expressions.


class Deref(exp.Expression, exp.Condition):
    """A field of a STRUCT: `this` -> `name`."""

    arg_types = {"this": True, "name": True}


class StructOf(exp.Expression, exp.Condition):
    """STRUCT(name := value, …): `expressions` are `Assigned`."""

    arg_types = {"expressions": False}


class MapOf(exp.Expression, exp.Condition):
    """MAP(key := value, …): `expressions` are `Assigned`."""

    arg_types = {"expressions": False}


class Assigned(exp.Expression):
    """`this` := `expression`, in a STRUCT or a MAP."""

    arg_types = {"this": True, "expression": True}


# Parts of queries.


class Duration(exp.Expression):
    """A number of a unit: 30 SECONDS."""

    arg_types = {"this": True, "unit": True}


class StreamWindow(exp.Expression):
    """WINDOW TUMBLING | HOPPING | SESSION (…), perhaps with a name in front.

    `size` is the gap of a session; what windows have beyond ksqlDB's (`offset`, `zone`, `idle`) is None in its language.
    """

    arg_types = {
        "kind": True,
        "size": True,
        "advance": False,
        "retention": False,
        "grace": False,
        "offset": False,
        "zone": False,
        "idle": False,
        "this": False,
    }


class HeaderItem(exp.Expression):
    """this [AS alias] HEADER('header'): what is selected for a header. A Select keeps them in `headers`."""

    arg_types = {"this": True, "alias": False, "header": True}


class SourceJoin(exp.Join):
    """[LEFT | RIGHT | FULL] JOIN this WITHIN within ON on."""

    arg_types = {**exp.Join.arg_types, "within": False}


class Within(exp.Expression):
    """WITHIN (before, after) GRACE PERIOD grace, of a join of streams."""

    arg_types = {"before": True, "after": True, "grace": False}


class PartitionBy(exp.Expression):
    """PARTITION BY a, b."""

    arg_types = {"expressions": True}


class Emit(exp.Expression):
    """EMIT CHANGES or EMIT FINAL."""

    arg_types = {"this": True}


# Definitions.


class Element(exp.Expression):
    """A column of a source: name, type, and what it is beside a plain one.

    `role` is KEY, PRIMARY KEY, HEADERS or HEADER, of which `header` is the name.
    """

    arg_types = {"this": True, "kind": True, "role": False, "header": False}


class Property(exp.Expression):
    """name = literal, in WITH (…)."""

    arg_types = {"this": True, "value": True}


class CreateSource(exp.Expression):
    """CREATE [OR REPLACE] [SOURCE] STREAM | [GLOBAL] TABLE [IF NOT EXISTS] this (elements) WITH (properties) AS expression.

    `everywhere` is the GLOBAL.
    """

    arg_types = {
        "kind": True,
        "this": True,
        "replace": False,
        "read_only": False,
        "everywhere": False,
        "exists": False,
        "elements": False,
        "properties": False,
        "expression": False,
    }


class InsertSelect(exp.Expression):
    """INSERT INTO this WITH (properties) expression."""

    arg_types = {"this": True, "properties": False, "expression": True}


class InsertValues(exp.Expression):
    """INSERT INTO this (columns) VALUES (expressions), or NULL VALUES KEY (expressions): `tombstone` is the NULL then."""

    arg_types = {"this": True, "columns": False, "expressions": True, "tombstone": False}


class DeleteRows(exp.Expression):
    """DELETE FROM this WHERE where."""

    arg_types = {"this": True, "where": False}


class CreateType(exp.Expression):
    """CREATE TYPE [IF NOT EXISTS] this AS kind."""

    arg_types = {"this": True, "kind": True, "exists": False}


class DropType(exp.Expression):
    """DROP TYPE [IF EXISTS] this."""

    arg_types = {"this": True, "exists": False}


class CreateFunction(exp.Expression):
    """CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] this FROM 'origin': a function of Python's, by module and name."""

    arg_types = {"this": True, "origin": True, "replace": False, "exists": False}


class DropFunction(exp.Expression):
    """DROP FUNCTION [IF EXISTS] this."""

    arg_types = {"this": True, "exists": False}


class DropSource(exp.Expression):
    """DROP STREAM | TABLE [IF EXISTS] this [DELETE TOPIC]."""

    arg_types = {"kind": True, "this": True, "exists": False, "delete_topic": False}


class AlterSource(exp.Expression):
    """ALTER STREAM | TABLE this ADD [COLUMN] …: `expressions` are the new `Element`s."""

    arg_types = {"kind": True, "this": True, "expressions": True}


class AlterSystem(exp.Expression):
    """ALTER SYSTEM 'name' = 'value'."""

    arg_types = {"this": True, "value": True}


# Life of queries.


class QueryCommand(exp.Expression):
    """TERMINATE, PAUSE or RESUME (`kind`) of a query, or of ALL: `this` is None then."""

    arg_types = {"kind": True, "this": False}


# What there is.


class Show(exp.Expression):
    """SHOW or LIST of what `kind` says: STREAMS, TOPICS, PROPERTIES, … ; `all` and `extended` where it has them."""

    arg_types = {"kind": True, "all": False, "extended": False, "this": False}


class Describe(exp.Expression):
    """DESCRIBE of a source, or (`kind`) of a FUNCTION, CONNECTOR, STREAMS or TABLES."""

    arg_types = {"kind": True, "this": False, "extended": False}


class Explain(exp.Expression):
    """EXPLAIN of a statement, or of a query by its id; EXPLAIN UPGRADE of a statement that replaces another."""

    arg_types = {"this": True, "upgrade": False}


class PrintTopic(exp.Expression):
    """PRINT topic [FROM BEGINNING] [INTERVAL n] [LIMIT n]."""

    arg_types = {"this": True, "from_beginning": False, "interval": False, "limit": False}


# Session.


class SetProperty(exp.Expression):
    """SET 'name' = 'value'."""

    arg_types = {"this": True, "value": True}


class UnsetProperty(exp.Expression):
    """UNSET 'name'."""

    arg_types = {"this": True}


class Define(exp.Expression):
    """DEFINE name = 'value'."""

    arg_types = {"this": True, "value": True}


class Undefine(exp.Expression):
    """UNDEFINE name."""

    arg_types = {"this": True}


class RunScript(exp.Expression):
    """RUN SCRIPT 'file'."""

    arg_types = {"this": True}


# Claims.


class AssertTopic(exp.Expression):
    """ASSERT [NOT EXISTS] TOPIC this [WITH (…)] [TIMEOUT duration]."""

    arg_types = {"this": True, "absent": False, "properties": False, "timeout": False}


class AssertSchema(exp.Expression):
    """ASSERT [NOT EXISTS] SCHEMA [SUBJECT subject] [ID id] [TIMEOUT duration]."""

    arg_types = {"subject": False, "id": False, "absent": False, "timeout": False}


class AssertValues(exp.Expression):
    """ASSERT [NULL] VALUES this (columns) [VALUES] (expressions): only in files of tests."""

    arg_types = {"this": True, "columns": False, "expressions": True, "tombstone": False}


class AssertSource(exp.Expression):
    """ASSERT STREAM | TABLE this (elements) WITH (properties): only in files of tests."""

    arg_types = {"kind": True, "this": True, "elements": False, "properties": False}


# Connectors, which are not run here.


class ConnectorCommand(exp.Expression):
    """A statement about connectors; `kind` is its first words."""

    arg_types = {"kind": True, "this": False, "properties": False, "exists": False}
