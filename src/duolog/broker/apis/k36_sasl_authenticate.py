"""SaslAuthenticate, API key 36, versions 0-2.

Behaviour: takes the client's messages of the mechanism that SaslHandshake chose. A failure has one
code and one text, whatever its reason; it is answered after a delay, and the connection is closed.
On a listener whose clients do not log in: ILLEGAL_SASL_STATE, as from Kafka.

v1  lifetime of the session (KIP-368)       v2 flexible

Source: Kafka `SaslServerAuthenticator`, `KafkaApis.handleSaslAuthenticateRequest`; KIP-152.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.requests.api import Api
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.sasl_authenticate.v0.request import SaslAuthenticateRequest as Oldest
    from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest as Newest

    from duolog.broker.identity.login import Authenticated


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    broker, connection = context.broker, context.connection
    if connection.listener not in broker.entrances.gated:
        context.reply(
            {
                "error_code": ErrorCode.ILLEGAL_SASL_STATE,
                "error_message": "this listener does not authenticate clients",
            }
        )
        return

    def answer(result: "Authenticated") -> None:
        context.reply(
            {
                "error_code": result.error_code,
                "error_message": result.error_message,
                "auth_bytes": result.auth_bytes,
                "session_lifetime": result.session_lifetime_ms,
            }
        )

    broker.security.logins.of(connection).authenticate(bytes(request.auth_bytes), answer)


API = Api(
    key=36, name="SaslAuthenticate", versions=range(3), handle=handle, exempt=True, secret=True
)
