"""Settings of a session: what SET says, over what holds without it."""

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Final

from duolog.ksql.errors import SqlError

KEY_FORMAT: Final = "ksql.persistence.default.format.key"
VALUE_FORMAT: Final = "ksql.persistence.default.format.value"
WRAP: Final = "ksql.persistence.wrap.single.values"
SUBSTITUTION: Final = "ksql.variable.substitution.enable"
REGISTRY: Final = "ksql.schema.registry.url"
THROW_ON_INVALID_TIME: Final = "ksql.timestamp.throw.on.invalid"
NEW_PLANNER: Final = "ksql.new.query.planner.enabled"
"""Whether the key of a stream is what is selected of it, in that order; else all of it must be selected."""
OFFSET_RESET: Final = "auto.offset.reset"
COMMIT_INTERVAL: Final = "commit.interval.ms"
LIST_LIMIT: Final = "ksql.functions.collect_list.limit"
SET_LIMIT: Final = "ksql.functions.collect_set.limit"
ANSWER_TIMEOUT: Final = "ksql.query.pull.timeout.ms"
"""How long a query that answers rows may take; 0: without a limit."""
ANSWER_MEMORY: Final = "ksql.query.pull.memory.bytes.max"
"""How much memory the rows of an answer may take; 0: 80 % of the machine's."""
DEAD_LETTERS: Final = "errors.dead.letter.queue.topic.name"
"""The topic for records that the queries begun from now on cannot read or process; empty: the processing log has them."""
GUARANTEE: Final = "processing.guarantee"
"""Of the queries begun from now on."""
EXACTLY_ONCE: Final = "exactly_once_v2"
COMPATIBILITY: Final = "ksql.compatibility"
"""`strict`: what ksqlDB refuses or loses is refused and lost, though it need not be."""

RULES: Final = 3
"""The rules by which statements are accepted.

1: without `OUTPUT_PREFIX`, the refusals of `refuses` and those that ask for `are_new`; 2: without those of `refuses_early`.
"""
OUTPUT_PREFIX: Final = "ksql.output.topic.name.prefix"
"""What the topic of a query's result begins with, unless KAFKA_TOPIC names it."""
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
    "ksql.service.id": "default_",
    GUARANTEE: "at_least_once",
}
_OF_SESSION: Final = frozenset(
    {
        KEY_FORMAT,
        VALUE_FORMAT,
        WRAP,
        SUBSTITUTION,
        THROW_ON_INVALID_TIME,
        NEW_PLANNER,
        OFFSET_RESET,
        LIST_LIMIT,
        SET_LIMIT,
        ANSWER_TIMEOUT,
        ANSWER_MEMORY,
        DEAD_LETTERS,
        GUARANTEE,
        COMPATIBILITY,
        OUTPUT_PREFIX,
        TABLE_SCAN,
        RANGE_SCAN,
        LIMIT,
        SUBSTRING,
        CAST,
    }
)
"""The properties that SET changes for the statements after it."""
_OF_START: Final = frozenset(
    {
        COMMIT_INTERVAL,
        "ksql.service.id",
        "ksql.logging.processing.topic.name",
        "ksql.logging.processing.rows.include",
        "ksql.query.retry.backoff.initial.ms",
        "ksql.query.retry.backoff.max.ms",
    }
)
"""The properties that are read once, when the statements' engine starts."""
_OF_STRICT: Final = frozenset({TABLE_SCAN, RANGE_SCAN, LIMIT})
"""The properties that refuse statements, which Duolog does in strict compatibility only."""
_CLIENT: Final = ("ksql.", "auto.", "commit.", "processing.", "consumer.", "producer.", "cache.", "max.", "min.", "num.",
                  "replication.", "request.", "retry.", "retries", "topology.", "use.", "fetch.", "bootstrap.")  # fmt: skip

_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    OFFSET_RESET: ("earliest", "latest"),
    GUARANTEE: ("at_least_once", EXACTLY_ONCE),
}
"""What a setting may say, where anything else would be taken for one of these."""
_COUNTS: Final = frozenset({ANSWER_TIMEOUT, ANSWER_MEMORY})
"""The settings that must be whole numbers: with any other value no query would be answered."""


