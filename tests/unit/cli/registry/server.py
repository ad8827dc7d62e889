"""Commands with a registry in this process: its endpoints, without a network and a topic."""

from dataclasses import dataclass, field
from typing import Any

from duolog.registry.access.users import ANONYMOUS
from duolog.registry.client.requests import Address, Answer
from duolog.registry.errors import RequestError
from duolog.registry.http.gate import Call
from duolog.registry.http.messages import HttpRequest
from duolog.registry.http.parameters import Parameters
from duolog.registry.http.paths import segments, without_context
from duolog.registry.http.routes import Kind, find
from duolog.registry.json_text import dump, load
from duolog.registry.operations.asked import Asked
from duolog.registry.operations.table import READS, WRITES
from duolog.registry.rules.answers import to_json
from unit.registry.harness import Harness


@dataclass
class Server:
    """Answers the requests of commands."""

    harness: Harness = field(default_factory=Harness)
    asked: list[str] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    down: bool = False

    def send(
        self, address: Address, method: str, target: str, body: str | None, **_: object
    ) -> Answer:
        """Answer a request; see `duolog.registry.client.requests.send`."""
        if self.down:
            raise ConnectionRefusedError(111, "Connection refused")
        self.asked.append(f"{method} {target}")
        self.authorizations.append(address.authorization)
        try:
            return Answer(200, load(dump(self._answer(method, target, body))))
        except RequestError as error:
            return Answer(error.status, error.to_json())

    def _answer(self, method: str, target: str, body: str | None) -> Any:
        path, _, query = target.encode().partition(b"?")
        moved, parameters = without_context(segments(path), method, Parameters.read(query))
        endpoint, values = find(method, moved)
        call = Call(
            endpoint,
            values,
            parameters,
            None if body is None else load(body),
            ANONYMOUS,
            media_type="application/json",
            forwarded=False,
            request=HttpRequest(method, path, query),
        )
        asked = Asked(call, self.harness.registry)
        if endpoint.kind is Kind.READ:
            return to_json(READS[endpoint.operation](asked), extended=True)
        decision = WRITES[endpoint.operation](asked)
        return to_json(self.harness.commit(decision), extended=True)
