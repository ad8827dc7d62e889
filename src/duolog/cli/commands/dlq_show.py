"""`duolog dlq show`: print dead letters."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

import click

from duolog.cli.dead_letters.selecting import selection_options, tell
from duolog.cli.dead_letters.showing import (
    COLUMNS,
    TABLE,
    letter_object,
    page,
    table_row,
    text_record,
)
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.name_completion import complete_topics, reject_topic_option
from duolog.cli.records.field_forms import Forms
from duolog.cli.records.form_options import RAW, FormOptions, form_options
from duolog.cli.records.registry_forms import Choices, RegistryForms
from duolog.cli.records.text_record import TextRecord
from duolog.cli.registry.options import RegistryAddress, found_registry, maybe_registry_options
from duolog.cli.terminal import output
from duolog.core.printable import bytes_for, for_stream
from duolog.runtime.dead_letters.errors import NoDeadLetter
from duolog.runtime.dead_letters.letter import Letter
from duolog.runtime.dead_letters.marks import Replayed
from duolog.runtime.dead_letters.reading import Records
from duolog.runtime.dead_letters.replay import LetterTopic
from duolog.runtime.dead_letters.selection import Selection

_NONE: Final[frozenset[int]] = frozenset()
FormsOf = Callable[[TextRecord], Forms]


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@reject_topic_option
@selection_options
@click.option("--replayed/--open", default=None, help="Only letters that were (not) replayed.")
@click.option(
    "-n",
    "--max",
    "limit",
    default=100,
    show_default=True,
    type=click.IntRange(min=1),
    help="Show at most N letters.",
)
@click.option(
    "--raw",
    type=click.Choice(("key", "value")),
    help="Write the bytes of the key or value of one letter, and nothing else.",
)
@form_options(schema=True)
@output.output_option
@maybe_registry_options
@cluster_options
def show(
    *,
    topic: str,
    wanted: Selection,
    replayed: bool | None,
    limit: int,
    raw: str | None,
    form: str,
    options: FormOptions,
    cluster: Cluster,
    registry: RegistryAddress,
) -> None:
    """Show dead letters: the error, the position in the source topic, key and value.

    If only one letter is found, a table is replaced by a page with its headers and stack trace. A
    star marks letters that were replayed.

    \b
    Examples:
      duolog dlq show wrong-orders
      duolog dlq show wrong-orders --reason overflow --since 2h --open
      duolog dlq show wrong-orders -p 0 --offset 17
      duolog dlq show wrong-orders -p 0 --offset 17 --raw value > order.bin
      duolog dlq show wrong-orders -n 1000000 -o jsonl
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    wanted = replace(wanted, replayed=replayed)
    forms_of = readable_forms(topic, options, found_registry(registry, cluster.bootstrap_servers))
    with Records(cluster.brokers) as records:
        letters = LetterTopic(records, topic)
        marks = letters.marks()
        found = letters.letters(letters.ranges(wanted), wanted, marks)
        if raw is not None:
            return _write_raw(only_one(found, topic), raw)
        _write(islice(found, limit), marks, forms_of, form)
        if next(found, None) is not None:
            tell(f"there are more than {limit}; see --max")
    return None


def readable_forms(topic: str, options: FormOptions, registry: RegistryAddress | None) -> FormsOf:
    """Return the function that chooses the forms of a letter's key and value.

    Raises:
        click.UsageError: a format needs a registry, and none is named; see also `forms_of`.
    """
    choices = Choices(options.key_format, options.value_format)
    if registry is None and any(choice not in {None, RAW} for choice in choices):
        raise click.UsageError("Name the schema registry with --registry.")
    return RegistryForms(topic, options.forms_of(topic), choices, registry).of


def only_one(found: Iterator[Letter], topic: str) -> Letter:
    """Return the only letter of several.

    Raises:
        NoDeadLetter: there is none.
        click.UsageError: there are several.
    """
    letter = next(found, None)
    if letter is None:
        raise NoDeadLetter(
            f'no such dead letter in topic "{topic}"', hint=f"See `duolog dlq show {topic}`."
        )
    if next(found, None) is not None:
        raise click.UsageError("Select one letter with --partition and --offset.")
    return letter


def _write_raw(letter: Letter, part: str) -> None:
    data = letter.record.key if part == "key" else letter.record.value
    out = sys.stdout.buffer
    out.write(bytes_for(data or b"", out))
    out.flush()


def _write(letters: Iterator[Letter], marks: Replayed, forms_of: FormsOf, form: str) -> None:
    shown = (
        letter_object(
            one,
            forms_of(text_record(one.record)),
            replayed=one.record.offset in marks.get(one.record.partition, _NONE),
        )
        for one in letters
    )
    if form == "jsonl":
        for one in shown:
            click.echo(output.json_line(one))
        return
    if form == "table":
        # Rows with cut texts, and whole ones only of the first two.
        first = list(islice(shown, 2))
        if not first:
            tell("no dead letters found")
        if len(first) == 1:
            click.echo(for_stream(page(first[0])), nl=False)
            return
        rows = [*map(table_row, first), *map(table_row, shown)]
        output.write_rows(rows, TABLE, form)
        return
    output.write_rows(list(shown), COLUMNS, form)
