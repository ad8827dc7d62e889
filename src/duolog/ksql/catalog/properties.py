"""Parse and validate the properties of WITH (…)."""

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceWindow, SqlFormat, TimestampColumn, WindowKind
from duolog.ksql.catalog.format_support import SUPPORT
from duolog.ksql.errors import SqlError
from duolog.ksql.settings import Settings, settings_in_force
from duolog.ksql.syntax.durations import number_and_unit, property_ms
from duolog.ksql.syntax.script import uses_variables
from duolog.ksql.syntax.types import sql_name
from duolog.ksql.syntax.words import CALENDAR_UNITS
from duolog.plan.sql.time_patterns import parts_of
from duolog.plan.types import STRING, Type

_ANYWHERE: Final = (
    "KAFKA_TOPIC",
    "FORMAT",
    "KEY_FORMAT",
    "VALUE_FORMAT",
    "KEY_DELIMITER",
    "VALUE_DELIMITER",
    "KEY_DIALECT",
    "VALUE_DIALECT",
    "WRAP_SINGLE_VALUE",
    "PARTITIONS",
    "REPLICAS",
    "RETENTION_MS",
    "CLEANUP_POLICY",
    "TIMESTAMP",
    "TIMESTAMP_FORMAT",
    "KEY_SCHEMA_ID",
    "VALUE_SCHEMA_ID",
    "KEY_SCHEMA_FULL_NAME",
    "VALUE_SCHEMA_FULL_NAME",
    "VALUE_AVRO_SCHEMA_FULL_NAME",
    "KEY_PROTOBUF_NULLABLE_REPRESENTATION",
    "VALUE_PROTOBUF_NULLABLE_REPRESENTATION",
)
TOPIC_PATTERN: Final = "TOPIC_PATTERN"
INHERIT_HEADERS: Final = "INHERIT_HEADERS"
DEAD_LETTER_TOPIC: Final = "DEAD_LETTER_TOPIC"
_OF_QUERIES: Final = (INHERIT_HEADERS, DEAD_LETTER_TOPIC)
DECLARED: Final = (
    *_ANYWHERE,
    "WINDOW_TYPE",
    "WINDOW_SIZE",
    "WINDOW_TIMEZONE",
    "TTL",
    "SOURCED_BY_CONNECTOR",
    TOPIC_PATTERN,
)
"""Properties allowed in CREATE without a query."""
SELECTED: Final = (*_ANYWHERE, "TTL", *_OF_QUERIES)
"""Properties allowed in CREATE … AS SELECT."""
INSERTED: Final = ("QUERY_ID", *_OF_QUERIES)
"""Properties allowed in INSERT INTO … SELECT."""

_NUMBERS: Final = {
    "PARTITIONS": "INT",
    "REPLICAS": "SHORT",
    "RETENTION_MS": "LONG",
    "KEY_SCHEMA_ID": "INT",
    "VALUE_SCHEMA_ID": "INT",
}
_CLEANUP: Final = ("delete", "compact", "compact,delete", "delete,compact")
_NULLABLE: Final = ("OPTIONAL", "WRAPPER")
_DIALECTS: Final = ("KSQLDB", "DUOLOG")
DELIMITERS: Final = {"TAB": "\t", "SPACE": " "}


