"""Settings of a session: the values of SET, on top of the defaults.

The user of a schema registry is not among the values, because these are written to the command
topic: `duolog.schemas.registry_users` keeps it in this process.
"""

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping
from contextvars import ContextVar
from typing import Final

from duolog.core.errors import ConfigError
from duolog.ksql.errors import SqlError
from duolog.schemas.registry_users import forget_users, keep_users
from duolog.schemas.subject_names import SubjectStrategy, strategy_of

KEY_FORMAT: Final = "ksql.persistence.default.format.key"
VALUE_FORMAT: Final = "ksql.persistence.default.format.value"
WRAP: Final = "ksql.persistence.wrap.single.values"
SUBSTITUTION: Final = "ksql.variable.substitution.enable"
REGISTRY: Final = "ksql.schema.registry.url"
REGISTRY_USER: Final = "ksql.schema.registry.basic.auth.user.info"
"""User of the registry, as `name:password`; never in `Settings.given`."""
REGISTRY_USER_SOURCE: Final = "ksql.schema.registry.basic.auth.credentials.source"
"""`URL`: the user in the address; `USER_INFO`, the default: `REGISTRY_USER` comes first."""
SUBJECTS: Final = {
    part: f"ksql.schema.registry.{part.lower()}.subject.name.strategy" for part in ("Key", "Value")
}
"""Names of the subjects of schemas; see `duolog.ksql.catalog.subjects`."""
THROW_ON_INVALID_TIME: Final = "ksql.timestamp.throw.on.invalid"
NEW_PLANNER: Final = "ksql.new.query.planner.enabled"
"""If true, the columns selected as key are the key of a stream, in that order; else all must be."""
OFFSET_RESET: Final = "auto.offset.reset"
CONTINUATION_TOKEN: Final = "request.ksql.query.push.continuation.token"  # noqa: S105 - a name
"""Token of an earlier push query: the next one continues after its last row."""
COMMIT_INTERVAL: Final = "commit.interval.ms"
LIST_LIMIT: Final = "ksql.functions.collect_list.limit"
SET_LIMIT: Final = "ksql.functions.collect_set.limit"
ANSWER_TIMEOUT: Final = "ksql.query.pull.timeout.ms"
"""Time limit of a pull query, in ms; 0: no limit."""
ANSWER_MEMORY: Final = "ksql.query.pull.memory.bytes.max"
"""Memory limit for the rows of a pull query, in bytes; 0: 80 % of the machine's memory."""
ANSWER_CONSISTENCY: Final = "ksql.query.pull.consistency"
"""`latest`: each topic is read to its end; `snapshot`: all topics of a query, to one moment."""
ANSWER_STALENESS: Final = "ksql.query.pull.staleness.ms.max"
"""A pull query may miss records that are at most this old, in ms; 0: it includes all."""
ANSWER_OFFSETS: Final = "ksql.query.pull.offsets.min"
"""Offsets up to which a pull query includes records, as `topic-partition=offset,…`."""
ANSWER_ROWS: Final = "ksql.query.pull.rows.max"
"""A pull query with more rows is stopped; 0: no limit."""
DEAD_LETTERS: Final = "errors.dead.letter.queue.topic.name"
"""Topic for records that new queries cannot read or process; empty: the processing log."""
GUARANTEE: Final = "processing.guarantee"
"""Applies to queries started from now on."""
EXACTLY_ONCE: Final = "exactly_once_v2"
FAIL_ON_REFUSED: Final = "ksql.fail.on.production.error"
"""If false, queries started from now on skip results that the broker refuses."""
JVM_GROUP: Final = "duolog.query.jvm.group"
"""Group of the queries that statements start from now on: each has a JVM of its own."""
DEFAULT_GROUP: Final = "default"
"""Group of the queries that share the JVM of the server."""
QUARANTINE: Final = "quarantine"
"""Start of the names of groups for queries that may have ended the JVM of the server."""
COMPATIBILITY: Final = "ksql.compatibility"
"""If `strict`, refuse what ksqlDB refuses and drop what it drops, even where Duolog need not."""

