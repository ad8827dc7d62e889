"""Ways around the rights: aliases, contexts, ids, references and associations."""

import json
import logging
from typing import Any

import pytest

from duolog.security.authorization.acls import Permission
from duolog.security.authorization.operations import Operation, ResourceType
from unit.registry.harness import string_record
from unit.registry.walk.world import World, walk

SCHEMA = {"schema": string_record("New", "f")}


def test_an_alias_leads_neither_to_a_hidden_subject_nor_to_one_that_may_not_be_changed() -> None:
    async def scenario(world: World) -> None:
        await world.must("PUT", "/config/open-alias", {"alias": "secret"})
        paths = ("versions", "versions/1", "versions/latest/schema", "metadata")
        written = len(world.topic.records)

        for path in paths:
            answer = await world.ask("reader", "GET", f"/subjects/open-alias/{path}")
            other = await world.ask("reader", "GET", f"/subjects/open-none/{path}")
            assert answer.without("open-alias") == other.without("open-none")
        for method, target, body in (
            ("POST", "/subjects/open-alias/versions", SCHEMA),
            ("DELETE", "/subjects/open-alias", None),
            ("DELETE", "/subjects/open-alias/versions/1", None),
            ("POST", "/subjects/open-alias/versions/1/tags", {"tagsToAdd": []}),
        ):
            assert (await world.ask("writer", method, target, body)).status == 403
        assert len(world.topic.records) == written
        assert (await world.ask("writer", "DELETE", "/config/open-alias")).status == 200

    walk(scenario)


def test_an_alias_may_not_be_set_to_a_hidden_subject() -> None:
    async def scenario(world: World) -> None:
        for alias in ("secret", ":.:secret", ":.hidden:open-a", "missing"):
            answer = await world.ask("writer", "PUT", "/config/open-a", {"alias": alias})
            assert answer.status == 403
        assert (
            await world.ask("writer", "PUT", "/config/open-a", {"alias": "open-b"})
        ).status == 200

    walk(scenario)


def test_a_name_without_a_context_does_not_lead_to_a_hidden_context() -> None:
    async def scenario(world: World) -> None:
        await world.register(":.hidden:open-z", string_record("R9", "f"))

        for path in ("versions/1", "versions/latest", "versions/1/referencedby"):
            answer = await world.ask("reader", "GET", f"/subjects/open-z/{path}")
            assert answer.status == 404
        looked_up = await world.ask(
            "reader", "POST", "/subjects/open-z", {"schema": string_record("R9", "f")}
        )
        assert looked_up.status == 404
        assert (await world.ask("reader", "GET", "/schemas/ids/1?subject=open-z")).status in {
            200,
            404,
        }

    walk(scenario)


@pytest.mark.parametrize("name", ["%3A.%3Asecret", "secret", ":.:secret"])
def test_another_spelling_does_not_help(name: str) -> None:
    async def scenario(world: World) -> None:
        world.allow("reader", Operation.READ, ":.:secret")

        assert (await world.ask("reader", "GET", f"/subjects/{name}/versions/1")).status == 404

    walk(scenario)


def test_an_id_that_a_visible_subject_shares_shows_only_that_subject() -> None:
    async def scenario(world: World) -> None:
        shared = {"schema": string_record("R3", "f")}
        await world.register("open-shared", shared["schema"])
        found = await world.must("GET", "/subjects/open-shared/versions/1")
        path = f"/schemas/ids/{found['id']}"

        assert (await world.ask("reader", "GET", f"{path}/subjects")).json == ["open-shared"]
        assert (await world.ask("reader", "GET", f"{path}/versions")).json == [
            {"subject": "open-shared", "version": 1}
        ]
        for subject in ("open-a", "open-shared", "secret", "missing"):
            named = await world.ask("reader", "GET", f"{path}?subject={subject}")
            assert b"secret" not in named.body
        guid = world.rules.schema_by_id(found["id"]).guid
        ids = await world.ask("reader", "GET", f"/schemas/guids/{guid}/ids")
        assert [row["context"] for row in ids.json] == ["."]

    walk(scenario)


def test_a_reference_to_a_hidden_subject_is_answered_like_a_missing_one() -> None:
    async def scenario(world: World) -> None:
        async def refused(subject: str, method: str, target: str) -> Any:
            references = [{"name": "R3", "subject": subject, "version": 1}]
            body = {"schema": '"R3"', "references": references}
            answer = await world.ask("writer", method, target, body)
            assert answer.status == 422
            return answer.without(subject)

        for method, target in (
            ("POST", "/subjects/open-new/versions"),
            ("POST", "/subjects/open-a"),
            ("POST", "/compatibility/subjects/open-a/versions"),
        ):
            assert await refused("secret", method, target) == await refused(
                "missing", method, target
            )

    walk(scenario)


def test_a_reference_is_looked_for_in_the_context_of_its_schema() -> None:
    async def scenario(world: World) -> None:
        world.allow("writer", Operation.WRITE, ":.hidden:mine")
        references = [{"name": "R4", "subject": "open-a", "version": 1}]
        body = {"schema": '"R4"', "references": references}

        answer = await world.ask("writer", "POST", "/subjects/:.hidden:mine/versions", body)

        assert answer.status == 422
        assert b"No schema reference found" in answer.body

    walk(scenario)


