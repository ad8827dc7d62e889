"""`duolog dlq replay`: write dead letters to their source topics, each once."""

import getpass
from dataclasses import replace
from typing import Final

import click

from duolog.cli.commands.dlq_show import only_one, readable_forms
from duolog.cli.dead_letters.correcting import Given, correction_options
from duolog.cli.dead_letters.selecting import selection_options, tell
from duolog.cli.dead_letters.showing import one_line, text_record
from duolog.cli.dead_letters.writing import writing_forms
from duolog.cli.errors import CorrectionsFailed
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.name_completion import complete_topics, reject_topic_option
from duolog.cli.kafka.topics import confirm
from duolog.cli.records.field_forms import PLAIN
from duolog.cli.records.field_text import as_json
from duolog.cli.records.form_options import FormOptions, form_options
from duolog.cli.records.text_record import read_record_object, record_object
from duolog.cli.registry.options import RegistryAddress, found_registry, maybe_registry_options
from duolog.cli.signals import end_by_event
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.cli.text.json_text import dumped
from duolog.core.counts import counted
from duolog.runtime.dead_letters.corrections import Correction, Fixed
from duolog.runtime.dead_letters.reading import Records
from duolog.runtime.dead_letters.replay import LetterTopic, Replay
from duolog.runtime.dead_letters.replaying import BY_KEY, KEEP, Outcome, Target, Written
from duolog.runtime.dead_letters.selection import Selection

