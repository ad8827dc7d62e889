"""Derive the encoding of a topic's keys and values from a topology (`--like`)."""

from pathlib import Path

from duolog.cli.applications.topology_file import load_topology
from duolog.cli.kafka.topics import like
from duolog.cli.records.field_forms import PLAIN, FieldForm, Forms, WindowForm, form_of_columns
from duolog.core.errors import StatementError
from duolog.core.types import Column
from duolog.plan.formats import Format
from duolog.plan.nodes.topics import Sink, Source


def forms_like(path: Path, topic: str) -> Forms:
    """Return the forms with which the topology in a file reads or writes `topic`.

    Raises:
        StatementError: the file has no topology, or its topology does not use the topic.
    """
    plan = load_topology(path).build()
    sources = [node for node in plan.nodes if isinstance(node, Source)]
    for sink in plan.sinks:
        if topic in sink.topics:
            return _forms(sink)
    for source in sources:
        if source.reads_topic(topic):
            return _forms(source)
    known = {name for sink in plan.sinks for name in sink.topics} | {
        source.topic for source in sources
    }
    raise StatementError(
        f'the topology in "{path}" neither reads nor writes topic "{topic}"',
        detail=f"Its topics: {', '.join(sorted(known))}.",
        hint=like(topic, known).strip(),
    )


def _forms(node: Source | Sink) -> Forms:
    schema = node.schema
    key = _form(node.key_format, schema.inner_key)
    if schema.window is not None:
        key = WindowForm(key, schema.window.size_ms)
    return Forms(key, _form(node.value_format, schema.value))


def _form(of: Format, columns: tuple[Column, ...]) -> FieldForm:
    return form_of_columns(columns) if of.name == "KAFKA" else PLAIN