class Properties:
    """Properties of one statement, by upper-case name.

    Raises:
        SqlError: a name is unknown, or a value is not allowed.
    """

    def __init__(
        self, given: Iterable[exp.Expression] | None, allowed: Iterable[str] = DECLARED
    ) -> None:
        self._values: dict[str, object] = {}
        for one in given or ():
            name = one.this.name.upper()
            if name in self._values:
                raise SqlError(f"Duplicate property: {name}")
            self._values[name] = _plain(one.args["value"])
        unknown = [name for name in self._values if name not in set(allowed)]
        if unknown:
            raise SqlError(f"Invalid config variable(s) in the WITH clause: {','.join(unknown)}")
        self._check()

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def written(self) -> str:
        """Return the properties as written in a statement."""
        return ", ".join(
            f"{name}={str(value).lower() if isinstance(value, bool) else value!r}"
            for name, value in self._values.items()
        )

    def text(self, name: str) -> str | None:
        value = self._values.get(name)
        return None if value is None else str(value)

    def number(self, name: str) -> int | None:
        value = self._values.get(name)
        if value is None:
            return None
        try:
            return int(str(value))
        except ValueError:
            raise _invalid(
                name, f"{value} for configuration {name}: Not a number of type {_NUMBERS[name]}"
            ) from None

    def truth(self, name: str) -> bool | None:
        value = self._values.get(name)
        if value is None or isinstance(value, bool):
            return value
        if str(value).lower() in {"true", "false"}:
            return str(value).lower() == "true"
        raise _invalid(
            name, f"{value} for configuration {name}: Expected value to be either true or false"
        )

    def topic(self) -> str | None:
        return self.text("KAFKA_TOPIC")

    def format(self, part: str) -> SqlFormat | None:
        """Return the KEY or VALUE format with its properties, or None if none is given.

        Raises:
            SqlError: the format is unknown, given twice, or does not support one of the properties.
        """
        both, own = self.text("FORMAT"), self.text(f"{part}_FORMAT")
        if both is not None and own is not None:
            raise SqlError(
                f"Cannot supply both '{part}_FORMAT' and 'FORMAT' properties, as 'FORMAT' sets "
                "both key and value formats. Either use just 'FORMAT', or use 'KEY_FORMAT' and "
                "'VALUE_FORMAT'."
            )
        name = both if own is None else own
        return None if name is None else self.with_options(part, format_named(name))

    def with_options(self, part: str, of: SqlFormat) -> SqlFormat:
        """Return a format with the properties that this statement gives for it.

        Raises:
            SqlError: the format does not support one of them.
        """
        options = self._options(part)
        known = SUPPORT[of.name].configs
        if unknown := [name for name in options if name not in known]:
            raise SqlError(
                f"{of.name} does not support the following configs: [{', '.join(unknown)}]"
            )
        if "fullSchemaName" in options and not options["fullSchemaName"]:
            raise SqlError(
                "fullSchemaName cannot be empty. Format configuration: {fullSchemaName=}"
            )
        return SqlFormat(
            of.name, tuple(sorted({**dict(of.properties), **options}.items())), of.wrap
        )

    def window(self) -> SourceWindow | None:
        """Return the window of the keys, or None."""
        kind, size, zone = map(self.text, ("WINDOW_TYPE", "WINDOW_SIZE", "WINDOW_TIMEZONE"))
        if zone is not None and (kind or "").upper() != "TUMBLING":
            raise SqlError(
                "WINDOW_TIMEZONE is only valid for sources with the WINDOW_TYPE TUMBLING."
            )
        if kind is None:
            if size is not None:
                raise SqlError("WINDOW_SIZE is only valid for sources with a WINDOW_TYPE.")
            return None
        known: tuple[WindowKind, ...] = get_args(WindowKind)
        named = next((one for one in known if one == kind.upper()), None)
        if named is None:
            raise _invalid(
                "WINDOW_TYPE",
                f"{kind} for configuration WINDOW_TYPE: String must be one of: SESSION, "
                "HOPPING, TUMBLING, null",
            )
        if named == "SESSION":
            if size is not None:
                raise SqlError("'WINDOW_SIZE' should not be set for SESSION windows.")
            return SourceWindow("SESSION")
        if size is None:
            raise SqlError(
                f"{named} windows require 'WINDOW_SIZE' to be provided in the WITH clause. "
                "For example: 'WINDOW_SIZE'='10 SECONDS'"
            )
        # Keys of calendar windows have both bounds; the length varies, so it is not part of the
        # window.
        if named == "TUMBLING" and (
            zone or number_and_unit("WINDOW_SIZE", size)[1] in CALENDAR_UNITS
        ):
            return SourceWindow(named)
        return SourceWindow(named, property_ms("WINDOW_SIZE", size))

    def ttl_ms(self) -> int | None:
        """Return the time after which rows that were not updated are removed."""
        said = self.text("TTL")
        return None if said is None else property_ms("TTL", said)

    def timestamp(self, columns: Mapping[str, Type]) -> TimestampColumn | None:
        """Return the column from which record timestamps are taken, one of `columns`.

        Raises:
            SqlError: the column does not exist, or does not have a time type.
        """
        given, pattern = self.text("TIMESTAMP"), self.text("TIMESTAMP_FORMAT")
        if given is None:
            return None
        name = given.strip("`") if given.startswith("`") else given.upper()
        if name not in columns:
            raise SqlError(
                "The TIMESTAMP column set in the WITH clause does not exist in the "
                f"schema: '{name}'"
            )
        of = columns[name]
        if of == STRING and pattern is None:
            raise SqlError(
                "A String timestamp field has been specified without also specifying the "
                "timestamp_format"
            )
        if of != STRING and pattern is not None:
            raise SqlError(
                "'TIMESTAMP_FORMAT' set in the WITH clause can only be used when the timestamp "
                "column is of type STRING.",
                hint=f"`{name}` is {sql_name(of)}: leave TIMESTAMP_FORMAT out.",
            )
        if of != STRING and of.name not in {"BIGINT", "TIMESTAMP"}:
            raise SqlError(
                f"Timestamp column, `{name}`, should be LONG(INT64), TIMESTAMP, or a "
                f"String(VARCHAR) with a timestamp_format specified. It is {sql_name(of)}."
            )
        return TimestampColumn(name, pattern)

    def wrap(self) -> bool | None:
        return self.truth("WRAP_SINGLE_VALUE")

    def _options(self, part: str) -> dict[str, str]:
        """Return the format options given for KEY or VALUE, by their names in the format."""
        names = {
            f"{part}_DELIMITER": "delimiter",
            f"{part}_DIALECT": "dialect",
            f"{part}_SCHEMA_FULL_NAME": "fullSchemaName",
            f"{part}_SCHEMA_ID": "schemaId",
            f"{part}_PROTOBUF_NULLABLE_REPRESENTATION": "nullableRepresentation",
        }
        if part == "VALUE":
            names["VALUE_AVRO_SCHEMA_FULL_NAME"] = "fullSchemaName"
        given = {
            option: str(self._values[name]).strip()
            if option == "fullSchemaName"
            else self.text(name)
            for name, option in names.items()
            if name in self
        }
        if (delimiter := given.get("delimiter")) is not None:
            given["delimiter"] = DELIMITERS.get(delimiter, delimiter)
        if (dialect := given.get("dialect")) is not None:
            given["dialect"] = dialect.lower()
        return {option: str(value) for option, value in given.items()}

    def _check(self) -> None:
        for name in _NUMBERS:
            number = self.number(name)
            counts = name in {"PARTITIONS", "REPLICAS"} and settings_in_force().are_new
            if number is not None and counts and number < 1:
                raise _invalid(name, f"{number} for configuration {name}: must be 1 or more")
        for part in ("KEY", "VALUE"):
            name = f"{part}_DELIMITER"
            if name in self:
                _ensure_delimiter(name, str(self._values[name]))
            name = f"{part}_DIALECT"
            if name in self and str(self._values[name]).upper() not in _DIALECTS:
                raise _invalid(
                    name,
                    f"{self._values[name]} for configuration {name}: String must be one of: "
                    f"{', '.join(_DIALECTS)}",
                )
            name = f"{part}_PROTOBUF_NULLABLE_REPRESENTATION"
            if name in self and str(self._values[name]).upper() not in _NULLABLE:
                raise _invalid(
                    name,
                    f"{self._values[name]} for configuration {name}: String must be one of: "
                    "OPTIONAL, WRAPPER, null",
                )
        policy = self.text("CLEANUP_POLICY")
        if policy is not None and policy.lower() not in _CLEANUP:
            raise _invalid(
                "CLEANUP_POLICY",
                f"{policy} for configuration CLEANUP_POLICY: String must be one of: "
                f"{', '.join(_CLEANUP)}",
            )
        for name in ("TIMESTAMP_FORMAT",):
            if name in self and not str(self._values[name]).strip():
                raise _invalid(name, f"an empty pattern for configuration {name}")
        self.truth("WRAP_SINGLE_VALUE")
        self.truth(INHERIT_HEADERS)


