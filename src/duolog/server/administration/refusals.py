"""Errors of a cluster, as responses of the server.

the broker refuses the request as invalid       400
this server's own login lacks the right         403
unknown user, topic, rule or broker             404
exists already, or is the last administrator    409
no broker answers                               503
"""

from typing import Final

from duolog.core.errors import DuologError, KafkaError
from duolog.runtime.errors import BrokerUnavailable, LoginRefused
from duolog.server.errors import (
    BAD_REQUEST,
    CONFLICT,
    FORBIDDEN,
    NOT_FOUND,
    NOT_READY,
    SERVER_ERROR,
    RequestRefused,
)
from duolog.server.failures import failure_of, message_of

_CODES: Final = {
    # librdkafka's, for a broker that does not answer
    **dict.fromkeys((-195, -193, -192, -187, -185), NOT_READY),
    # authorization of topics, groups, cluster and transactional ids; the login
    **dict.fromkeys((29, 30, 31, 53, 58), FORBIDDEN),
    3: NOT_FOUND,  # topic or partition
    91: NOT_FOUND,  # resource
    92: CONFLICT,  # duplicate resource
    # invalid topic, config, request, record or credential; policy violation; no authorizer
    **dict.fromkeys((17, 40, 42, 44, 54, 87, 93), BAD_REQUEST),
}


def refused(error: DuologError) -> RequestRefused:
    """Return the response for an error of a cluster."""
    told = message_of(error)
    match error:
        case RequestRefused():
            return error
        case BrokerUnavailable() | LoginRefused():
            return RequestRefused(told, NOT_READY)
        case KafkaError():
            return RequestRefused(told, _CODES.get(error.code, SERVER_ERROR))
        case _:
            return failure_of(error)
