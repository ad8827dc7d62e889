"""A server in memory over a registry in memory, at which it is the administrator."""

import asyncio
import json
from typing import TYPE_CHECKING, Any

from duolog.registry.client.admin import RegistryAdmin
from duolog.registry.client.requests import Address, Answer, Requests, addresses_of
from duolog.registry.client.source import HttpRegistry
from duolog.registry.json_text import Json
from duolog.security.authorization.acls import PatternType
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.schemas.place import RegistryPlace
from unit.registry.harness import string_record
from unit.registry.walk.world import World
from unit.server.administered import ORIGIN, USERS, access_by, rule
from unit.server.administered import Answer as Reply
from unit.server.memory import Access, MemoryServer, context

if TYPE_CHECKING:
    from collections.abc import Callable

SUBJECT = ResourceType.SUBJECT
ALL = access_by(rule("ann", Operation.ALL, SUBJECT, "*"))
"""ann may do everything with subjects, bob nothing."""
R1 = string_record("R1", "f")


def may(*operations: Operation, prefix: str = "open-") -> Access:
    """Return an access in which bob may do this with subjects of a prefix."""
    return access_by(
        rule("ann", Operation.ALL, SUBJECT, "*"),
        *(rule("bob", one, SUBJECT, prefix, PatternType.PREFIXED) for one in operations),
    )


READS = may(Operation.READ)


class Server:
    """A server over a registry in memory, at which it is the administrator."""

    def __init__(self, world: World, access: Access | None = ALL, **parts: Any) -> None:
        self.asked: list[str] = []
        loop = asyncio.get_running_loop()

        def send(address: Address, method: str, path: str, body: str | None) -> Answer:
            del address
            self.asked.append(f"{method} {path.partition('?')[0]}")
            sent = None if body is None else json.loads(body)
            asked = world.ask("admin", method, path, sent)
            found = asyncio.run_coroutine_threadsafe(asked, loop).result()
            return Answer(found.status, found.json)

        address = "http://registry:8081"
        requests = Requests(addresses_of(address), send, rounds=1)
        self.impact: Callable[..., Json] = lambda *_: {}
        place = RegistryPlace(
            RegistryAdmin(requests),
            HttpRegistry(address, requests),
            self._impact,
            parts.pop("has_login", True),
        )
        self.place = place
        self._access = access
        self._server = MemoryServer(context(access, registry=place, **parts))

    def _impact(self, *given: Any) -> Json:
        return self.impact(*given)

    async def ask(self, method: str, target: str, body: object = None, user: str = "ann") -> Reply:
        headers = {"Origin": ORIGIN}
        if self._access is not None:
            headers["Authorization"] = USERS[user]
        data = b"" if body is None else json.dumps(body).encode()
        reply = await self._server.client().ask(method, target, data, **headers)
        return Reply(reply.status, reply.body)

    async def json(self, target: str, user: str = "ann") -> Any:
        reply = await self.ask("GET", target, user=user)
        assert reply.status == 200, reply.text
        return reply.json


def draft(subject: str, schema: str = R1, **more: object) -> dict[str, object]:
    return {"subject": subject, "schema": schema, **more}
