"""The readers that a draft of a schema breaks, over HTTP: a client gets those that it may see."""

from typing import Any

from duolog.registry.json_text import Json
from duolog.security.authorization.acls import PatternType
from duolog.security.authorization.operations import Operation, ResourceType
from unit.registry.walk.world import World, walk
from unit.server.administered import access_by, rule
from unit.server.schema_server import SUBJECT, Server, draft

TOPIC, GROUP, SOURCE = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.SOURCE
REPORT: dict[str, Any] = {
    "subject": "open-a",
    "verdict": "breaks",
    "topics": ["open"],
    "readers": [
        {"kind": "stream", "name": "ORDERS", "service": "default_", "reads": "open",
         "verdict": "safe", "reasons": []},
        {"kind": "stream", "name": "VAULT", "service": "default_", "reads": "open",
         "verdict": "breaks", "reasons": []},
        {"kind": "query", "name": "CSAS_X_1", "service": "default_", "reads": "ORDERS",
         "verdict": "breaks", "reasons": []},
        {"kind": "group", "name": "billing", "reads": "open", "verdict": "safe", "reasons": []},
    ],
    "records": {"read": 1, "broken": [], "unreadable": 0},
    "notes": ['SQL engine "other" cannot be inspected: it is damaged'],
}  # fmt: skip


def test_the_impact_shows_the_readers_that_the_client_may_see() -> None:
    async def scenario(world: World) -> None:
        access = access_by(
            rule("ann", Operation.ALL, SUBJECT, "*"),
            rule("bob", Operation.READ, SUBJECT, "open-", PatternType.PREFIXED),
            rule("bob", Operation.READ, TOPIC, "open"),
            rule("bob", Operation.DESCRIBE, GROUP, "billing"),
            rule("bob", Operation.DESCRIBE, SOURCE, "default_.ORDERS"),
        )
        server = Server(world, access)
        seen: list[tuple[str, bool]] = []

        def impact(subject: str, schema: Any, source: Any, records: int, visible: Any) -> Json:
            assert (subject, schema.language.value, records) == ("open-a", "AVRO", 7)
            assert source.by_id(1) is not None
            seen.extend((one, visible.may_read_topic(one)) for one in ("open", "salaries"))
            seen.extend((one, visible.may_see_group(one)) for one in ("billing", "payroll"))
            return REPORT

        server.impact = impact
        body = {**draft("open-a"), "records": 7}
        answer = (await server.ask("POST", "/v1/schemas/impact", body, "bob")).json

        assert seen == [("open", True), ("salaries", False), ("billing", True), ("payroll", False)]
        assert [one["name"] for one in answer["readers"]] == ["ORDERS", "billing"]
        assert answer["verdict"] == "unknown"
        assert answer["notes"] == ["readers that you may not see are left out"]

    walk(scenario)


def test_without_users_the_impact_is_whole() -> None:
    async def scenario(world: World) -> None:
        server = Server(world, None, has_login=False)
        server.impact = lambda *_: REPORT

        answer = await server.ask("POST", "/v1/schemas/impact", draft("open-a"))

        assert answer.json == REPORT

    walk(scenario)
