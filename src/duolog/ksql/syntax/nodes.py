"""Syntax tree nodes of statements, in addition to sqlglot's own nodes for queries and expressions.

    CREATE STREAM s (a INT KEY) WITH (...) AS SELECT ...    CreateSource
    SELECT a FROM s WINDOW TUMBLING (SIZE 1 HOUR) ...       Select (sqlglot) with StreamWindow, Emit
    a->b, STRUCT(x := 1), x => x + 1                        Deref, StructOf, Lambda (sqlglot)

Every node has its position in the text: `place_of`.

sqlglot rejects an unknown argument of a node only under pytest, so each node here declares its
arguments.
"""

from sqlglot import exp

from duolog.ksql.errors import Place


def place_of(node: exp.Expression) -> Place | None:
    """Return the position of `node`, or of its first part that has one."""
    for part in node.walk(bfs=False):
        meta = part.meta
        if "line" in meta:
            line, column = meta["line"], meta["col"] - (meta["end"] - meta["start"])
            if column < 1:  # sqlglot gives the end of a token; this one spans several lines.
                line, column = line - part.name.count("\n"), 1
            return Place(line, column, meta["start"], meta["end"] + 1)
    return None


# Expressions.


class Deref(exp.Expression, exp.Condition):
    """Field of a STRUCT: `this` -> `name`."""

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
    """Number and unit: 30 SECONDS."""

    arg_types = {"this": True, "unit": True}


class StreamWindow(exp.Expression):
    """[name] WINDOW TUMBLING | HOPPING | SESSION (…).

    `size` is the gap of a session window. `offset`, `zone` and `idle` are extensions and None in
    plain ksqlDB statements.
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
    """this [AS alias] HEADER('header'): a value written to a header; in `headers` of its Select."""

    arg_types = {"this": True, "alias": False, "header": True}


class SourceJoin(exp.Join):
    """[LEFT | RIGHT | FULL] JOIN this WITHIN within ON on."""

    arg_types = {**exp.Join.arg_types, "within": False}


class Within(exp.Expression):
    """WITHIN (before, after) GRACE PERIOD grace, in a stream-stream join."""

    arg_types = {"before": True, "after": True, "grace": False}


class PartitionBy(exp.Expression):
    """PARTITION BY a, b."""

    arg_types = {"expressions": True}


class Emit(exp.Expression):
    """EMIT CHANGES or EMIT FINAL."""

    arg_types = {"this": True}


# Definitions.


class Element(exp.Expression):
    """Column of a source: name, type and role.

    `role` is KEY, PRIMARY KEY, HEADERS or HEADER; with HEADER, `header` is the name of the header.
    """

    arg_types = {"this": True, "kind": True, "role": False, "header": False}


class Property(exp.Expression):
    """name = literal, in WITH (…)."""

    arg_types = {"this": True, "value": True}


class CreateSource(exp.Expression):
    """CREATE [OR REPLACE] [SOURCE] STREAM | [GLOBAL] TABLE [IF NOT EXISTS] this (elements) WITH ….

    `properties` are those of WITH, `expression` is the query after AS, and `everywhere` is set for
    GLOBAL.
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
    """INSERT INTO this (columns) VALUES (expressions), or NULL VALUES KEY (expressions).

    `tombstone` is the NULL of the second form.
    """

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
    """CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] this FROM 'origin'.

    `origin` is the module and name of a Python function.
    """

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


# Running queries.


class QueryCommand(exp.Expression):
    """TERMINATE, PAUSE or RESUME (`kind`) a query, or ALL queries if `this` is None."""

    arg_types = {"kind": True, "this": False}


# Listings.


class Show(exp.Expression):
    """SHOW or LIST `kind` (STREAMS, TOPICS, …), with `all` and `extended` if allowed."""

    arg_types = {"kind": True, "all": False, "extended": False, "this": False}


class Describe(exp.Expression):
    """DESCRIBE a source, or a FUNCTION, CONNECTOR, STREAMS or TABLES (`kind`)."""

    arg_types = {"kind": True, "this": False, "extended": False}


class Explain(exp.Expression):
    """EXPLAIN a statement or a query id; EXPLAIN UPGRADE a statement that replaces a query."""

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


# Assertions.


class AssertTopic(exp.Expression):
    """ASSERT [NOT EXISTS] TOPIC this [WITH (…)] [TIMEOUT duration]."""

    arg_types = {"this": True, "absent": False, "properties": False, "timeout": False}


class AssertSchema(exp.Expression):
    """ASSERT [NOT EXISTS] SCHEMA [SUBJECT subject] [ID id] [TIMEOUT duration]."""

    arg_types = {"subject": False, "id": False, "absent": False, "timeout": False}


class AssertValues(exp.Expression):
    """ASSERT [NULL] VALUES this (columns) [VALUES] (expressions); only in test files."""

    arg_types = {"this": True, "columns": False, "expressions": True, "tombstone": False}


class AssertSource(exp.Expression):
    """ASSERT STREAM | TABLE this (elements) WITH (properties); only in test files."""

    arg_types = {"kind": True, "this": True, "elements": False, "properties": False}


# Connectors, which Duolog does not run.


class ConnectorCommand(exp.Expression):
    """Statement about connectors; `kind` is its first words."""

    arg_types = {"kind": True, "this": False, "properties": False, "exists": False}
