"""A client of WebSockets without a socket, over a server in memory."""

import json
from typing import Any
from urllib.parse import quote

from websockets.client import ClientProtocol
from websockets.datastructures import Headers
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from unit.server.memory import MemoryServer

HOST = "127.0.0.1:8088"


def target(sql: str, **more: object) -> str:
    """Return the address of a query."""
    return f"/ws/query?request={quote(json.dumps({'ksql': sql, **more}))}"


class SocketClient:
    """One connection, which has asked for a WebSocket."""

    def __init__(self, server: MemoryServer, path: str, **headers: str) -> None:
        self.http = server.client()
        self.frames: list[Frame] = []
        self.protocol = ClientProtocol(parse_uri(f"ws://{HOST}{path}"))
        self.response: Response | None = None
        request = self.protocol.connect()
        request.headers.update(Headers({k.replace("_", "-"): v for k, v in headers.items()}))
        self.protocol.send_request(request)
        self._read = 0
        self.flush()

    @property
    def texts(self) -> list[str]:
        """The messages so far."""
        return [bytes(one.data).decode() for one in self.frames if one.opcode is Opcode.TEXT]

    @property
    def values(self) -> list[Any]:
        """The messages so far, from JSON."""
        return [json.loads(one) for one in self.texts]

    def flush(self) -> None:
        """Send what the protocol wants to send."""
        for data in self.protocol.data_to_send():
            if data and not self.http.transport.closed:
                self.http.send(data)

    def take(self) -> bool:
        """Read what the server has written; return true once it has sent the last frame."""
        written = self.http.transport.written
        new, self._read = written[self._read :], len(written)
        if new:
            self.protocol.receive_data(new)
        for event in self.protocol.events_received():
            if isinstance(event, Response):
                self.response = event
            else:
                assert isinstance(event, Frame)
                self.frames.append(event)
        self.flush()
        return self.protocol.close_rcvd is not None

    async def until_texts(self, count: int) -> list[Any]:
        """Return the messages once there are `count`."""
        await self.http.until(lambda: self.take() or len(self.texts) >= count)
        assert len(self.texts) >= count, self.texts
        return self.values

    async def until_opened(self) -> None:
        """Wait for the response of the handshake."""
        await self.http.until(lambda: self.take() or self.response is not None)

    async def end(self) -> tuple[int, str]:
        """Return code and reason of the server's close, once the connection is closed."""
        await self.http.until(self.take)
        await self.http.closed()
        found = self.protocol.close_rcvd
        assert found is not None, "the server has sent the close"
        return found.code, found.reason
