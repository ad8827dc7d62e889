"""A server in memory over a broker in memory: its users, rules and settings."""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from duolog.runtime.administration.administration import Administration
from duolog.security.authorization.acl_authorizer import AclAuthorizer
from duolog.security.authorization.acls import Acl, PatternType, Permission
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity
from duolog.security.identity.principal import ANONYMOUS, USER, Principal
from duolog.security.records.records import Change, RoleMemberChange
from duolog.security.state.security_state import ADMINISTRATORS, SecurityState
from duolog.server.access.authentication import UserAuthentication
from duolog.server.access.sessions import Sessions
from unit.broker.conftest import Client as BrokerClient
from unit.broker.conftest import Harness
from unit.server.memory import Access, MemoryServer, context
from unit.server.users import ANN, BOB, Authenticator, Clock

USERS = {"ann": ANN, "bob": BOB, "": ""}
ORIGIN = "http://127.0.0.1:8088"


class MemoryWire:
    """A connection to a broker in memory, in place of `Wire`."""

    def __init__(self, client: BrokerClient) -> None:
        self._client = client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None: ...

    def ask(self, key: int, version: int, /, **fields: Any) -> Any:
        return self._client.ask(key, version, **fields)


def rule(
    user: str,
    operation: Operation,
    kind: ResourceType = ResourceType.CLUSTER,
    name: str = CLUSTER_NAME,
    pattern: PatternType = PatternType.LITERAL,
) -> Acl:
    """Return a rule that allows a user something."""
    return Acl(kind, pattern, name, Principal(USER, user), "*", operation, Permission.ALLOW)


def access_by(*rules: Acl) -> Access:
    """Return the access of a server whose users, ann and bob, have these rights."""
    state = SecurityState()
    for one in rules:
        state.acls.add(one)
    authorizer = AclAuthorizer(state.acls)
    sessions = Sessions(Clock(), lambda _: 0)
    return Access(UserAuthentication(Authenticator(), lambda: authorizer, sessions), sessions)


class Answer:
    """A response of JSON."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.text = body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def message(self) -> str:
        return str(self.json["message"])


Ask = Callable[..., Answer]


def asker(access: Access | None, **parts: Any) -> Ask:
    """Return a function that sends one request of a user to a server with these parts."""

    def ask(method: str, target: str, body: object = None, user: str = "ann") -> Answer:
        async def run() -> Answer:
            made = {name: part() if callable(part) else part for name, part in parts.items()}
            server = MemoryServer(context(access, **made))
            headers = {"Origin": ORIGIN}
            if access is not None and USERS[user]:
                headers["Authorization"] = USERS[user]
            data = b"" if body is None else json.dumps(body).encode()
            reply = await server.client().ask(method, target, data, **headers)
            return Answer(reply.status, reply.body)

        return asyncio.run(run())

    return ask


@contextmanager
def cluster(path: Path, **settings: str) -> Iterator[Harness]:
    """Run a broker whose connections are those of an administrator."""
    harness = Harness(path / "data", {"durability": "os", **settings})
    try:
        harness.broker.security.load()
        change = RoleMemberChange(ADMINISTRATORS, ANONYMOUS, present=True)
        harness.broker.security.state.apply(change)
        yield harness
    finally:
        harness.stop()


def administration(harness: Harness, security: ClientSecurity | None = None) -> Administration:
    """Return the administration of a broker in memory; `security` is the server's login."""
    state = harness.broker.security.state

    def append(changes: Iterable[Change]) -> None:
        for change in changes:
            state.apply(change)

    def connect(_brokers: Brokers) -> Any:
        return MemoryWire(harness.client())

    return Administration(Brokers("127.0.0.1:9092", security), connect, lambda: state, append)
