"""Run ASSERT TOPIC and ASSERT SCHEMA, and the ASSERT STREAM and ASSERT TABLE of test files."""

from collections.abc import Callable, Mapping, Sequence

from duolog.core.errors import RegistryError
from duolog.ksql import settings
from duolog.ksql.catalog.hints import named
from duolog.ksql.catalog.properties import Properties
from duolog.ksql.errors import SqlError
from duolog.ksql.statements.state import Done, SessionState
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name, type_from
from duolog.schemas.source import UnknownSchemaError, source_at


def assert_topic(state: SessionState, node: nodes.AssertTopic) -> Done:
    """Run ASSERT TOPIC against the topics in the catalog.

    Raises:
        SqlError: the assertion is false.
    """
    name, absent = node.this.name, bool(node.args.get("absent"))
    partitions = state.catalog.partitions
    sources = [one for one in state.catalog.sources.values() if not one.is_pattern]
    known = {topic for source in sources for topic in source.topics} | set(partitions)
    if absent:
        if name in known:
            raise SqlError(f"Topic {name} exists.")
        return Done(node, message=f"Topic {name} does not exist.")
    if name not in known:
        raise SqlError(f"Topic {name} does not exist.")
    _ensure(node, "PARTITIONS", lambda: partitions.get(name))
    return Done(node, message=f"Topic {name} exists.")


def ensure_replicas(
    node: nodes.AssertTopic, replicas: Callable[[], Mapping[str, Sequence[int]]]
) -> None:
    """Ensure that a topic has the replicas that ASSERT TOPIC asks for; the catalog has none.

    Args:
        node: an assertion that holds otherwise.
        replicas: returns the number of replicas of each partition, by topic.

    Raises:
        SqlError: it does not.
    """
    if not node.args.get("absent"):
        _ensure(node, "REPLICAS", lambda: min(replicas().get(node.this.name, ()), default=0))


def _ensure(node: nodes.AssertTopic, config: str, found: Callable[[], int | None]) -> None:
    wanted = Properties(node.args.get("properties"), ("PARTITIONS", "REPLICAS")).number(config)
    if wanted is not None and (there := found()) != wanted:
        raise SqlError(
            f"Mismatched configuration for topic {node.this.name}: For config {config.lower()}, "
            f"expected {wanted} got {there}"
        )


def assert_schema(state: SessionState, node: nodes.AssertSchema) -> Done:
    """Run ASSERT SCHEMA or ASSERT NOT EXISTS SCHEMA.

    Raises:
        SqlError: the assertion does not hold, or there is no schema registry to ask.
    """
    subject, number = node.args.get("subject"), node.args.get("id")
    if subject is None and number is None:
        raise SqlError("ASSERT SCHEMA statements must include a subject name or an id")
    if state.settings[settings.REGISTRY] is None:
        raise SqlError(
            "KSQL is not configured to use a schema registry. To assert schemas, please set "
            "ksql.schema.registry.url"
        )
    described = " ".join(
        part
        for part in (
            f"subject name {subject.name}" if subject else "",
            f"id {number.name}" if number else "",
        )
        if part
    )
    found = _schema_exists(
        state.settings[settings.REGISTRY] or "",
        subject.name if subject else None,
        int(number.name) if number else None,
    )
    message = f"Schema with {described} {'exists' if found else 'does not exist'}."
    if found == bool(node.args.get("absent")):
        raise SqlError(message)
    return Done(node, message=message)


def _schema_exists(address: str, subject: str | None, schema_id: int | None) -> bool:
    """Return whether a subject has a schema, an id has one, or the id's one is the subject's."""
    try:
        source = source_at(address)
        if schema_id is None:
            return source.latest(subject or "") is not None
        text = source.text_of(schema_id)
        return subject is None or source.id_of(subject, text) == schema_id
    except UnknownSchemaError:
        return False
    except RegistryError as error:
        raise SqlError(
            f"Failed to check schema existence: {error.message}",
            detail=error.detail,
            hint=error.hint,
        ) from error


def assert_source(state: SessionState, node: nodes.AssertSource) -> Done:
    """Check that a stream or table has the columns and properties that a test file asserts.

    Raises:
        SqlError: they differ.
    """
    kind = str(node.args["kind"])
    source = named(state.catalog.sources, node.this, "Source {} does not exist.")
    if source.kind != kind:
        raise SqlError(
            f"Expected type does not match actual for source {source.name}. Expected: {kind}, "
            f"Actual: {source.kind}"
        )
    if (elements := node.args.get("elements")) is not None:
        wanted = [
            f"`{one.this.name}` {sql_name(type_from(one.args['kind'], state.catalog.types))}"
            + (" KEY" if str(one.args.get("role") or "").endswith("KEY") else "")
            for one in elements
        ]
        found = [str(column) for column in source.columns]
        if sorted(wanted) != sorted(found):
            raise SqlError(
                f"Expected schema does not match actual for source {source.name}. "
                f"Expected: {', '.join(wanted)}, Actual: {', '.join(found)}",
                at=place_of(node.this),
            )
    properties = Properties(node.args.get("properties"))
    given = (
        ("kafka topic", properties.topic(), source.topic_names),
        ("key format", properties.format("KEY"), source.key_format),
        ("value format", properties.format("VALUE"), source.value_format),
        ("window", properties.window(), source.window),
    )
    for what, expected, actual in given:
        if expected is not None and expected != actual:
            raise SqlError(
                f"Expected {what} does not match actual for source {source.name}. "
                f"Expected: {_shown(expected)}, Actual: {_shown(actual)}"
            )
    return Done(node)


def _shown(value: object) -> object:
    return getattr(value, "name", None) or getattr(value, "kind", None) or value