class Settings:
    """Settings by name, in ksqlDB's words."""

    def __init__(self, given: Mapping[str, str] | None = None, *, rules: int = RULES) -> None:
        """`rules`: those by which statements are run; older ones mean what they meant when they were accepted."""
        self.given: dict[str, str] = dict(given or {})
        self._rules = rules

    def __getitem__(self, name: str) -> str | None:
        return self.given.get(name, DEFAULTS.get(name))

    def truth(self, name: str) -> bool | None:
        """Return a setting that is true or false; None where nothing is said."""
        value = self[name]
        return None if value is None else value.lower() == "true"

    @property
    def strict(self) -> bool:
        """Whether only what ksqlDB does is done."""
        return self[COMPATIBILITY] == "strict"

    @property
    def refuses(self) -> bool:
        """Whether strict compatibility also refuses what it accepted before rules 2."""
        return self.strict and self.are_new

    @property
    def are_new(self) -> bool:
        """Whether the rules are those of new statements, and not of one that was accepted before rules 2."""
        return self._rules > 1

    @property
    def refuses_early(self) -> bool:
        """Whether a statement is refused, as it is from rules 3 on, for what failed later or had no effect before."""
        return self._rules > 2

    @property
    def output_prefix(self) -> str:
        """What the topic of a query's result begins with."""
        return (self[OUTPUT_PREFIX] or "") if self.are_new else ""

    def number(self, name: str) -> int:
        """Return a setting that is a whole number.

        Raises:
            SqlError: it is none.
        """
        value = self[name] or ""
        if not value.strip().lstrip("-").isdecimal():
            raise SqlError(f"Invalid value {value} for configuration {name}: Not a number")
        return int(value)

    def set(self, name: str, value: str) -> str | None:
        """Set one, and return what held before.

        Raises:
            SqlError: there is no setting of that name, or it has no such value.
        """
        if not name.startswith(_CLIENT) and (self.strict or name != DEAD_LETTERS):
            raise SqlError(
                f"Not recognizable as ksql, streams, consumer, or producer property: '{name}'"
            )
        if name in _VALUES and value not in _VALUES[name]:
            raise SqlError(
                f"Invalid value {value} for property '{name}'",
                hint=f"It is one of {', '.join(_VALUES[name])}.",
            )
        if name in _COUNTS and not (value.isascii() and value.isdecimal()):
            raise SqlError(
                f"Invalid value {value} for property '{name}'",
                hint="It is a whole number; 0 is no limit.",
            )
        before = self[name]
        self.given[name] = value
        return before

    def without_effect(self, name: str) -> str:
        """Return why setting a property changes nothing; empty if it changes something."""
        if name in _OF_START:
            return f"It has no effect now: it is read at the start. Start with --set {name}=…."
        if name in _OF_STRICT and not self.strict:
            return f"It has no effect unless '{COMPATIBILITY}' is 'strict'."
        if name in _OF_SESSION:
            return ""
        return "It has no effect: Duolog does not use this property."

    def unset(self, name: str) -> str | None:
        """Go back to what holds without SET, and return what was set."""
        return self.given.pop(name, None)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return name, who said it, and value of each, sorted."""
        names = sorted({*DEFAULTS, *self.given})
        return [(name, "SESSION" if name in self.given else "", self[name] or "") for name in names]


_IN_FORCE: Final[ContextVar[Settings | None]] = ContextVar("settings in force", default=None)


@contextlib.contextmanager
def in_force(settings: Settings) -> Iterator[None]:
    """Let a statement that is run in this thread meanwhile be judged by these settings."""
    before = _IN_FORCE.set(settings)
    try:
        yield
    finally:
        _IN_FORCE.reset(before)


def settings_in_force() -> Settings:
    """Return the settings of the statement that is run, for what is far below it: types, properties, calls."""
    return _IN_FORCE.get() or Settings()
