"""`duolog lineage`: the streams, tables and columns of a SQL server, and what leads to them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from duolog.cli.top.sql_server import SqlServer, server_options
from duolog.core.printable import for_stream, json_safe


@click.command()
@click.argument("source", required=False)
@click.option(
    "--direction",
    type=click.Choice(["both", "upstream", "downstream"]),
    default="both",
    show_default=True,
    help="With SOURCE: what leads to it, what follows it, or both.",
)
@click.option("--rates", is_flag=True, help="Add records per second of each query.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text: for reading. json: the answer of the server.",
)
@server_options
def lineage(
    *, source: str | None, direction: str, rates: bool, form: str, server: SqlServer
) -> None:
    """Show the columns from which a SQL server computes each column, back to the topics.

    For a file of statements, without a server, use `duolog sql lineage FILE`.

    \b
    Examples:
      duolog lineage
      duolog lineage TOTALS --direction upstream
      duolog lineage --rates --format json
    """
    if source is None and direction != "both":
        raise click.UsageError(f"--direction {direction} needs the name of a stream or table.")
    parameters = {"rates": "true"} if rates else {}
    if source is not None:
        parameters["direction"] = direction
    found = server.get("/v1/lineage", source or "", **parameters)
    if form == "json":
        click.echo(json_safe(json.dumps(found, indent=2, ensure_ascii=False)))
    else:
        click.echo(for_stream("\n".join(_lines(found))))


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of readable text: a block for each stream and table."""
    rates = {
        (edge["from"], edge["to"]): edge["recordsPerSecond"]
        for edge in found["edges"]
        if edge.get("recordsPerSecond") is not None
    }
    for number, source in enumerate(found["sources"]):
        if number:
            yield ""
        name = source["name"]
        yield f"{name} ({source['type'].lower()} over topic {', '.join(source['topics'])})"
        writers = [one for one in found["queries"] if one["sink"] == name]
        if not writers:
            widest = max((len(one["name"]) for one in source["columns"]), default=0)
            for column in source["columns"]:
                yield f"  {column['name'].ljust(widest)}  ◀ topic {', '.join(source['topics'])}"
        for query in writers:
            yield from _query_lines(query, rates.get((f"query:{query['id']}", f"source:{name}")))


def _query_lines(query: Mapping[str, Any], rate: float | None) -> Iterator[str]:
    written = "" if rate is None else f", {float(rate):g} records/s"
    yield f"  query {query['id']} ({query['state']}{written})"
    lines = [(one["name"], one["inputs"]) for one in query["columns"]]
    # In brackets: a column may be called rows.
    lines += [("(rows)", query["rows"])] if query["rows"] else []
    widest = max((len(name) for name, _ in lines), default=0)
    for name, inputs in lines:
        yield f"    {name.ljust(widest)}  ◀ {_inputs(inputs) or '-'}"


def _inputs(inputs: list[Mapping[str, str]]) -> str:
    return ", ".join(f"{one['source']}.{one['column']} ({one['kind']})" for one in inputs)