COLUMNS: Final = (
    Column("topic", "string", "topic that letters are written to; null for those that are kept"),
    Column("partition", "int | null", "its partition; null if the key chooses it"),
    Column("letters", "bigint", "number of letters"),
    Column("kept", "string", "why letters are not written; empty for others"),
)
_SHOWN: Final = 5
_CUT: Final = 60
_EDITED: Final = ("key", "value", "headers")


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@reject_topic_option
@selection_options
@click.option("-n", "--max", "limit", type=click.IntRange(min=1), help="At most N letters.")
@click.option("--to", "to_topic", metavar="TOPIC", default="", help="Default: the source topic.")
@click.option(
    "--to-partition",
    default=KEEP,
    show_default=True,
    metavar="keep|key|N",
    help="Partition: that of the source unless the key is corrected, chosen by the key, or a "
    "number.",
)
@correction_options
@click.option("--edit", is_flag=True, help="Edit key, value and headers of one letter as JSON.")
@click.option("--again", is_flag=True, help="Include letters that were replayed before.")
@click.option("--rate", type=click.FloatRange(min=0.01), help="At most N letters in a second.")
@click.option("--dry-run", is_flag=True, help="Show what would be written; write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@form_options(schema=True)
@output.output_option
@maybe_registry_options
@cluster_options
def replay(
    *,
    topic: str,
    wanted: Selection,
    limit: int | None,
    to_topic: str,
    to_partition: str,
    given: Given,
    edit: bool,
    again: bool,
    rate: float | None,
    dry_run: bool,
    yes: bool,
    options: FormOptions,
    form: str,
    cluster: Cluster,
    registry: RegistryAddress,
) -> None:
    """Write dead letters to their source topics, without the headers about the error.

    Each letter is replayed once: letters and the marks of their replay are written in one
    transaction. A command that was killed continues when you run it again. Headers
    __duolog.replay.* of the written records name the letter.

    \b
    Examples:
      duolog dlq replay wrong-orders --dry-run
      duolog dlq replay wrong-orders --reason Serialization --rate 100 --yes
      duolog dlq replay wrong-orders -p 0 --offset 17 --edit
      duolog dlq replay wrong-orders --offset 17 --set-value-json '{"n": 1}' --value-format avro
      duolog dlq replay wrong-orders --set-value-sql "REPLACE(VALUE, 'EUR ', '')"
      duolog dlq replay wrong-orders --function repair.py:order --to orders-repaired
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    target = Target(to_topic, _read_partition(to_partition))
    known = found_registry(registry, cluster.bootstrap_servers)
    with Records(cluster.brokers) as records:
        forms = writing_forms(
            *(topic, options, given, known),
            lambda: Replay(records, topic, wanted, target, again=again, limit=limit).check(),
        )
        found: Correction | None = None
        if edit:
            # A letter that would not be written is not worth an edit.
            once = wanted if again else replace(wanted, replayed=False)
            found, wanted = edited(LetterTopic(records, topic), once, options, given)
        with given.correction(forms) as correction:
            made = Replay(
                *(records, topic, wanted, target, found or correction),
                again=again,
                limit=limit,
                by=_user(),
            )
            samples = _Samples()
            if dry_run or not yes:
                outcome = made.preview(samples.add)
                samples.write()
            if not dry_run:
                if not yes and outcome.total:
                    confirm(f"Replay {counted(outcome.total, 'letter')}?")
                with end_by_event() as stopping:
                    outcome = made.run(rate or 0, stopping.wait)
    output.write_rows(_rows(outcome), COLUMNS, form)
    _report(outcome, dry_run=dry_run)
    return None


def _read_partition(text: str) -> str:
    if text in (KEEP, BY_KEY) or (text.isascii() and text.isdecimal()):
        return text
    raise click.BadParameter(f'--to-partition "{text}" is not keep, key or a number')


def edited(
    letters: LetterTopic, wanted: Selection, options: FormOptions, given: Given
) -> tuple[Correction, Selection]:
    """Let the user edit the selected letter; return its new content, and the selection of it.

    The selection has no letters that are written to the topic meanwhile.

    Raises:
        click.UsageError: several letters are selected, or other corrections are given.
        SerdeError: the text is not a record.
    """
    if any(value is not None for value in given):
        raise click.UsageError("Use either --edit or the other corrections.")
    found = letters.letters(letters.ranges(wanted), wanted, letters.marks())
    letter = only_one(found, letters.name)
    forms = readable_forms(letters.name, options, None)(text_record(letter.record))
    shown = record_object(text_record(letter.record._replace(headers=letter.own)), forms)
    # Digits, names and order of JSON values stay as they are.
    lines = ",\n".join(f'  "{name}": {dumped(shown[name])}' for name in _EDITED)
    text = click.edit(f"{{\n{lines}\n}}\n", extension=".json")
    if text is None:
        click.echo("nothing was changed", err=True)
        raise click.exceptions.Exit(1)
    new = read_record_object(text, forms)
    at = letter.record
    only = replace(wanted, partitions=frozenset({at.partition}), first=at.offset, last=at.offset)
    return Fixed(new.key, new.value, tuple(new.headers)), only


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # The user of a container may have no name.
        return ""


class _Samples:
    """The first letters of a preview, as lines."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, one: Written) -> None:
        if len(self._lines) >= _SHOWN:
            return
        record = one.letter.record
        value = one_line(as_json_text(one.what.value), _CUT)
        before = one_line(as_json_text(record.value), _CUT)
        where = one.topic if one.partition < 0 else f"{one.topic}:{one.partition}"
        change = value if value == before else f"{before} -> {value}"
        self._lines.append(f"{record.partition}:{record.offset} to {where}: {change}")

    def write(self) -> None:
        for line in self._lines:
            tell(line)


def as_json_text(data: bytes | None) -> object:
    """Return bytes as text, or base64 if they are not text."""
    return as_json(PLAIN, data)


def _rows(outcome: Outcome) -> list[dict[str, object]]:
    written: list[dict[str, object]] = [
        {
            "topic": topic,
            "partition": None if number < 0 else number,
            "letters": letters,
            "kept": "",
        }
        for (topic, number), letters in sorted(outcome.written.items())
    ]
    kept: list[dict[str, object]] = [
        {"topic": None, "partition": None, "letters": letters, "kept": why}
        for why, letters in outcome.kept.most_common()
    ]
    return [*written, *kept]


def _report(outcome: Outcome, *, dry_run: bool) -> None:
    """Write a summary.

    Raises:
        CorrectionsFailed: the correction of a letter failed.
    """
    verb = "would replay" if dry_run else "replayed"
    corrected = f", {outcome.corrected} corrected" if outcome.corrected else ""
    told = f" (replay {outcome.replay_id})" if outcome.replay_id and outcome.total else ""
    tell(f"{verb} {counted(outcome.total, 'letter')}{corrected}{told}")
    if outcome.stopped:
        tell("stopped; run the command again to replay the rest")
    if outcome.failed:
        raise CorrectionsFailed(
            f"the correction of {counted(outcome.failed, 'letter')} failed",
            detail="These letters were left in the topic.",
        )