def test_an_association_with_another_subject_is_neither_deleted_nor_named() -> None:
    async def scenario(world: World) -> None:
        def batch(operation: str, **item: Any) -> dict[str, Any]:
            one = {"subject": "open-a", "associationType": "value", "opType": operation, **item}
            resource = {"resourceName": "t", "resourceNamespace": "n", "resourceId": "id-1"}
            return {"requests": [{**resource, "associations": [one]}]}

        written = len(world.topic.records)
        for body in (
            batch("DELETE", cascadeLifecycle=True),
            batch("UPSERT", lifecycle="WEAK"),
            batch("CREATE", lifecycle="WEAK"),
        ):
            answer = await world.ask("writer", "POST", "/associations:batchMutate", body)
            assert answer.status == 403
            assert b"secret" not in answer.body
        item = {"subject": "open-a", "lifecycle": "WEAK"}
        resource = {
            "resourceName": "topic-secret",
            "resourceNamespace": "-",
            "associations": [item],
        }
        put = await world.ask("writer", "PUT", "/associations/resources/id-1", resource)
        assert put.status == 403
        assert b"'secret'" not in put.body
        assert len(world.topic.records) == written

    walk(scenario)


def test_global_settings_need_rights_to_all_subjects() -> None:
    async def scenario(world: World) -> None:
        targets = ("/config", "/mode", "/config/:.__GLOBAL:", "/mode/:.__GLOBAL:")
        bodies = {"config": {"compatibility": "NONE"}, "mode": {"mode": "READWRITE"}}
        world.allow("writer", Operation.ALTER_CONFIGS, ":.__GLOBAL:")
        for target in targets:
            body = bodies[target.split("/")[1]]
            assert (await world.ask("writer", "PUT", target, body)).status == 403
            assert (await world.ask("writer", "DELETE", target)).status == 403

        world.allow("writer", Operation.ALTER_CONFIGS, "*")
        for target in targets:
            body = bodies[target.split("/")[1]]
            assert (await world.ask("writer", "PUT", target, body)).status == 200

    walk(scenario)


def test_a_denial_wins_and_a_rule_about_all_subjects_opens_all_others() -> None:
    async def scenario(world: World) -> None:
        world.allow("nobody", Operation.READ, "*")
        world.allow("nobody", Operation.READ, "secret", permission=Permission.DENY)
        world.allow("nobody", Operation.DESCRIBE, "secret", permission=Permission.DENY)

        found = (await world.ask("nobody", "GET", "/subjects")).json

        assert found == [":.hidden:open-a", ":.hidden:secret", "open-a", "open-b"]
        assert (await world.ask("nobody", "GET", "/schemas/ids/3")).status == 404
        batch = {"requests": [{"resourceId": "id-1"}]}
        answer = await world.ask("nobody", "POST", "/associations:batchGet", batch)
        assert b"secret" not in answer.body

    walk(scenario)


def test_a_rule_for_another_host_does_not_count() -> None:
    async def scenario(world: World) -> None:
        world.allow("nobody", Operation.READ, "secret", host="10.0.0.8")
        assert (await world.ask("nobody", "GET", "/subjects/secret/versions")).status == 404
        world.allow("nobody", Operation.READ, "secret", host="10.0.0.7")
        assert (await world.ask("nobody", "GET", "/subjects/secret/versions")).status == 200

    walk(scenario)


def test_refused_changes_are_in_the_audit_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "duolog.audit")

    async def scenario(world: World) -> None:
        await world.ask("reader", "DELETE", "/subjects/open-a")
        await world.ask("reader", "GET", "/subjects/secret/versions")

    walk(scenario)

    rows = [json.loads(each.getMessage()) for each in caplog.records if each.name == "duolog.audit"]
    assert [(row["event"], row["operation"], row["resource_name"]) for row in rows] == [
        ("denied", "DELETE", "open-a")
    ]


def test_a_follower_refuses_a_change_before_it_forwards_it() -> None:
    async def scenario(world: World) -> None:
        world.leadership.lose()

        answers = [
            await world.ask("reader", "POST", "/subjects/open-a/versions", SCHEMA),
            await world.ask("reader", "DELETE", "/subjects/open-a"),
            await world.ask("reader", "PUT", "/config", {"compatibility": "NONE"}),
        ]

        # Without this check, it would ask for a leader.
        assert [answer.status for answer in answers] == [403, 403, 403]

    walk(scenario)


def test_the_impact_of_a_schema_covers_what_the_client_may_see() -> None:
    async def scenario(world: World) -> None:
        path = "/compatibility/subjects/open-a/versions?impact=true"
        world.allow("reader", Operation.READ, "open", kind=ResourceType.TOPIC)
        world.allow("reader", Operation.DESCRIBE, "open", kind=ResourceType.GROUP)

        answer = await world.ask("reader", "POST", path, {"schema": string_record("R1", "f")})
        hidden = await world.ask("nobody", "POST", path, {"schema": string_record("R1", "f")})

        assert answer.json["impact"] == {"topics": ["open"], "groups": ["open"]}
        assert hidden.status == 404

    walk(scenario)


def test_a_hidden_subject_that_refers_to_a_visible_one_is_not_listed() -> None:
    async def scenario(world: World) -> None:
        references = [{"name": "R1", "subject": "open-a", "version": 1}]
        wrapped = '{"type":"record","name":"W%d","fields":[{"name":"f","type":"R1"}]}'
        shown = await world.register("open-w", wrapped % 1, references=references)
        hidden = await world.register("other", wrapped % 2, references=references)
        path = "/subjects/open-a/versions/1/referencedby"

        assert sorted(await world.must("GET", path)) == sorted((shown, hidden))
        assert (await world.ask("reader", "GET", path)).json == [shown]
        assert (await world.ask("reader", "GET", f"{path}?offset=1&limit=1")).json == []

    walk(scenario)
