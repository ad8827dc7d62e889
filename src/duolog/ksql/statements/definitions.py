"""Run CREATE STREAM and CREATE TABLE over a topic, CREATE TYPE, ALTER and DROP."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from sqlglot import exp

from duolog.ksql import settings
from duolog.ksql.catalog.catalog import Role, SourceInfo, SqlColumn, SqlFormat
from duolog.ksql.catalog.format_support import Part, ensure_key, ensure_value, wrapped
from duolog.ksql.catalog.formats import OF_A_REGISTRY, registry_missing
from duolog.ksql.catalog.hints import closest, named
from duolog.ksql.catalog.properties import Properties, ensure_timestamp_format, format_named
from duolog.ksql.catalog.schemas import LANGUAGES, TopicSchemas, with_added_columns, with_schemas
from duolog.ksql.catalog.source_topics import ensure_one_topic, topics_of
from duolog.ksql.compatibility.extensions import ensure_global_allowed, ensure_known_to_ksqldb
from duolog.ksql.errors import SqlError
from duolog.ksql.statements.state import Done, SessionState
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.amounts import ensure_fields
from duolog.ksql.syntax.formatting import quoted_name
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.script import text_of
from duolog.ksql.syntax.types import sql_name, type_from
from duolog.plan.types import BYTES, STRING, Array, Column, Struct

RESERVED_COLUMNS: Final = ("ROWTIME", "ROWPARTITION", "ROWOFFSET", "WINDOWSTART", "WINDOWEND")
"""Names of pseudo-columns, which columns cannot have."""
HEADERS_TYPE: Final = Array(Struct((Column("KEY", STRING), Column("VALUE", BYTES))))
_PARTS: Final[tuple[Part, ...]] = ("Key", "Value")
_Inferred = dict[Part, tuple[SqlFormat, tuple[SqlColumn, ...]]]
_ROLES: Final[Mapping[str, Role]] = {
    "KEY": "KEY",
    "PRIMARY KEY": "KEY",
    "VALUE": "VALUE",
    "HEADERS": "HEADERS",
    "HEADER": "HEADER",
}
"""Role of a column, by the words after its type."""


def declare(state: SessionState, node: nodes.CreateSource) -> Done:
    """Run CREATE STREAM or CREATE TABLE without a query.

    Raises:
        SqlError: name, columns and properties do not define a valid source.
    """
    name, kind = node.this.name, str(node.args["kind"])
    properties = Properties(node.args.get("properties"))
    ensure_timestamp_format(properties, state.settings)
    ensure_known_to_ksqldb(properties, state.settings)
    ensure_global_allowed(node, state.settings, text_of(node))
    if kind == "STREAM" and "TTL" in properties:
        raise SqlError("TTL is only allowed for tables.")
    elements = node.args.get("elements") or []
    if existing := existing_result(state, node):
        return existing
    _ensure_no_schema_ids(properties, elements)
    columns = tuple(_column(state, kind, element) for element in elements)
    inferred = _inferred(state, node, properties, {column.role for column in columns})
    listed: tuple[Part, ...] = tuple(part for part in _PARTS if part not in inferred)
    keys, values = (inferred[part][1] if part in inferred else () for part in _PARTS)
    columns = (*keys, *columns, *values)
    _ensure_columns(kind, columns)
    source = _source(state, node, properties, columns)
    if source.window is not None and not source.key:
        raise SqlError("Windowed sources require a key column.")
    if source.is_global and (source.window or source.headers or source.ttl_ms):
        raise SqlError(f"Global table {name} cannot have a windowed key, headers or a TTL.")
    ensure_key(source.key_format, source.key)
    ensure_value(source.value_format, source.value)
    ensure_registry(state, source.key_format, source.value_format)
    if not source.columns:
        raise SqlError("The statement does not define any columns.")
    source = with_schemas(_of_schemas(source, inferred), state.settings, declared=listed)
    if name in state.catalog.sources:
        # Imported here because few statements need it.
        from duolog.ksql.statements.upgrades import ensure_upgradable  # noqa: PLC0415

        ensure_upgradable(state.catalog.sources[name], source)
    state.catalog.sources[name] = source
    if source.read_only and source.is_table:
        # ksqlDB runs a query CST_… for such a table, which uses up an id. Duolog reads the topic
        # instead.
        state.next_id(f"CST_{name}")
    if (partitions := properties.number("PARTITIONS")) is not None and not source.is_pattern:
        for topic in source.topics:
            state.catalog.partitions.setdefault(topic, partitions)
    return Done(node, message=f"{kind.capitalize()} {name} created")


def _inferred(
    state: SessionState,
    node: nodes.CreateSource,
    properties: Properties,
    declared: Collection[Role],
) -> _Inferred:
    """Return formats and columns by the schemas of the topic, for parts without columns."""
    found: _Inferred = {}
    for part in _PARTS:
        if part.upper() in declared:
            continue
        of = properties.format(part.upper()) or _default_format(state, properties, part)
        if of is None:
            continue
        ensure_registry(state, of)
        if of.name in LANGUAGES:
            of = replace(of, wrap=properties.wrap() if part == "Value" else None)
            topic = topics_of(properties, node, state.settings).names[0]
            found[part] = TopicSchemas(state.settings, of).inferred(part, of, topic)
            _ensure_free(part, topic, found[part][1])
    return found


def _ensure_free(part: Part, topic: str, columns: Sequence[SqlColumn]) -> None:
    """Refuse inferred columns with names that every stream has, as if they were declared."""
    for column in columns:
        if column.name in RESERVED_COLUMNS:
            raise SqlError(
                f"'{column.name}' is a reserved column name. You cannot use it as a name for a "
                "column.",
                detail=f"The {part.lower()} schema of topic {topic} has a field of this name.",
                hint="Declare the columns that you need.",
            )


def _default_format(state: SessionState, properties: Properties, part: Part) -> SqlFormat | None:
    name = state.settings[settings.KEY_FORMAT if part == "Key" else settings.VALUE_FORMAT]
    return None if name is None else properties.with_options(part.upper(), format_named(name))


def _of_schemas(source: SourceInfo, inferred: _Inferred) -> SourceInfo:
    """Return a source whose rows are written with the schemas that its columns come from."""
    key, value = (inferred[part][0].registered if part in inferred else None for part in _PARTS)
    wrap = source.value_format.wrap
    if "Value" in inferred and inferred["Value"][0].wrap is not None:
        wrap = inferred["Value"][0].wrap
    return replace(
        source,
        key_format=replace(source.key_format, registered=key),
        value_format=replace(source.value_format, registered=value, wrap=wrap),
    )


def existing_result(state: SessionState, node: nodes.CreateSource) -> Done | None:
    """Return the result of a CREATE IF NOT EXISTS whose name is in use, or None to continue.

    Raises:
        SqlError: the name is in use, and neither IF NOT EXISTS nor OR REPLACE applies.
    """
    name, kind = node.this.name, str(node.args["kind"]).lower()
    there = state.catalog.sources.get(name)
    begins = f"Cannot add {kind} '{name}': "
    if node.args.get("replace") and (node.args.get("read_only") or (there and there.read_only)):
        raise SqlError(f"{begins}CREATE OR REPLACE is not supported on source {kind}s.")
    if there is None:
        return None
    taken = f"A {there.kind.lower()} with the same name already exists"
    if node.args.get("exists"):
        return Done(node, message=f"Cannot add {kind} `{name}`: {taken}.")
    if not node.args.get("replace") or there.kind.lower() != kind:
        other = "write CREATE OR REPLACE" if there.kind.lower() == kind else "choose another name"
        raise SqlError(
            f"{begins}{taken}",
            at=place_of(node.this),
            hint=f"Run DROP {there.kind} {quoted_name(name)}; first, or {other}.",
        )
    return None


def ensure_registry(state: SessionState, *formats: SqlFormat) -> None:
    """Refuse formats that need a schema registry, unless one is configured."""
    for of in formats:
        if of.name in OF_A_REGISTRY and state.settings[settings.REGISTRY] is None:
            raise registry_missing(of)


def create_type(state: SessionState, node: nodes.CreateType) -> Done:
    name = node.this.name
    if name in state.catalog.types:
        if node.args.get("exists"):
            return Done(
                node, message=f"{name} is already registered with type {_type(state, name)}"
            )
        raise SqlError(
            f"Cannot register custom type '{name}' since it is already registered with type: "
            f"{_type(state, name)}",
            at=place_of(node.this),
        )
    found = type_from(node.args["kind"], state.catalog.types)
    ensure_fields(f"Type '{name}'", [found])
    state.catalog.types[name] = found
    return Done(
        node, message=f"Registered custom type with name '{name}' and SQL type {sql_name(found)}"
    )


def drop_type(state: SessionState, node: nodes.DropType) -> Done:
    name = node.this.name
    if name in state.catalog.types:
        del state.catalog.types[name]
        return Done(node, message=f"Type '{name}' dropped")
    if node.args.get("exists"):
        return Done(node, message=f"Type '{name}' does not exist")
    raise SqlError(f"Type {name} does not exist.", at=place_of(node.this))


def drop(state: SessionState, node: nodes.DropSource) -> Done:
    """Run DROP STREAM or DROP TABLE; the query of its CREATE … AS SELECT ends with it.

    Raises:
        SqlError: there is no such source, or queries read or write it.
    """
    name, kind = node.this.name, str(node.args["kind"])
    source = state.catalog.sources.get(name)
    if source is None:
        if node.args.get("exists"):
            return Done(node, message=f"{kind.capitalize()} {name} does not exist.")
        raise _not_dropped(state, node)
    if source.kind != kind:
        raise SqlError(
            f"Incompatible data source type is {source.kind}, but statement was DROP {kind}"
        )
    if node.args.get("delete_topic") and source.read_only:
        raise SqlError(f"Cannot delete topic for read-only source: {name}")
    if node.args.get("delete_topic"):
        ensure_one_topic(source, "delete the topic of", node.this)
    own = {query.id for query in state.writers(name) if query.id == source.query}
    readers = sorted(query.id for query in state.readers(name))
    writers = sorted(query.id for query in state.writers(name) if query.id not in own)
    if readers or writers:
        raise SqlError(
            f"Cannot drop {name}.\n"
            f"The following queries read from this source: [{', '.join(readers)}].\n"
            f"The following queries write into this source: [{', '.join(writers)}].\n"
            f"You need to terminate them before dropping {name}."
        )
    for ended in own:
        del state.queries[ended]
    del state.catalog.sources[name]
    return Done(
        node,
        message=f"Source `{name}` (topic: {source.topic_names}) was dropped.",
        ended=tuple(own),
    )


def _not_dropped(state: SessionState, node: nodes.DropSource) -> SqlError:
    """Return the error of a DROP of an unknown source."""
    name, kind = node.this.name, str(node.args["kind"])
    case = closest(name, state.catalog.sources)
    of_kind = [one.name for one in state.catalog.sources.values() if one.kind == kind]
    near = get_close_matches(name, of_kind, n=1, cutoff=0.7)
    lists = f"Run SHOW {kind}S; to list them, or use DROP {kind} IF EXISTS."
    hint = f"Did you mean {near[0]}?" if near else lists
    return SqlError(
        f"Source {name} does not exist.{case}", at=place_of(node.this), hint="" if case else hint
    )


def alter(state: SessionState, node: nodes.AlterSource) -> Done:
    """Run ALTER … ADD COLUMN: columns are appended.

    Raises:
        SqlError: the source cannot be altered, or already has such a column.
    """
    name, kind = node.this.name, str(node.args["kind"])
    source = named(state.catalog.sources, node.this, "Source {} does not exist.")
    if source.kind != kind:
        raise SqlError(
            f"Incompatible data source type is {source.kind}, but statement was ALTER {kind}"
        )
    if source.read_only:
        raise SqlError(
            f"Cannot alter {kind.lower()} '{name}': ALTER operations are not supported on source "
            f"{kind.lower()}s."
        )
    if source.query:
        raise SqlError("ALTER command is not supported for CREATE ... AS statements.")
    added = tuple(_column(state, kind, element) for element in node.expressions)
    for column in added:
        if column.name in {one.name for one in source.columns}:
            raise SqlError(
                f"Cannot add column `{column.name}` to schema. A column with the same "
                "name already exists."
            )
    columns = source.columns + added
    _ensure_columns(kind, columns)
    ensure_value(source.value_format, [one for one in columns if one.role == "VALUE"])
    altered = with_added_columns(source, added, state.settings)
    state.catalog.sources[name] = altered
    return Done(node, message=f"{kind.capitalize()} {name} altered successfully")


def _type(state: SessionState, name: str) -> str:
    return sql_name(state.catalog.types[name])


def _source(
    state: SessionState,
    node: nodes.CreateSource,
    properties: Properties,
    columns: tuple[SqlColumn, ...],
) -> SourceInfo:
    name = node.this.name
    if properties.topic() is None and state.settings.strict:
        raise SqlError('Missing required property "KAFKA_TOPIC" which has no default value.')
    keyed = any(column.role == "KEY" for column in columns)
    key = properties.format("KEY")
    if key is None:
        default = format_named(state.settings[settings.KEY_FORMAT] or "KAFKA")
        key = properties.with_options("KEY", default if keyed else SqlFormat("NONE"))
    value = properties.format("VALUE") or _default_value_format(state, properties)
    values = [column for column in columns if column.role == "VALUE"]
    value = wrapped(
        value, values, wrap=properties.wrap(), default=state.settings.truth(settings.WRAP)
    )
    topics = topics_of(properties, node, state.settings)
    return SourceInfo(
        name,
        node.args["kind"],
        columns,
        topics.names[0],
        key,
        value,
        properties.window(),
        properties.timestamp({column.name: column.type for column in columns}),
        bool(node.args.get("read_only")),
        statement=text_of(node),
        ttl_ms=properties.ttl_ms(),
        more_topics=topics.names[1:],
        is_pattern=topics.is_pattern,
        is_global=node.args.get("everywhere") is not None,
    )


def _default_value_format(state: SessionState, properties: Properties) -> SqlFormat:
    default = state.settings[settings.VALUE_FORMAT]
    if default is None:
        raise SqlError(
            "Statement is missing the 'VALUE_FORMAT' property from the WITH clause. Either "
            f"provide one or set a default via the '{settings.VALUE_FORMAT}' config."
        )
    return properties.with_options("VALUE", format_named(default))


def _column(state: SessionState, kind: str, node: nodes.Element) -> SqlColumn:
    """Return the column of an element.

    Raises:
        SqlError: name, type or role is not allowed.
    """
    name, role = node.this.name, node.args.get("role") or "VALUE"
    of = type_from(node.args["kind"], state.catalog.types)
    if name in RESERVED_COLUMNS:
        raise SqlError(
            f"{_line(node)}'{name}' is a reserved column name. You cannot use it as a "
            "name for a column.",
            at=place_of(node),
        )
    wanted = "PRIMARY KEY" if kind == "TABLE" else "KEY"
    if role.endswith("KEY") and role != wanted:
        raise SqlError(
            f"{_line(node)}Column `{name}` is a '{role}' column: please use '{wanted}' for "
            f"{kind.lower()}s.\n"
            "Tables have PRIMARY KEYs, which are unique and NON NULL.\n"
            "Streams have KEYs, which have no uniqueness or NON NULL constraints.",
            at=place_of(node),
        )
    if role == "HEADERS" and of != HEADERS_TYPE:
        raise SqlError(
            f"Invalid type for HEADERS column: expected {sql_name(HEADERS_TYPE)}, got "
            f"{sql_name(of)}",
            at=place_of(node),
        )
    header = node.args["header"].name if role == "HEADER" else ""
    if role == "HEADER" and of != BYTES:
        raise SqlError(
            f"Invalid type for HEADER('{header}') column: expected BYTES, got {sql_name(of)}",
            at=place_of(node),
        )
    return SqlColumn(name, of, _ROLES[role], header)


def _ensure_columns(kind: str, columns: Sequence[SqlColumn]) -> None:
    """Refuse duplicate columns, headers that are declared twice, and tables without a key.

    Nested types are limited in size.
    """
    ensure_fields("The schema", (column.type for column in columns))
    twice = [
        name for name, count in Counter(column.name for column in columns).items() if count > 1
    ]
    if twice:
        raise SqlError(f"Duplicate column names: {', '.join(f'`{name}`' for name in twice)}")
    read = Counter(
        (column.role, column.header) for column in columns if column.role.startswith("HEADER")
    )
    for (role, header), count in read.items():
        if count > 1:
            header_text = f"HEADER('{header}')" if role == "HEADER" else "HEADERS"
            raise SqlError(f"Schema already contains a {header_text} column.")
    if kind == "TABLE" and not any(column.role == "KEY" for column in columns):
        raise SqlError("Tables require a PRIMARY KEY. Please define the PRIMARY KEY.")


def _ensure_no_schema_ids(properties: Properties, elements: Sequence[exp.Expression]) -> None:
    """Refuse columns together with the id of a schema that defines them."""
    roles = {str(one.args.get("role") or "VALUE").split()[-1] for one in elements}
    for part in ("KEY", "VALUE"):
        if f"{part}_SCHEMA_ID" in properties and part in roles:
            raise SqlError(
                f"Table elements and {part}_SCHEMA_ID cannot both exist for create statement."
            )


def _line(node: exp.Expression) -> str:
    at = place_of(node)
    return f"Line: {at.line}, Col: {at.column}: " if at else ""
