"""Refuse a start in which rights would not mean what they say."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duolog.broker.network.endpoints import SSL, WITH_SASL, OpenEndpoint
from duolog.core.errors import ConfigError
from duolog.security.tls.settings import REQUIRED

if TYPE_CHECKING:
    from duolog.broker.settings import BrokerSettings


def ensure_rights_mean_users(
    settings: "BrokerSettings", endpoints: Sequence[OpenEndpoint], *, insecure: bool
) -> None:
    """Refuse an authorizer with a listener that does not authenticate, also on loopback.

    All clients of such a listener are User:ANONYMOUS, so that rules could distinguish only hosts,
    and a rule for User:* would open a resource to everyone who can connect.

    Raises:
        ConfigError: there is such a listener, and `insecure` is False.
    """
    if insecure or not settings.text("authorizer.class.name"):
        return
    for endpoint in endpoints:
        client_auth = settings.of_listener(endpoint.name, "ssl.client.auth")
        if not (
            endpoint.protocol in WITH_SASL or (endpoint.protocol == SSL and client_auth == REQUIRED)
        ):
            raise ConfigError(
                f'listener "{endpoint.name}" does not authenticate its clients, and '
                "authorizer.class.name is set",
                name="authorizer.class.name",
                detail="All its clients would be User:ANONYMOUS: rules could distinguish only "
                "their hosts.",
                hint="Use SASL_SSL, SASL_PLAINTEXT on loopback, or SSL with "
                "ssl.client.auth=required; or accept the risk with --insecure.",
            )