RULES: Final = 3
"""Version of the rules by which statements are accepted.

Version 1 ignores `OUTPUT_PREFIX`, the refusals that ask for `refuses`, and those that ask for
`are_new`. Version 2 ignores those that ask for `refuses_early`.
"""
OUTPUT_PREFIX: Final = "ksql.output.topic.name.prefix"
"""Prefix of the topic of a query's result, unless KAFKA_TOPIC names the topic."""
TABLE_SCAN: Final = "ksql.query.pull.table.scan.enabled"
RANGE_SCAN: Final = "ksql.query.pull.range.scan.enabled"
LIMIT: Final = "ksql.query.pull.limit.clause.enabled"
SUBSTRING: Final = "ksql.functions.substring.legacy.args"
CAST: Final = "ksql.cast.strings.preserve.nulls"

DEFAULTS: Final[Mapping[str, str]] = {
    KEY_FORMAT: "KAFKA",
    SUBSTITUTION: "true",
    OFFSET_RESET: "latest",
    COMMIT_INTERVAL: "2000",
    LIST_LIMIT: "2147483647",
    SET_LIMIT: "2147483647",
    ANSWER_TIMEOUT: "0",
    ANSWER_MEMORY: "0",
    ANSWER_CONSISTENCY: "latest",
    ANSWER_STALENESS: "0",
    ANSWER_ROWS: "0",
    "ksql.service.id": "default_",
    GUARANTEE: "at_least_once",
}
_OF_SESSION: Final = frozenset(
    {
        KEY_FORMAT,
        VALUE_FORMAT,
        WRAP,
        SUBSTITUTION,
        REGISTRY,
        REGISTRY_USER,
        REGISTRY_USER_SOURCE,
        *SUBJECTS.values(),
        THROW_ON_INVALID_TIME,
        NEW_PLANNER,
        OFFSET_RESET,
        CONTINUATION_TOKEN,
        LIST_LIMIT,
        SET_LIMIT,
        ANSWER_TIMEOUT,
        ANSWER_MEMORY,
        ANSWER_CONSISTENCY,
        ANSWER_STALENESS,
        ANSWER_OFFSETS,
        ANSWER_ROWS,
        DEAD_LETTERS,
        GUARANTEE,
        FAIL_ON_REFUSED,
        JVM_GROUP,
        COMPATIBILITY,
        OUTPUT_PREFIX,
        TABLE_SCAN,
        RANGE_SCAN,
        LIMIT,
        SUBSTRING,
        CAST,
    }
)
"""Properties that SET changes for the statements that follow."""
_OF_START: Final = frozenset(
    {
        COMMIT_INTERVAL,
        "ksql.service.id",
        "ksql.logging.processing.topic.name",
        "ksql.logging.processing.rows.include",
        "ksql.logging.processing.stream.auto.create",
        "ksql.logging.processing.stream.name",
        "ksql.logging.processing.topic.auto.create",
        "ksql.logging.processing.topic.partitions",
        "ksql.logging.processing.topic.replication.factor",
        "ksql.query.retry.backoff.initial.ms",
        "ksql.query.retry.backoff.max.ms",
    }
)
"""Properties that are read once, when the SQL engine starts."""
_GROUP_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,29}")
_OF_GROUPS: Final = re.compile(
    r"duolog\.query\.jvm\.(groups\.max|memory\.bytes\.max|stop\.timeout\.ms|answer\.timeout\.ms"
    rf"|group\.({_GROUP_NAME.pattern}\.)?(memory\.bytes|queries\.max|nice))"
)
"""Limits of groups, which are read once: see `duolog.runtime.sql.groups`."""
_OF_STRICT: Final = frozenset({TABLE_SCAN, RANGE_SCAN, LIMIT})
"""Properties that disable statements. Duolog applies them only in strict compatibility mode."""
_CLIENT: Final = (
    "ksql.",
    "auto.",
    "commit.",
    "processing.",
    "consumer.",
    "producer.",
    "cache.",
    "max.",
    "min.",
    "num.",
    "replication.",
    "request.",
    "retry.",
    "retries",
    "topology.",
    "use.",
    "fetch.",
    "bootstrap.",
)

