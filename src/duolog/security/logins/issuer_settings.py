"""The settings of an issuer of tokens, which cost nothing to look at if there is none."""

from typing import Final, Protocol

ISSUER_SETTINGS: Final = (
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.expected.audience",
)


class Settings(Protocol):
    """The settings of a server, under Kafka's names."""

    def text(self, name: str) -> str: ...
    def integer(self, name: str) -> int: ...


def has_issuer(settings: Settings) -> bool:
    """Return whether an issuer is configured, wholly or in part."""
    return any(settings.text(name) for name in ISSUER_SETTINGS)
