"""The context that a handler receives: request and connection contexts for the whole broker."""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.requests import api, needs

RequestContext: TypeAlias = "api.RequestContext[Broker]"
Connection: TypeAlias = "needs.Connection[Broker]"
