"""The registry of a server: how it is asked, and what a new schema would break."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from duolog.registry.client.admin import RegistryAdmin
from duolog.registry.client.requests import Requests, addresses_of, send
from duolog.registry.client.source import HttpRegistry
from duolog.runtime.impact.of_registry import impact_in

if TYPE_CHECKING:
    from duolog.registry.service.service import Impact
    from duolog.security.clients.brokers import Brokers

TIMEOUT_S: Final = 5.0
"""A client of the server waits for the answer: the addresses are tried once."""


@dataclass(frozen=True, slots=True)
class RegistryPlace:
    """One registry.

    Attributes:
        admin: asks it, with the login of the server.
        source: the same for serdes; it keeps what never changes.
        impact: computes what a new schema would break.
        has_login: whether the server logs in there, so that it may have rights of its own.
    """

    admin: RegistryAdmin
    source: HttpRegistry
    impact: "Impact"
    has_login: bool

    @classmethod
    def at(cls, address: str, brokers: "Brokers") -> Self:
        """Return the registry at an address without users, for a cluster.

        Raises:
            ConfigError: the address is not one of a registry.
        """
        addresses = addresses_of(address)
        requests = Requests(addresses, partial(send, timeout_s=TIMEOUT_S), rounds=1)
        return cls(
            RegistryAdmin(requests),
            HttpRegistry(address, requests),
            impact_in(brokers),
            any(one.authorization for one in addresses),
        )
