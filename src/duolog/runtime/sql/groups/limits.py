"""Limits of groups: the memory, queries and priority of each, and of all together.

    duolog.query.jvm.groups.max                 JVMs besides that of the server
    duolog.query.jvm.memory.bytes.max           heaps of these JVMs together; 0: no limit
    duolog.query.jvm.group.memory.bytes         heap of the JVM of a group
    duolog.query.jvm.group.heavy.memory.bytes   the same, of group heavy
    duolog.query.jvm.stop.timeout.ms            a query that has not stopped by then is killed
    duolog.query.jvm.answer.timeout.ms          a process that is silent for longer is killed

They are properties of the service, read once when it starts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from duolog.core.units import GIB, MIB
from duolog.ksql.errors import SqlError
from duolog.ksql.settings import QUARANTINE

_PREFIX: Final = "duolog.query.jvm."
_HEAP_BYTES_MIN: Final = 512 * MIB
"""Minimum of `driver.memory.bytes`."""
_NICE_MAX: Final = 19
SHARED_HEAP_BYTES: Final = 2 * GIB
"""Default of `driver.memory.bytes`."""


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """Limits of one group."""

    memory_bytes: int = GIB
    """Heap of its JVM."""
    queries_max: int = 100
    nice: int = 0
    """Priority of its processes, 0 to 19 as in `nice(1)`; higher numbers leave more to others."""


@dataclass(frozen=True, slots=True)
class JvmLimits:
    """Limits of all groups but the default one."""

    groups_max: int = 4
    memory_bytes_max: int = 0
    """Total of the heaps; 0: no limit."""
    stop_timeout_s: float = 15.0
    answer_timeout_s: float = 30.0
    given: Mapping[str, str] = field(default_factory=dict)
    """Properties of the service."""
    shared_heap_bytes: int = SHARED_HEAP_BYTES
    """Heap of the JVM of the server, and of the quarantine: it must be able to run its queries."""

    @classmethod
    def of_properties(
        cls, given: Mapping[str, str], shared_heap_bytes: int = SHARED_HEAP_BYTES
    ) -> "JvmLimits":
        """Return the limits in the properties of a service.

        Raises:
            SqlError: a value is not a whole number, or out of range.
        """
        plain = cls()
        limits = cls(
            _number(given, "groups.max", plain.groups_max),
            _number(given, "memory.bytes.max", plain.memory_bytes_max),
            _number(given, "stop.timeout.ms", int(plain.stop_timeout_s * 1000), least=1) / 1000,
            _number(given, "answer.timeout.ms", int(plain.answer_timeout_s * 1000), least=1) / 1000,
            given,
            shared_heap_bytes,
        )
        for name in given:
            group, dot, _ = name.removeprefix(f"{_PREFIX}group.").partition(".")
            if name.startswith(f"{_PREFIX}group.") and dot:
                limits.of(group)
        return limits

    def of(self, group: str) -> GroupLimits:
        """Return the limits of a group.

        Raises:
            SqlError: as `of_properties`.
        """
        plain = GroupLimits()
        heap = self._of(group, "memory.bytes", plain.memory_bytes, least=_HEAP_BYTES_MIN)
        if group.startswith(QUARANTINE) and setting_of(group, "memory.bytes") not in self.given:
            heap = self.shared_heap_bytes
        return GroupLimits(
            heap,
            self._of(group, "queries.max", plain.queries_max),
            self._of(group, "nice", plain.nice, most=_NICE_MAX),
        )

    def _of(
        self, group: str, name: str, otherwise: int, *, least: int = 0, most: int | None = None
    ) -> int:
        general = _number(self.given, f"group.{name}", otherwise, least=least, most=most)
        return _number(self.given, f"group.{group}.{name}", general, least=least, most=most)


def setting_of(group: str, name: str) -> str:
    """Return the property with a limit of a group.

    Example:
        >>> setting_of("heavy", "queries.max")
        'duolog.query.jvm.group.heavy.queries.max'
    """
    return f"{_PREFIX}group.{group}.{name}"


def _number(
    given: Mapping[str, str], name: str, otherwise: int, *, least: int = 0, most: int | None = None
) -> int:
    value = given.get(f"{_PREFIX}{name}")
    if value is None:
        return otherwise
    number = int(value) if value.isascii() and value.isdecimal() else -1
    if number < least or (most is not None and number > most):
        allowed = f"at least {least}" if most is None else f"from {least} to {most}"
        raise SqlError(
            f"Invalid value {value} for property '{_PREFIX}{name}'",
            hint=f"Use a whole number, {allowed}.",
        )
    return number
