"""AVRO, JSON_SR, PROTOBUF and PROTOBUF_NOSR as Spark SQL; the kernel codes them.

Options go to the kernel as a JSON object. The kernel asks the registry for the schemas of ids that
it meets; its address has no user. A record that cannot be read fails with the kernel's own message,
so there is no condition for it.
"""

import json
from collections.abc import Sequence
from typing import Final, Literal

from duolog.core.types import TIME, Array, Column, Map, Struct, Type, render_columns
from duolog.engine.lowering.formats.decoded import Decoded, Part
from duolog.engine.lowering.spark_sql.sql import quoted, spark_type, text
from duolog.plan.formats import BARE, NULLABLE, OF_SCHEMAS, REGISTRY, SCHEMA, SINGLE, Format
from duolog.serde.wire_format import KEY_HEADER, VALUE_HEADER

_TIME: Final = "SMALLINT"
"""The kernel's name for TIME, which is an INT in rows; no column is a SMALLINT."""
_HEADERS: Final[dict[Part, str]] = {"key": KEY_HEADER, "value": VALUE_HEADER}
"""Headers with the id or the GUID of a schema; the kernel reads it before the payload."""
_MAPS: Final = "maps"
_DESCRIPTOR: Final = "descriptor"
_PROBLEM: Final = "problem"


def decode(of: Format, columns: tuple[Column, ...], part: Part, source: str, first: int) -> Decoded:
    """Return how to convert the bytes `source` to `columns`; the parsed row is p{first}."""
    if not columns:
        return Decoded([], is_null=f"{source} IS NULL")
    if _has_frame(of):
        header = f"duolog_header(headers, '{_HEADERS[part]}')"
        source = f"coalesce(concat({header}, {source}), {source})"
    row = f"p{first}"
    given = _options(of, columns, part, writes=False)
    # As the condition of other formats; `ProcessingLog` takes the part from it.
    given[_PROBLEM] = f"its {part} is not {of.name} of ({render_columns(columns)})"
    options = _literal(given)
    read = f"duolog_{of.name.lower()}_read({source}, {_schema(columns)}, {options})"
    return Decoded(
        [f"{row}.{quoted(column.name)}" for column in columns],
        is_null=f"{row} IS NULL",
        parsed=[read],
    )


def encode(of: Format, columns: tuple[Column, ...], names: Sequence[str], part: Part) -> str:
    """Return the expression of the bytes of `columns`, which are in the row under `names`."""
    row = f"struct({', '.join(names)})"
    options = _literal(_options(of, columns, part, writes=True))
    return f"duolog_{of.name.lower()}_write({row}, {_schema(columns)}, {options})"


def inherited_frames(key_format: Format, value_format: Format) -> list[str]:
    """Return the headers of a source record that a result must not inherit.

    Its bytes have a frame of their own, and readers believe a header first.
    """
    given: tuple[tuple[Part, Format], ...] = (("key", key_format), ("value", value_format))
    return [_HEADERS[part] for part, of in given if _has_frame(of)]


def _has_frame(of: Format) -> bool:
    return of.name in OF_SCHEMAS and of.name != "PROTOBUF_NOSR"


def _options(
    of: Format, columns: tuple[Column, ...], part: Part, *, writes: bool
) -> dict[str, str]:
    given = {
        name: value
        for name, value in of.options
        if name not in {SINGLE, NULLABLE} and (writes or name == REGISTRY)
    }
    if of.name == "PROTOBUF_NOSR":
        given[_DESCRIPTOR] = _descriptor(columns, of.option(NULLABLE))
    if of.name == "PROTOBUF" and SCHEMA in given:
        given |= _described(given.pop(SCHEMA))
    if of.name == "JSON_SR" and SCHEMA in given:
        given[_MAPS] = _maps(given.pop(SCHEMA))
    if not of.name.startswith("PROTOBUF") and _stands_alone(of, columns, part):
        given[SINGLE] = BARE
    return given


def _literal(options: dict[str, str]) -> str:
    return text(json.dumps(options, ensure_ascii=False))


def _descriptor(columns: tuple[Column, ...], nullable: str | None) -> str:
    """Return the FileDescriptorProto of the schema that columns make, in base64."""
    # Loaded for this format only.
    from duolog.schemas.protobuf import columns as protobuf  # noqa: PLC0415
    from duolog.schemas.protobuf import parse  # noqa: PLC0415

    form: Literal["optional", "wrapper"] | None = None
    if nullable is not None:
        form = "optional" if nullable == "optional" else "wrapper"
    return parse(protobuf.schema_text(columns, nullable=form), {}).formatted("serialized")


def _described(schema: str) -> dict[str, str]:
    """Return the descriptor of a registered schema, so that a start does not need the registry.

    A schema that imports others has none: the registry knows them.
    """
    # Loaded for this format only.
    from duolog.schemas.protobuf import parse  # noqa: PLC0415

    parsed = parse(schema, {}, strict=False)
    if any(part.path not in parsed.library.files for part in parsed.file.imports):
        return {}
    return {_DESCRIPTOR: parsed.formatted("serialized")}


def _maps(schema: str) -> str:
    """Return the form in which a JSON Schema describes maps."""
    # Loaded for this format only.
    from duolog.schemas.json_schema import parse  # noqa: PLC0415
    from duolog.schemas.json_schema.columns import has_object_maps  # noqa: PLC0415

    return "objects" if has_object_maps(parse(schema, {}, strict=False).documents) else "entries"


def _stands_alone(of: Format, columns: tuple[Column, ...], part: Part) -> bool:
    return len(columns) == 1 and (part == "key" or of.option(SINGLE) == BARE)


def _schema(columns: tuple[Column, ...]) -> str:
    return text(", ".join(f"{quoted(name)} {_named(kind)}" for name, kind in columns))


def _named(of: Type) -> str:
    """Return Spark's DDL for a type, in which TIME differs from INT.

    Example:
        >>> _named(Array(TIME))
        'ARRAY<SMALLINT>'
    """
    match of:
        case Array(element=element):
            return f"ARRAY<{_named(element)}>"
        case Map(key=key, value=value):
            return f"MAP<{_named(key)}, {_named(value)}>"
        case Struct(fields=fields):
            inside = ", ".join(f"{quoted(name)}: {_named(kind)}" for name, kind in fields)
            return f"STRUCT<{inside}>"
        case _:
            return _TIME if of == TIME else spark_type(of)
