"""The schemas of a topology's topics in a registry: checked before a start, registered by it.

    a topic that is read      its latest schema must be readable with the schema of the class; a
                              topic without schemas gets that of the class
    a topic that is written   the schema of the class, or of the columns, is registered

The subject of a topic's keys is `<topic>-key`, that of its values `<topic>-value`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from duolog.core.errors import ConfigError, RegistryError
from duolog.plan.formats import LANGUAGES, REGISTRY, SCHEMA, SCHEMA_ID, Format
from duolog.plan.nodes import Node, Plan, Sink, Source
from duolog.plan.nodes.copies import copied
from duolog.plan.types import Column
from duolog.runtime.schema_registries import registry_at
from duolog.schemas.columns import text_of
from duolog.schemas.languages import parse
from duolog.schemas.registry_users import keep_users
from duolog.schemas.schema import Schema
from duolog.schemas.source import SchemaSource, SchemaText

_PARTS: Final[tuple[Literal["key", "value"], ...]] = ("key", "value")


class TopicSchema(NamedTuple):
    """The schema of a topic's keys or values, as a node reads or writes it.

    Attributes:
        schema: the schema; None for a source that does not declare one.
    """

    subject: str
    schema: SchemaText | None
    is_written: bool


def ensure_accepted(plan: Plan, address: str) -> None:
    """Check the schemas of a plan against a registry; change nothing.

    Raises:
        ConfigError: the plan needs a registry, and there is no address.
        RegistryError: a schema is not compatible, or the registry does not answer.
    """
    found = list(_schemas(plan))
    if not found:
        return
    source = _registry(address, found[0].subject)
    for one in found:
        _ensure_accepted(one, source)


def registered(plan: Plan, address: str) -> tuple[Plan, Mapping[Node, Node]]:
    """Register the schemas of a plan, and return the plan that knows them.

    Returns:
        The plan, and its nodes by those of the given plan. A plan that needs no registry, or knows
        its schemas already, is returned as it is.

    Raises:
        ConfigError, RegistryError: as `ensure_accepted`.
    """
    found = list(_schemas(plan))
    if not found:
        return plan, {}
    source = _registry(address, found[0].subject)
    shown = keep_users(address)  # plans must not contain passwords
    # Everything is checked before the first schema is registered.
    for one in found:
        _ensure_accepted(one, source)

    def change(node: Node, values: dict[str, Any]) -> None:
        if isinstance(node, Source | Sink):
            for part in _PARTS:
                name = f"{part}_format"
                values[name] = _bound(node, part, values[name], source, shown)

    return copied(plan, change)


def _schemas(plan: Plan) -> Iterator[TopicSchema]:
    for node in plan.nodes:
        if isinstance(node, Source | Sink):
            for part in _PARTS:
                yield from _of_node(node, part, _format(node, part))


def _of_node(
    node: Source | Sink, part: Literal["key", "value"], form: Format
) -> Iterator[TopicSchema]:
    if form.name not in LANGUAGES or form.option(REGISTRY) is not None:
        return
    written = isinstance(node, Sink)
    schema = _declared(form)
    if schema is None and written:
        columns = node.schema.inner_key if part == "key" else node.schema.value
        schema = _of_columns(form, columns, bare=part == "key" and len(columns) == 1)
    topics = node.topics if isinstance(node, Sink) else (node.topic,)
    for topic in topics:
        yield TopicSchema(f"{topic}-{part}", schema, written)


def _format(node: Source | Sink, part: Literal["key", "value"]) -> Format:
    return node.key_format if part == "key" else node.value_format


def _declared(form: Format) -> SchemaText | None:
    text = form.option(SCHEMA)
    return None if text is None else SchemaText(LANGUAGES[form.name], text)


def _of_columns(form: Format, columns: tuple[Column, ...], *, bare: bool) -> SchemaText:
    return text_of(LANGUAGES[form.name], columns, name=None, bare=bare)


def _registry(address: str, subject: str) -> SchemaSource:
    if not address:
        raise ConfigError(
            f'the schema of "{subject}" needs a schema registry',
            name="schema.registry.url",
            hint='Set its address: settings={"schema.registry.url": "http://127.0.0.1:8081"}.',
        )
    return registry_at(keep_users(address))


def _ensure_accepted(one: TopicSchema, source: SchemaSource) -> None:
    if one.schema is None:
        return
    latest = source.latest(one.subject)
    if latest is None:
        return
    if one.is_written:
        reasons = source.check(one.subject, one.schema)
    elif latest.schema.language != one.schema.language:
        reasons = (f"its schema is in {latest.schema.language.value}",)
    else:
        reader = parse(one.schema.language, one.schema.text, {})
        reasons = _unreadable(reader, source.by_id(latest.schema_id))
    if reasons:
        what = "the schema to write" if one.is_written else "the class to read"
        raise RegistryError(
            f'{what} is incompatible with subject "{one.subject}"',
            detail="; ".join(reasons),
            hint="Change the class so that it fits the versions of the subject: add fields with "
            "defaults, and keep the types of the others.",
        )


def _unreadable(reader: Schema, writer: Schema) -> tuple[str, ...]:
    found = reader.incompatibilities(writer)
    return tuple(one.message(reader.language, reader="new", writer="old") for one in found)


def _bound(
    node: Source | Sink,
    part: Literal["key", "value"],
    form: Format,
    source: SchemaSource,
    address: str,
) -> Format:
    """Return a format with the registry, and with the schema to write with if it is registered."""
    of_node = list(_of_node(node, part, form))
    if not of_node:
        return form
    options = dict(form.options) | {REGISTRY: address}
    options.pop(SCHEMA, None)
    for one in of_node:
        if one.schema is None:
            continue
        if one.is_written or source.latest(one.subject) is None:
            schema_id: int | None = source.register(one.subject, one.schema)
        else:
            schema_id = source.id_of(one.subject, one.schema)
        # A source does not write, but a test that writes to its topic does.
        if schema_id is not None:
            options |= {SCHEMA: one.schema.text, SCHEMA_ID: str(schema_id)}
    return Format(form.name, tuple(sorted(options.items())))
