"""SaslHandshake, API key 17, versions 0-1.

Behaviour: chooses a SASL mechanism. A mechanism that is not enabled is answered with those that
are, and the connection is closed. On a listener whose clients do not log in: ILLEGAL_SASL_STATE,
as from Kafka. Version 0, after which SASL messages follow without headers, is refused by closing.

It is listed on every listener because librdkafka looks for it.

Source: Kafka `SaslServerAuthenticator`, `KafkaApis.handleSaslHandshakeRequest`; KIP-43, KIP-152.
"""

import logging
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.requests.api import Api
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.sasl_handshake.v0.request import SaslHandshakeRequest as Oldest
    from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest as Newest


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    broker, connection = context.broker, context.connection
    if connection.listener not in broker.entrances.gated:
        context.reply({"error_code": ErrorCode.ILLEGAL_SASL_STATE, "mechanisms": []})
        return
    if context.version == 0:
        connection.close("SaslHandshake version 0 is not supported", level=logging.WARNING)
        return
    answer = broker.security.logins.of(connection).handshake(request.mechanism)
    context.reply({"error_code": answer.error_code, "mechanisms": list(answer.mechanisms)})


API = Api(key=17, name="SaslHandshake", versions=range(2), handle=handle, exempt=True)
