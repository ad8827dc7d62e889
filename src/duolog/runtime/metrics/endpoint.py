"""Serve HTTP: /metrics for Prometheus, /health, /ready, and /applications for `duolog top`.

The process is healthy unless an application has failed. It is ready if an application runs and none
waits for a restart.
"""

import logging
import socket
from typing import TYPE_CHECKING

from duolog.broker.metrics.endpoint import Endpoint
from duolog.core.errors import ConfigError
from duolog.core.listening import open_listener, parse_address
from duolog.runtime.metrics.exposition import exposition
from duolog.runtime.metrics.local_registry import local_applications

if TYPE_CHECKING:
    from duolog.engine.query.query import RunningQuery

logger = logging.getLogger(__name__)


def serve_metrics(address: str) -> "ApplicationsEndpoint":
    """Serve the metrics of this process at `HOST:PORT` until closed; port 0 chooses a free port.

    Raises:
        ConfigError: the address is not a loopback address, or cannot be used.
    """
    try:
        listening = open_listener(parse_address(address, option="metrics"), insecure=False)
    except ConfigError as error:
        if "beyond loopback" in error.message:
            error.hint = "Listen on 127.0.0.1, behind a proxy that authenticates clients."
        raise
    return ApplicationsEndpoint(listening)


class ApplicationsEndpoint(Endpoint):
    """Reports all queries of this process."""

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(listening)
        logger.info("serving metrics", extra={"address": str(self.address)})

    def metrics(self) -> bytes | None:
        return "".join(exposition(local_applications())).encode()

    def alive(self) -> bool:
        return all(query.state != "failed" for query in _queries())

    def readiness(self) -> dict[str, bool]:
        states = [query.state for query in _queries()]
        return {"started": bool(states), "running": "restarting" not in states}

    def more(self, path: str) -> object | None:
        if path != "/applications":
            return None
        return [one.to_json() for one in local_applications()]


def _queries() -> "list[RunningQuery]":
    from duolog.engine.query.query_registry import running_queries  # noqa: PLC0415 - loaded once a query was started

    return running_queries()
