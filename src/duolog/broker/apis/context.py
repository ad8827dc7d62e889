"""What a handler gets: a request's context, or a connection, of the broker with all that it has."""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.requests import api, needs

RequestContext: TypeAlias = "api.RequestContext[Broker]"
Connection: TypeAlias = "needs.Connection[Broker]"