_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    OFFSET_RESET: ("earliest", "latest"),
    GUARANTEE: ("at_least_once", EXACTLY_ONCE),
    FAIL_ON_REFUSED: ("true", "false"),
    REGISTRY_USER_SOURCE: ("USER_INFO", "URL"),
    ANSWER_CONSISTENCY: ("latest", "snapshot"),
}
"""Allowed values of settings for which any other value would act like one of these."""
HIDDEN: Final = "[hidden]"
"""Shown in place of a secret."""
_SECRET: Final = re.compile("password|secret|jaas|user[.]info|ssl[.]keystore[.]key", re.IGNORECASE)


def session_properties() -> tuple[str, ...]:
    """Return the names of the properties that SET changes for the statements that follow."""
    return tuple(sorted(_OF_SESSION))


def allowed_values(name: str) -> tuple[str, ...]:
    """Return the values that a property may have; empty if there is no list of them.

    Example:
        >>> allowed_values("auto.offset.reset")
        ('earliest', 'latest')
    """
    return _VALUES.get(name, ())


def is_secret(name: str) -> bool:
    """Return whether the value of a property may be a secret.

    No secret changes what a statement means.

    Example:
        >>> is_secret("consumer.sasl.jaas.config"), is_secret("auto.offset.reset")
        (True, False)
    """
    return _SECRET.search(name) is not None


_COUNTS: Final = frozenset({ANSWER_TIMEOUT, ANSWER_MEMORY, ANSWER_STALENESS, ANSWER_ROWS})
"""Settings that must be whole numbers: with any other value, every pull query would fail."""


