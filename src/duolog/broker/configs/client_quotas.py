"""Quotas of clients: stored, described and changed; `broker.quotas` enforces them.

An entity is a user, a client id or both, or an IP address; the name None means the default for all
entities without their own quota.

On disk: `client-quotas` in the data directory, JSON: [{"entity": {kind: name}, "quotas": {key:
value}}]. A quota that this version does not know is left out, and the log names it.

Threads: the loop; `write` of a change runs in a helper thread.

Source: Kafka `ClientQuotaControlManager`, `ClientQuotasImage`; KIP-546, KIP-612.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.broker.controller import Change
from duolog.broker.quotas.entities import (
    CLIENT_ID,
    CONNECTIONS,
    FETCH,
    IP,
    MUTATION,
    PRODUCE,
    REQUEST,
    USER,
    Entity,
)
from duolog.core.errors import KafkaError
from duolog.core.units import INT32_MAX, INT64_MAX
from duolog.log.errors import CorruptLog
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from duolog.log.log_manager import LogManager

logger = logging.getLogger(__name__)

FILE: Final = "client-quotas"
_HINT: Final = "Restore it from a copy, or remove it: then there are no quotas."
SUBJECT: Final = "/quotas"

EXACT, DEFAULT, ANY = 0, 1, 2
"""The way in which a filter component matches an entity name."""

_FRACTION_MAX: Final = 1e-6
_OF_CLIENTS: Final[Mapping[str, int | None]] = {
    PRODUCE: INT64_MAX,
    FETCH: INT64_MAX,
    REQUEST: None,
    MUTATION: None,
}
_OF_ADDRESSES: Final[Mapping[str, int | None]] = {CONNECTIONS: INT32_MAX}
"""The maximum of each integer quota; None if the quota may have a fraction."""

Stored = dict[Entity, dict[str, float]]


class Component(NamedTuple):
    """One condition of a filter."""

    kind: str
    how: int
    name: str | None


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """Return the entity of kinds and names; the later of two names of a kind wins, as in Kafka."""
    return tuple(sorted(dict(parts).items()))


class ClientQuotas:
    """The quotas of one broker."""

    def __init__(
        self, log_manager: "LogManager", on_change: Callable[[Stored], None] = lambda _: None
    ) -> None:
        """Read the file; `on_change` is called with the quotas now, and when they are changed.

        Raises:
            CorruptLog: it cannot be understood.
        """
        self._log_manager = log_manager
        self._on_change = on_change
        self._quotas = _usable(_decode(log_manager.read_meta(FILE, hint=_HINT) or b"[]"))
        on_change(self._quotas)

    def find(
        self, components: Iterable[Component], *, strict: bool
    ) -> Iterator[tuple[Entity, Mapping[str, float]]]:
        """Yield entities that every component matches; strictly those with no other kind."""
        components = list(components)
        for entity, quotas in self._quotas.items():
            names = dict(entity)
            if all(_matches(component, names) for component in components) and not (
                strict and len(names) > len(components)
            ):
                yield entity, quotas

    def changing(self, entity: Entity, operations: Mapping[str, float | None]) -> Change:
        """Return the change that sets quotas of an entity, and removes those that are None.

        Raises:
            KafkaError: INVALID_REQUEST, there is no such entity or it has no such quota.
        """
        known = _quotas_of(entity)
        for key, value in operations.items():
            if value is not None:
                _check_value(known, key, value)
        quotas = {other: dict(found) for other, found in self._quotas.items()}
        changed = quotas.pop(entity, {})
        for key, value in operations.items():
            if value is None:
                changed.pop(key, None)
            else:
                changed[key] = value
        if changed:
            quotas[entity] = changed

        def write() -> None:
            self._log_manager.write_meta(FILE, _encode(quotas))

        def apply() -> Iterable[None]:
            self._quotas = quotas
            self._on_change(quotas)
            return ()

        return Change(write, None, apply)


def check_components(components: Iterable[Component]) -> None:
    """Refuse a filter that Kafka would refuse.

    Raises:
        KafkaError: INVALID_REQUEST, or UNSUPPORTED_VERSION for an unknown kind of entity.
    """
    kinds: set[str] = set()
    for kind, how, name in components:
        if not kind:
            raise _invalid("a component of the filter names no kind of entity")
        if kind in kinds:
            raise _invalid(f'kind "{kind}" is in the filter twice')
        kinds.add(kind)
        if how not in {EXACT, DEFAULT, ANY}:
            raise _invalid(f"unknown match type {how}")
        if (how == EXACT) != (name is not None):
            raise _invalid(f'kind "{kind}" is matched exactly by a name, and otherwise without one')
    if kinds - {USER, CLIENT_ID, IP}:
        raise KafkaError(
            f"unknown kinds of entities: {', '.join(sorted(kinds - {USER, CLIENT_ID, IP}))}",
            code=ErrorCode.UNSUPPORTED_VERSION,
        )
    if IP in kinds and len(kinds) > 1:
        raise _invalid("an address has no user and no client id")


def _matches(component: Component, names: Mapping[str, str | None]) -> bool:
    if component.kind not in names:
        return False
    name = names[component.kind]
    if component.how == EXACT:
        return name == component.name
    return name is None if component.how == DEFAULT else True


def _quotas_of(entity: Entity) -> Mapping[str, int | None]:
    names = dict(entity)
    if not names:
        raise _invalid("entity of a quota is empty")
    for kind, name in entity:
        if kind not in {USER, CLIENT_ID, IP}:
            raise _invalid(f'unknown kind of entity "{kind}"')
        if name == "":
            raise _invalid(f'entity "{kind}" has an empty name')
    if IP not in names:
        return _OF_CLIENTS
    if len(names) > 1:
        raise _invalid("an address has no user and no client id")
    _check_address(names[IP])
    return _OF_ADDRESSES


def _check_address(address: str | None) -> None:
    if address is None or address == "localhost":
        return
    try:
        ip_address(address)
    except ValueError:
        raise _invalid(f'"{address}" is not an IP address') from None


def _check_value(known: Mapping[str, int | None], key: str, value: float) -> None:
    if key not in known:
        raise _invalid(f'unknown quota "{key}"; there are {", ".join(known)}')
    if not value > 0:
        raise _invalid(f'quota "{key}" must be above 0, not {value}')
    largest = known[key]
    if largest is None:
        return
    if value > largest:
        raise _invalid(f'quota "{key}" is too large: {value}')
    if value % 1.0 > _FRACTION_MAX:
        raise _invalid(f'quota "{key}" must be a whole number, not {value}')


def _invalid(message: str) -> KafkaError:
    return KafkaError(message, code=ErrorCode.INVALID_REQUEST)


def _encode(quotas: Stored) -> bytes:
    rows = [{"entity": dict(entity), "quotas": found} for entity, found in quotas.items()]
    return json.dumps(rows, indent=1).encode()


def _decode(data: bytes) -> Stored:
    try:
        return {
            entity_of(row["entity"].items()): {
                str(key): float(value) for key, value in row["quotas"].items()
            }
            for row in json.loads(data)
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptLog(
            f'file "{FILE}" of the data directory cannot be read',
            detail=str(error),
            hint=_HINT,
        ) from error


def _usable(stored: Stored) -> Stored:
    """Return the quotas that could be set today; log each of the others."""
    usable: Stored = {}
    for entity, quotas in stored.items():
        for key, value in quotas.items():
            try:
                _check_value(_quotas_of(entity), key, value)
            except KafkaError as error:
                logger.error(  # noqa: TRY400  The error is for an operator, without a trace.
                    "a stored quota cannot be used, and is left out",
                    extra={"entity": dict(entity), "quota": key, "error": error.message},
                )
            else:
                usable.setdefault(entity, {})[key] = value
    return usable
