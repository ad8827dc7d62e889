"""Kinds of statements, by which a client chooses the endpoint and the form of the result.

pull, push, print       rows; /query-stream
ddl, insert, query      changes: sources, types and functions; rows; running queries; /ksql
show                    tables of facts: SHOW, DESCRIBE, EXPLAIN; /ksql
session                 SET, UNSET, DEFINE, UNDEFINE: for the statements of the same request
assert, other           /ksql
unknown                 it has a syntax error
"""

from typing import Final, Literal

from sqlglot import exp

from duolog.ksql.syntax import nodes

Kind = Literal[
    "pull", "push", "print", "ddl", "insert", "query", "show", "session", "assert", "other",
    "unknown",
]  # fmt: skip

_KINDS: Final[dict[type[exp.Expression], Kind]] = {
    nodes.PrintTopic: "print",
    nodes.CreateSource: "ddl",
    nodes.CreateType: "ddl",
    nodes.CreateFunction: "ddl",
    nodes.DropSource: "ddl",
    nodes.DropType: "ddl",
    nodes.DropFunction: "ddl",
    nodes.AlterSource: "ddl",
    nodes.InsertSelect: "query",
    nodes.QueryCommand: "query",
    nodes.InsertValues: "insert",
    nodes.DeleteRows: "insert",
    nodes.Show: "show",
    nodes.Describe: "show",
    nodes.Explain: "show",
    nodes.SetProperty: "session",
    nodes.UnsetProperty: "session",
    nodes.Define: "session",
    nodes.Undefine: "session",
    nodes.AssertTopic: "assert",
    nodes.AssertSchema: "assert",
}


def kind_of(node: exp.Expression) -> Kind:
    """Return the kind of a statement."""
    if isinstance(node, exp.Query):
        return "pull" if node.args.get("emit") is None else "push"
    if isinstance(node, nodes.CreateSource) and node.args.get("expression") is not None:
        return "query"
    return _KINDS.get(type(node), "other")


def change_of(node: exp.Expression) -> dict[str, str | None] | None:
    """Return what a statement changes of the session: name, value, and which of the two kinds.

    The value is None for UNSET and UNDEFINE; the result is None for other statements.
    """
    match node:
        case nodes.SetProperty():
            return {"of": "property", "name": node.this.name, "value": node.args["value"].name}
        case nodes.UnsetProperty():
            return {"of": "property", "name": node.this.name, "value": None}
        case nodes.Define():
            name = node.this.name.upper()
            return {"of": "variable", "name": name, "value": node.args["value"].name}
        case nodes.Undefine():
            return {"of": "variable", "name": node.this.name.upper(), "value": None}
        case _:
            return None
