"""Principals, and the identity of a client: its principal and its address.

Source: Kafka `KafkaPrincipal`, `AuthorizableRequestContext`.
"""

from typing import Final, NamedTuple

USER: Final = "User"
ROLE: Final = "Role"
WILDCARD: Final = "*"


class Principal(NamedTuple):
    """A user or a role, written `User:alice`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> "Principal":
        """Read `KIND:NAME`; the name may contain colons.

        Raises:
            ValueError: the text has no colon, or nothing before or after it.

        Example:
            >>> Principal.parse("User:CN=alice,O=Ex:ample")
            Principal(kind='User', name='CN=alice,O=Ex:ample')
        """
        kind, colon, name = text.partition(":")
        if not (kind and colon and name):
            raise ValueError(f'"{text}" is not a principal of the form KIND:NAME')
        return cls(kind, name)


ANONYMOUS: Final = Principal(USER, "ANONYMOUS")
"""The principal of a client of a listener that does not authenticate."""


class Identity(NamedTuple):
    """A client, as an authorizer sees it."""

    principal: Principal
    host: str
    """The client's IP address, without a port."""