class Settings:
    """Settings by name; the names are ksqlDB's."""

    def __init__(self, given: Mapping[str, str] | None = None, *, rules: int = RULES) -> None:
        """Create settings.

        With older `rules`, statements keep the meaning they had when they were accepted.
        """
        self.given: dict[str, str] = dict(given or {})
        self.of_server: Mapping[str, str] = {}
        """The properties of the server among `given`, which no client has set."""
        self._rules = rules
        self._registry_user = self.given.pop(REGISTRY_USER, None)
        self._keep_registry_user()

    def __getitem__(self, name: str) -> str | None:
        return self.given.get(name, DEFAULTS.get(name))

    def truth(self, name: str) -> bool | None:
        """Return a boolean setting, or None if it is not set."""
        value = self[name]
        return None if value is None else value.lower() == "true"

    @property
    def strict(self) -> bool:
        """Return true if statements that ksqlDB does not support are refused."""
        return self[COMPATIBILITY] == "strict"

    @property
    def refuses(self) -> bool:
        """Return true if strict mode also refuses statements that it accepted under rules 1."""
        return self.strict and self.are_new

    @property
    def are_new(self) -> bool:
        """Return false for a statement that was accepted under rules 1."""
        return self._rules > 1

    @property
    def refuses_early(self) -> bool:
        """Return true if errors that rules 1 and 2 raised later, or never, are raised at once."""
        return self._rules > 2

    @property
    def output_prefix(self) -> str:
        """Return the prefix of the topic of a query's result."""
        return (self[OUTPUT_PREFIX] or "") if self.are_new else ""

    def number(self, name: str) -> int:
        """Return a setting that is a whole number.

        Raises:
            SqlError: the value is not a whole number.
        """
        value = self[name] or ""
        if not value.strip().lstrip("-").isdecimal():
            raise SqlError(f"Invalid value {value} for configuration {name}: Not a number")
        return int(value)

    def set(self, name: str, value: str) -> str | None:
        """Set a property and return its previous value.

        Raises:
            SqlError: the property is unknown, or the value is not allowed.
        """
        if not name.startswith(_CLIENT) and (self.strict or not _is_own(name)):
            longer = f"ksql.schema.registry.{name}"
            raise SqlError(
                f"Not recognizable as ksql, streams, consumer, or producer property: '{name}'",
                hint=f"Use '{longer}'." if longer in _OF_SESSION else "",
            )
        if name in SUBJECTS.values():
            allowed: Collection[str] | None = [one.value for one in SubjectStrategy]
            known = strategy_of(value) is not None
        else:
            allowed = _VALUES.get(name)
            known = allowed is None or value in allowed
        if allowed is not None and not known:
            raise SqlError(
                f"Invalid value {value} for property '{name}'",
                hint=f"Use one of {', '.join(allowed)}.",
            )
        if (name in _COUNTS or _OF_GROUPS.fullmatch(name)) and not (
            value.isascii() and value.isdecimal()
        ):
            raise SqlError(
                f"Invalid value {value} for property '{name}'",
                hint="Use a whole number; 0 disables the limit.",
            )
        if name == JVM_GROUP:
            _ensure_group(value)
        if name == REGISTRY_USER:
            return self._set_registry_user(value)
        before = self[name]
        self.given[name] = value
        if name in {REGISTRY, REGISTRY_USER_SOURCE}:
            self._keep_registry_user()
        return HIDDEN if before is not None and is_secret(name) else before

    def without_effect(self, name: str) -> str:
        """Return the reason why setting a property has no effect; empty if it has one."""
        if name in _OF_START or _OF_GROUPS.fullmatch(name):
            return f"It has no effect until the next start. Start with --set {name}=…."
        if name in _OF_STRICT and not self.strict:
            return f"It has no effect unless '{COMPATIBILITY}' is 'strict'."
        if name in _OF_SESSION:
            return ""
        return "It has no effect: Duolog does not use this property."

    def unset(self, name: str) -> str | None:
        """Restore the default of a property, and return the value that SET gave it."""
        if name == REGISTRY_USER and self._registry_user is not None:
            self._registry_user = None
            forget_users(self[REGISTRY] or "")
            return HIDDEN
        before = self.given.pop(name, None)
        return HIDDEN if before is not None and is_secret(name) else before

    def shown(self, name: str, value: str) -> str:
        """Return a value that SET was given, in a form that may be shown."""
        return HIDDEN if is_secret(name) else self.given.get(name, value)

    def _set_registry_user(self, value: str) -> str | None:
        if not value.partition(":")[0] or ":" not in value:
            raise SqlError(
                f"Invalid value for property '{REGISTRY_USER}'",
                hint="Write it as name:password.",
            )
        before = None if self._registry_user is None else HIDDEN
        self._registry_user = value
        self._keep_registry_user()
        return before

    def _keep_registry_user(self) -> None:
        """Move the user of the registry out of its address, into the table of this process."""
        address = self.given.get(REGISTRY)
        if address is None:
            return
        alone = self.given.get(REGISTRY_USER_SOURCE) == "URL"
        try:
            self.given[REGISTRY] = keep_users(address, None if alone else self._registry_user)
        except ConfigError as error:
            del self.given[REGISTRY]
            raise SqlError(error.message, hint=error.hint) from error

    def rows(self) -> list[tuple[str, str, str]]:
        """Return name, origin and value of each property, sorted by name."""
        names = sorted({*DEFAULTS, *self.given})
        return [(name, "SESSION" if name in self.given else "", self[name] or "") for name in names]


_IN_FORCE: Final[ContextVar[Settings | None]] = ContextVar("settings in force", default=None)


@contextlib.contextmanager
def in_force(settings: Settings) -> Iterator[None]:
    """Apply these settings to the statement that this thread runs inside the `with` block."""
    before = _IN_FORCE.set(settings)
    try:
        yield
    finally:
        _IN_FORCE.reset(before)


def _is_own(name: str) -> bool:
    """Return true for a property that ksqlDB does not have."""
    return name in {DEAD_LETTERS, JVM_GROUP} or _OF_GROUPS.fullmatch(name) is not None


def _ensure_group(value: str) -> None:
    if not _GROUP_NAME.fullmatch(value) or value.startswith(QUARANTINE):
        raise SqlError(
            f"Invalid value {value} for property '{JVM_GROUP}'",
            hint="Use up to 30 letters in lower case, digits, - and _, such as heavy. Names that "
            f"start with {QUARANTINE} are reserved.",
        )


def settings_in_force() -> Settings:
    """Return the settings of the running statement, for code far below the session."""
    return _IN_FORCE.get() or Settings()