def format_named(name: str) -> SqlFormat:
    """Return the format of a name, in any case.

    Raises:
        SqlError: the format is unknown.
    """
    if name.upper() not in SUPPORT:
        raise SqlError(f"Unknown format: {name.upper()}")
    return SqlFormat(name.upper())


def _invalid(name: str, why: str) -> SqlError:
    return SqlError(f"Failed to prepare statement: Invalid value {why}")


def ensure_timestamp_format(properties: Properties, settings: Settings) -> None:
    """Refuse a TIMESTAMP_FORMAT that is not a Java date pattern.

    Statements that were accepted before this rule existed are not checked.

    Raises:
        SqlError: the pattern is invalid.
    """
    pattern = properties.text("TIMESTAMP_FORMAT")
    if pattern is None or uses_variables(pattern) or not settings.refuses_early:
        return
    try:
        parts_of(pattern)
    except ValueError as error:
        raise SqlError(
            f"TIMESTAMP_FORMAT is not a valid date pattern: '{pattern}'",
            hint="Use the syntax of Java's DateTimeFormatter, for example "
            "'yyyy-MM-dd''T''HH:mm:ss.SSSX'.",
        ) from error


def _ensure_delimiter(name: str, given: str) -> None:
    if given in DELIMITERS or (len(given) == 1 and given.strip()):
        return
    if not given.strip():
        why = (
            "Delimiter cannot be empty, if you meant to have a tab or space for delimiter, please "
            "use the special values 'TAB' or 'SPACE'"
        )
    else:
        why = (
            f"Invalid delimiter value: '{given}'. Delimiter must be a single character or TAB,SPACE"
        )
    raise SqlError(
        f"Failed to prepare statement: Configuration {name} is invalid: {why}\nExample "
        "valid value: ';'"
    )


def _plain(node: exp.Expression) -> object:
    match node:
        case exp.Boolean():
            return bool(node.this)
        case exp.Null():
            return None
        case exp.Neg():
            return f"-{node.this.name}"
        case exp.Literal() if not node.is_string and node.name.isdecimal():
            return int(node.name)
        case _:
            return node.name
