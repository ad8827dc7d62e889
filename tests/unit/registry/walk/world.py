"""A registry that leads, with users of a cluster: its whole way of a request, without sockets."""

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from joserfc import jws
from joserfc.jwk import RSAKey

from duolog.registry.access.authentication import ClusterAuthentication
from duolog.registry.http.gate import Gate
from duolog.registry.http.hosts import AllowedHosts
from duolog.registry.http.messages import HttpRequest, HttpResponse
from duolog.registry.process import server_answers
from duolog.registry.records import BARRIER, encode
from duolog.registry.service.leadership import Leadership
from duolog.registry.service.replica import Replica
from duolog.registry.service.service import RegistryService, Visible
from duolog.registry.store.stored import NewRecord
from duolog.schemas.schema import Schema
from duolog.schemas.source import SchemaSource
from duolog.security.authorization.acl_authorizer import AclAuthorizer
from duolog.security.authorization.acls import Acl, PatternType, Permission
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.credentials.scram import ScramMechanism, credential, salted_password
from duolog.security.credentials.tokens import Token, digest_of, new_token
from duolog.security.identity.principal import Principal
from duolog.security.logins.audit import Audit
from duolog.security.logins.authenticator import StoreAuthenticator
from duolog.security.logins.login_limits import LoginLimits
from duolog.security.logins.mechanisms import Mechanisms, no_sasl
from duolog.security.records.records import (
    AclChange,
    RoleMemberChange,
    ScramChange,
    TokenChange,
)
from duolog.security.sasl.jwt import Keys, Rules, verify
from duolog.security.state.security_state import ADMINISTRATORS, SecurityState
from duolog.testing.clock import FakeClock
from unit.registry.harness import registry_of, string_record
from unit.registry.service.fakes import MemoryTopic
from unit.registry.turns import until

if TYPE_CHECKING:
    from duolog.registry.election.leaders import Leaders
    from duolog.registry.rules import Registry

SHA_256 = ScramMechanism.SCRAM_SHA_256
READING = (Operation.READ, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)
GRANTED: Final = {
    "nobody": (),
    "reader": READING,
    "writer": (*READING, Operation.WRITE, Operation.DELETE, Operation.ALTER_CONFIGS),
}
"""The operations of each user on subjects that begin with `open-`."""
SUBJECTS: Final = ("open-a", "open-b", "secret", ":.hidden:open-a", ":.hidden:secret")
USERS: Final = (*GRANTED, "admin")
KEY = RSAKey.generate_key(2048, {"kid": "one"})
FOREIGN_KEY = RSAKey.generate_key(2048, {"kid": "one"})
RULES = Rules("https://issuer.example", frozenset({"duolog"}), 0)


