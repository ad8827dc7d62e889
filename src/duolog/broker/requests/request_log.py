"""The request log: a line for each request, while the log level includes it.

It costs nothing when it is off: the handlers of the routes are exchanged when it is turned on.
"""

import dataclasses
import logging
from typing import TYPE_CHECKING, Any

from duolog.broker.requests.api import Api, FrameHandler, Handler

if TYPE_CHECKING:
    from duolog.broker.requests.api import RequestContext
    from duolog.broker.requests.needs import Connection

logger = logging.getLogger(__name__)


class RequestLog:
    """Turns the lines of the routes of routers on and off."""

    def __init__(self, *routes: dict[int, tuple[Api, bool]]) -> None:
        self._routes = routes
        self._quiet: list[dict[int, tuple[Api, bool]]] = []

    @property
    def on(self) -> bool:
        return bool(self._quiet)

    def toggle(self) -> None:
        if self._quiet:
            for routes, quiet in zip(self._routes, self._quiet, strict=True):
                routes.update(quiet)
            self._quiet = []
        else:
            self._quiet = [dict(routes) for routes in self._routes]
            for routes in self._routes:
                routes.update(
                    (code, (_told(api), flexible)) for code, (api, flexible) in routes.items()
                )
        logger.info("request log is on" if self.on else "request log is off")


def _told(api: Api) -> Api:
    return dataclasses.replace(
        api,
        handle=api.handle and _told_handler(api, api.handle),
        handle_frame=api.handle_frame and _told_frame_handler(api, api.handle_frame),
    )


def _told_handler(api: Api, handle: Handler) -> Handler:
    def tell(request: object, context: "RequestContext[Any]") -> None:
        logger.info(
            "request",
            extra={
                "api": api.name,
                "version": context.version,
                "correlation_id": context.header.correlation_id,
                "client": context.connection.address,
                "client_id": context.client_id,
                "listener": context.connection.listener,
                **({"content": "***"} if api.secret else {}),
            },
        )
        handle(request, context)

    return tell


def _told_frame_handler(api: Api, handle: FrameHandler) -> FrameHandler:
    def tell(
        connection: "Connection[Any]",
        frame: memoryview,
        version: int,
        correlation_id: int,
        position: int,
    ) -> None:
        logger.info(
            "request",
            extra={
                "api": api.name,
                "version": version,
                "correlation_id": correlation_id,
                "client": connection.address,
                "client_id": _client_id(frame),
                "listener": connection.listener,
                "size_bytes": len(frame),
            },
        )
        handle(connection, frame, version, correlation_id, position)

    return tell


def _client_id(frame: memoryview) -> str:
    size = max(0, int.from_bytes(frame[8:10], signed=True))
    return bytes(frame[10 : 10 + size]).decode("utf-8", "replace")
