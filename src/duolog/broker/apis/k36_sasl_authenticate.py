"""SaslAuthenticate, API key 36, versions 0-2.

Behaviour: as Kafka on a PLAINTEXT listener, where no client is authenticated: ILLEGAL_SASL_STATE.

v1  lifetime of the session       v2 flexible

Source: Kafka `KafkaApis.handleSaslAuthenticateRequest`, KIP-152.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.requests.api import Api
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.sasl_authenticate.v0.request import SaslAuthenticateRequest as Oldest
    from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest as Newest


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    del request
    context.reply(
        {
            "error_code": ErrorCode.ILLEGAL_SASL_STATE,
            "error_message": "this listener does not authenticate clients",
        }
    )


API = Api(key=36, name="SaslAuthenticate", versions=range(3), handle=handle)
