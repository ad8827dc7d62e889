"""`duolog dump-log`: print the contents of log files, without a broker."""

import json
from collections.abc import Iterator
from pathlib import Path

import click

from duolog.cli.dump_log.files import file_rows, files_of, nothing_in
from duolog.cli.dump_log.row import Row
from duolog.cli.dump_log.segment import DECODERS
from duolog.cli.terminal.output import json_line


@click.command("dump-log")
@click.argument(
    "paths",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
)
@click.option("--records", is_flag=True, help="Also print the records of each batch.")
@click.option(
    "--offsets",
    "kind",
    flag_value="offsets",
    help="Decode the records as those of __consumer_offsets.",
)
@click.option(
    "--transactions",
    "kind",
    flag_value="transactions",
    help="Decode the records as those of __transaction_state.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def dump_log(*, paths: tuple[Path, ...], records: bool, kind: str | None, as_json: bool) -> int:
    """Print the contents of log files and report damage.

    FILE is a segment (.log), an index (.index, .timeindex, .txnindex), a recovery point, a leader
    epoch file, a journal, or the directory of a partition; `duolog topics describe` prints the
    directory of a topic. The broker may be running; the end of a file being written may then look
    truncated. The exit status is 1 if a file is damaged.

    \b
    Examples:
      duolog dump-log data/topics/ID/0/00000000000000000000.log --records
      duolog dump-log data/topics/ID/0 --json
      duolog dump-log data/topics/ID/3 --offsets
    """
    decode = DECODERS[kind] if kind else None
    healthy = True
    for path in _files(paths):
        if not as_json:
            click.echo(f"# {path}")
        for row in file_rows(path, records=records, decode=decode):
            healthy = healthy and "error" not in row
            click.echo(_json(path, row) if as_json else _text(row))
    return 0 if healthy else 1


def _files(paths: tuple[Path, ...]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            if not (files := files_of(path)):
                raise nothing_in(path)
            yield from files
        else:
            yield path


def _json(path: Path, row: Row) -> str:
    line = {"file": str(path), **row}
    return json_line(line)


def _text(row: Row) -> str:
    """Return a row as `name=value` fields; records follow their batch, indented."""
    line = " ".join(f"{name}={_quoted(value)}" for name, value in row.items() if name != "error")
    if "error" in row:
        line = f"{line} DAMAGED: {row['error']}".lstrip()
    return f"  {line}" if "record" in row else line


def _quoted(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    plain = value.isprintable() and value and not set(value) & {" ", '"', "="}
    return value if plain else json.dumps(value, ensure_ascii=False)