class Asked(NamedTuple):
    """An answer without what differs between any two requests."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...]

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    def without(self, *names: str) -> "Asked":
        """Return the answer with these names replaced, to compare two of them."""
        body = self.body.decode()
        for name in names:
            body = re.sub(rf"\b{re.escape(name)}\b", "?", body)
        return self._replace(body=body.encode())


def basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


class World:
    """The registry, its users, and their tokens."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.state = SecurityState()
        self.rules: Registry = registry_of()
        self.topic = MemoryTopic()
        self.tokens = {user: self.add_token(user) for user in USERS}
        self.state.apply(RoleMemberChange(ADMINISTRATORS, Principal("User", "admin"), present=True))
        for user, operations in GRANTED.items():
            for operation in operations:
                self.allow(user, operation, "open-", pattern=PatternType.PREFIXED)
        self._build()

    def _build(self) -> None:
        audit = Audit(self.clock)
        self.authorizer = AclAuthorizer(
            self.state.acls, super_users=[ADMINISTRATORS], on_refusal=audit.denied
        )
        mechanisms = Mechanisms(self.state, no_sasl, self.clock.now_ms, lambda _: self._verify)
        self.authenticator = StoreAuthenticator(
            lambda: mechanisms, LoginLimits(self.clock), audit, self.clock, "registry"
        )
        replica = Replica(
            lambda record: self.rules.replay(
                record.key, record.value, timestamp=record.timestamp_ms
            )
        )
        replica.attach(asyncio.get_running_loop())
        self.topic.replicas.append(replica)
        self.leadership = Leadership(replica, self.topic.open_writer, NewRecord(*encode(BARRIER)))
        self.service = RegistryService(
            self.rules,
            replica,
            self.leadership,
            leaders=cast("Leaders", None),
            url="http://localhost:8081",
            server=server_answers("cluster", "group", "1", lambda: {"source": "cluster"}),
            impact=_impact,
        )
        authentication = ClusterAuthentication(self.authenticator, lambda: self.authorizer)
        self._gate = Gate(AllowedHosts([]), authentication, self.service.handle)

    def _verify(self, text: str) -> tuple[Principal, int]:
        keys = Keys({"keys": [KEY.as_dict(private=False)]})
        return verify(text, keys, RULES, self.clock.now_ms() / 1000)

    def allow(
        self,
        user: str,
        operation: Operation,
        name: str,
        *,
        pattern: PatternType = PatternType.LITERAL,
        permission: Permission = Permission.ALLOW,
        host: str = "*",
        kind: ResourceType = ResourceType.SUBJECT,
    ) -> None:
        principal = Principal("User", user)
        acl = Acl(kind, pattern, name, principal, host, operation, permission)
        self.state.apply(AclChange(acl, present=True))

    def add_token(self, user: str, expires_at_ms: int | None = None) -> str:
        text = new_token(f"{user:<32}".encode())
        token = Token(digest_of(text), Principal("User", user), 0, expires_at_ms)
        self.state.apply(TokenChange(token.token_id, token))
        return text

    def add_password(self, user: str, password: str) -> None:
        salted = salted_password(SHA_256, password, b"salt", 4096)
        self.state.apply(ScramChange(user, SHA_256, credential(SHA_256, salted, b"salt", 4096)))

    def jwt(self, key: RSAKey = KEY, **claims: Any) -> str:
        now_s = self.clock.now_ms() / 1000
        whole = {"iss": RULES.issuer, "aud": "duolog", "sub": "reader", "exp": now_s + 60, **claims}
        return jws.serialize_compact({"alg": "RS256", "kid": "one"}, json.dumps(whole), key)

    async def send(
        self, authorization: str | None, method: str, target: str, body: Any = None
    ) -> Asked:
        """Send a request with a header Authorization."""
        headers = {"host": "localhost:8081", "content-type": "application/json"}
        if authorization is not None:
            headers["authorization"] = authorization
        path, _, query = target.encode().partition(b"?")
        sent = b"" if body is None else json.dumps(body).encode()
        request = HttpRequest(method, path, query, headers, sent, "10.0.0.7:4242")
        return _asked(await self._gate.answer(request))

    async def ask(self, user: str, method: str, target: str, body: Any = None) -> Asked:
        """Send a request of a user."""
        return await self.send(f"Bearer {self.tokens[user]}", method, target, body)

    async def fill(self) -> None:
        """Register subjects that users may see, and others that they may not."""
        self.leadership.gain()
        await until(lambda: self.leadership.writer is not None)
        for number, subject in enumerate(SUBJECTS, 1):
            await self.register(subject, string_record(f"R{number}", "f"))
        await self.register("secret", string_record("R3", "f", optional=("g",)))
        await self.must("PUT", "/config/secret", {"compatibility": "FULL"})
        await self.must("PUT", "/mode/secret", {"mode": "READWRITE"})
        for number, subject in enumerate(("open-b", "secret")):
            await self.must(
                "POST",
                "/associations",
                {
                    "resourceName": f"topic-{subject}",
                    "resourceNamespace": "-",
                    "resourceId": f"id-{number}",
                    "associations": [{"subject": subject, "lifecycle": "WEAK"}],
                },
            )

    async def register(self, subject: str, schema: str, **fields: Any) -> int:
        path = f"/subjects/{subject}/versions"
        found: int = (await self.must("POST", path, {"schema": schema, **fields}))["id"]
        return found

    async def must(self, method: str, target: str, body: Any = None) -> Any:
        """Ask as the administrator."""
        answer = await self.ask("admin", method, target, body)
        assert answer.status in {200, 204, 207}, answer
        return answer.json

    async def stop(self) -> None:
        await self.leadership.stop()
        self.service.close()
        self.authenticator.close()


def _impact(
    subject: str, schema: Schema, source: SchemaSource, records: int, visible: Visible
) -> Any:
    """Return what the client may see of two topics and groups."""
    del subject, schema, source, records
    return {
        "topics": [name for name in ("open", "salaries") if visible.may_read_topic(name)],
        "groups": [name for name in ("open", "payroll") if visible.may_see_group(name)],
    }


def _asked(response: HttpResponse) -> Asked:
    headers = tuple(row for row in response.headers if row[0] != "X-Request-ID")
    return Asked(response.status, response.body, (*headers, ("type", response.media_type)))


def walk(scenario: Callable[[World], Awaitable[None]]) -> None:
    """Run a scenario in a world of its own."""

    async def whole() -> None:
        world = World()
        try:
            await world.fill()
            await scenario(world)
        finally:
            await world.stop()

    asyncio.run(whole())
