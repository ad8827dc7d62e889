"""Let the kernel reach registries that are in this process, over HTTP on loopback.

    mock://test ──▶ the registry's rules           Python asks them
         └────────▶ http://127.0.0.1:port/… ──▶ the same rules      the kernel asks this address

One server answers for all registries of the process. It starts with the first one and ends with the
process.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import parse_qs, quote, unquote, urlsplit

from duolog.engine.in_memory import shared_session
from duolog.plan.formats import REGISTRY
from duolog.plan.nodes import Plan, Sink
from duolog.plan.nodes.topics import Source
from duolog.registry.errors import RequestError
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.source import source_at

_SCHEME: Final = "mock://"
_ID: Final = "/schemas/ids/"
_GUID: Final = "/schemas/guids/"
_SUBJECTS: Final = "/subjects/"
_SUBJECTS_OF_ID: Final = "/subjects"

_lock = threading.Lock()
_server: "_Server | None" = None
_uses: Final[Counter[str]] = Counter()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.registries: dict[str, InProcessRegistry] = {}
        threading.Thread(target=self.serve_forever, name="duolog-registries", daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        _, name, path = parts.path.split("/", 2)
        form = parse_qs(parts.query).get("format", [""])[0]
        status: int = 200
        body: object
        try:
            body = _answer(self.server.registries[name], f"/{path}", form)
        except KeyError:
            status, body = 404, {"message": "no plan uses this registry"}
        except RequestError as error:
            status, body = error.status, error.to_json()
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Write no log."""


def _answer(registry: InProcessRegistry, path: str, form: str) -> object:
    if path.startswith(_ID) and path.endswith(_SUBJECTS_OF_ID):
        schema_id = path.removeprefix(_ID).removesuffix(_SUBJECTS_OF_ID)
        return registry.answer_subjects(int(schema_id))
    if path.startswith(_ID):
        return registry.answer_by_id(int(path.removeprefix(_ID)), form)
    if path.startswith(_GUID):
        return registry.answer_by_guid(path.removeprefix(_GUID), form)
    subject, _, version = path.removeprefix(_SUBJECTS).rpartition("/versions/")
    return registry.answer_by_version(unquote(subject), version, form)


def let_kernel_reach(plan: Plan) -> list[str]:
    """Let the kernel reach the registries of a plan that are in this process.

    Returns:
        The addresses, for `withdraw_from_kernel`.
    """
    found = sorted(_addresses(plan))
    if found:
        kernel = shared_session().kernel("SchemaRegistry")
        for address in found:
            kernel.provide(address, serve(address))
            _uses[address] += 1
    return found


def withdraw_from_kernel(addresses: Iterable[str]) -> None:
    """Forget the schemas of registries that no plan uses any more."""
    for address in addresses:
        _uses[address] -= 1
        if not _uses[address]:
            shared_session().kernel("SchemaRegistry").withdraw(address)
            if _server is not None:
                _server.registries.pop(quote(address, safe=""), None)


def _addresses(plan: Plan) -> set[str]:
    formats = [
        of
        for node in plan.nodes
        if isinstance(node, Source | Sink)
        for of in (node.key_format, node.value_format)
    ]
    given = {of.option(REGISTRY) for of in formats}
    return {one for one in given if one is not None and one.startswith(_SCHEME)}


def serve(address: str) -> str:
    """Return the HTTP address of a registry in this process, for the kernel."""
    global _server  # noqa: PLW0603 - one for the process
    registry = source_at(address)
    assert isinstance(registry, InProcessRegistry), registry
    with _lock:
        _server = _server or _Server()
    name = quote(address, safe="")
    _server.registries[name] = registry
    return f"http://127.0.0.1:{_server.server_port}/{name}"
