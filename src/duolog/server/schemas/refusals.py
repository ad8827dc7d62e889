"""Errors of a registry, as responses of the server.

not found                                        404
incompatible, or in a state that forbids it      409
not a schema, or another invalid request         400
the registry refuses the login of this server    502
anything else                                    502
no registry answers                              503
"""

from typing import Final

from duolog.core.errors import DuologError, RegistryError
from duolog.registry.client.requests import LoginRefused, Refused
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.source import RegistryAwayError
from duolog.server.administration.refusals import refused as refused_by_cluster
from duolog.server.errors import (
    BAD_GATEWAY,
    BAD_REQUEST,
    CONFLICT,
    NOT_FOUND,
    NOT_READY,
    RequestRefused,
)
from duolog.server.failures import message_of

_CODES: Final = {400: BAD_REQUEST, 404: NOT_FOUND, 409: CONFLICT, 422: BAD_REQUEST}


def refused(error: DuologError) -> RequestRefused:
    """Return the response for an error of a registry, or of its cluster."""
    match error:
        case LoginRefused():
            told = "The schema registry refuses the login of this server\n" + message_of(error)
            return RequestRefused(told, BAD_GATEWAY)
        case Refused():
            return RequestRefused(_told(error), _CODES.get(_status(error.code), BAD_GATEWAY))
        case RegistryAwayError():
            return RequestRefused(message_of(error), NOT_READY)
        case RegistryError():
            code = BAD_REQUEST if isinstance(error, InvalidSchemaError) else BAD_GATEWAY
            return RequestRefused(message_of(error), code)
        case _:
            return refused_by_cluster(error)


def _told(error: Refused) -> str:
    """Return the words of the registry: its number is of no use to a person."""
    return "\n".join(part for part in (error.message, error.hint) if part)


def _status(code: int) -> int:
    """Return the status of HTTP of a registry's error: 40401 is a 404."""
    return code if code < 1000 else code // 100
