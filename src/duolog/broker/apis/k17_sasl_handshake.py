"""SaslHandshake, API key 17, versions 0-1.

Behaviour: as Kafka on a PLAINTEXT listener, where no client is authenticated: ILLEGAL_SASL_STATE.
It is listed because librdkafka looks for it.

Source: Kafka `KafkaApis.handleSaslHandshakeRequest`, KIP-43.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.requests.api import Api
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.sasl_handshake.v0.request import SaslHandshakeRequest as Oldest
    from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest as Newest


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    del request
    context.reply({"error_code": ErrorCode.ILLEGAL_SASL_STATE, "mechanisms": []})


API = Api(key=17, name="SaslHandshake", versions=range(2), handle=handle)
