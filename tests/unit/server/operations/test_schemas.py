"""Schemas over HTTP: a client of the server gets no more of the registry than its rights."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from duolog.registry.client.admin import RegistryAdmin
from duolog.registry.client.requests import Answer, Requests, addresses_of
from duolog.security.authorization.operations import Operation
from unit.registry.harness import string_record
from unit.registry.walk.world import World, walk
from unit.server.administered import ORIGIN
from unit.server.memory import MemoryServer, context
from unit.server.schema_server import R1, READS, Server, draft, may


def test_subjects_are_listed_searched_and_paged() -> None:
    async def scenario(world: World) -> None:
        server = Server(world)

        every = await server.json("/v1/schemas")
        assert [one["subject"] for one in every["subjects"]] == [
            ":.hidden:open-a",
            ":.hidden:secret",
            "open-a",
            "open-b",
            "secret",
        ]
        assert (every["total"], every["mayRegister"]) == (5, True)
        found = await server.json("/v1/schemas?search=OPEN&offset=1&limit=1")
        assert found["subjects"] == [{"subject": "open-a", "deleted": False}]
        assert found["total"] == 3

    walk(scenario)


def test_a_client_sees_the_subjects_that_it_may_describe() -> None:
    async def scenario(world: World) -> None:
        server = Server(world, READS)

        found = await server.json("/v1/schemas", "bob")
        assert [one["subject"] for one in found["subjects"]] == ["open-a", "open-b"]
        assert (found["total"], found["mayRegister"]) == (2, False)
        hidden = await server.ask("GET", "/v1/schemas/versions?subject=secret", user="bob")
        missing = await server.ask("GET", "/v1/schemas/versions?subject=nope", user="bob")
        assert (hidden.status, missing.status) == (404, 404)
        assert hidden.text.replace("secret", "nope") == missing.text

    walk(scenario)


def test_what_a_client_may_not_read_is_not_even_asked_for() -> None:
    async def scenario(world: World) -> None:
        server = Server(world, READS)
        for target in (
            "/v1/schemas/versions?subject=secret",
            "/v1/schemas/version?subject=secret",
            "/v1/schemas/version?subject=:.hidden:open-a",
            "/v1/schemas/difference?subject=secret&from=1&to=2",
            "/v1/schemas/compatibility?subject=secret",
        ):
            assert (await server.ask("GET", target, user="bob")).status == 404
        for path in ("check", "impact"):
            asked = await server.ask("POST", f"/v1/schemas/{path}", draft("secret"), "bob")
            assert asked.status == 404
        assert server.asked == []

    walk(scenario)


def test_an_alias_does_not_lead_to_a_hidden_subject() -> None:
    async def scenario(world: World) -> None:
        await world.must("PUT", "/config/open-b", {"alias": "secret"})
        server = Server(world, may(Operation.ALL))

        for target in (
            "/v1/schemas/versions?subject=open-b",
            "/v1/schemas/version?subject=open-b",
            "/v1/schemas/difference?subject=open-b&from=1&to=2",
        ):
            assert (await server.ask("GET", target, user="bob")).status == 404
        for path in ("check", "impact"):
            asked = await server.ask("POST", f"/v1/schemas/{path}", draft("open-b"), "bob")
            assert asked.status == 404
        register = await server.ask("POST", "/v1/schemas/register", draft("open-b"), "bob")
        delete = await server.ask("DELETE", "/v1/schemas?subject=open-b", user="bob")
        assert (register.status, delete.status) == (403, 403)
        assert (await world.must("GET", "/subjects/secret/versions")) == [1, 2]
        assert (await server.json("/v1/schemas/version?subject=open-b"))["subject"] == "secret"

    walk(scenario)


def test_an_alias_that_appears_meanwhile_shows_nothing() -> None:
    async def scenario(world: World) -> None:
        server = Server(world, READS)
        place = server.place
        read = place.admin.version

        def later(subject: str, number: str = "latest", *, deleted: bool = False) -> Any:
            return read("secret" if subject == "open-a" else subject, number, deleted=deleted)

        place.admin.version = later  # type: ignore[method-assign]
        asked = await server.ask("GET", "/v1/schemas/version?subject=open-a", user="bob")
        assert (asked.status, "R3" in asked.text) == (404, False)

    walk(scenario)


def test_a_version_has_its_text_and_its_references() -> None:
    async def scenario(world: World) -> None:
        part = '{"type":"record","name":"P","fields":[{"name":"s","type":"R3"}]}'
        reference = {"name": "R3", "subject": "secret", "version": 2}
        await world.register("open-c", part, references=[reference])
        server = Server(world, READS)

        seen = await server.json("/v1/schemas/version?subject=open-c&version=1")
        assert (seen["schema"], seen["schemaType"], seen["version"]) == (part, "AVRO", 1)
        (found,) = seen["references"]
        assert (found["subject"], found["version"]) == ("secret", 2)
        assert json.loads(found["schema"])["name"] == "R3"
        (hidden,) = (await server.json("/v1/schemas/version?subject=open-c", "bob"))["references"]
        assert (hidden["subject"], hidden["schema"]) == ("secret", None)
        target = await server.json("/v1/schemas/version?subject=secret&version=2")
        assert target["referencedBy"] == [{"subject": "open-c", "version": 1}]

    walk(scenario)


def test_two_versions_are_compared_and_deleted_ones_can_be_shown() -> None:
    async def scenario(world: World) -> None:
        server = Server(world)
        found = await server.json("/v1/schemas/difference?subject=secret&from=1&to=latest")
        assert (found["from"]["version"], found["to"]["version"]) == (1, 2)
        assert ('"g"' in found["from"]["schema"], '"g"' in found["to"]["schema"]) == (False, True)

        gone = await server.ask("DELETE", "/v1/schemas?subject=secret&version=1")
        assert gone.json == {"subject": "secret", "versions": [1], "permanent": False}
        listed = await server.json("/v1/schemas/versions?subject=secret")
        assert listed["versions"] == [{"version": 2, "deleted": False}]
        every = await server.json("/v1/schemas/versions?subject=secret&deleted=true")
        assert every["versions"] == [
            {"version": 1, "deleted": True},
            {"version": 2, "deleted": False},
        ]
        gone = await server.ask("DELETE", "/v1/schemas?subject=secret&version=1&permanent=true")
        assert (gone.status, gone.json["permanent"]) == (200, True)
        every = await server.json("/v1/schemas/versions?subject=secret&deleted=true")
        assert every["versions"] == [{"version": 2, "deleted": False}]

        assert (await server.ask("DELETE", "/v1/schemas?subject=open-a")).status == 200
        rows = (await server.json("/v1/schemas?deleted=true"))["subjects"]
        assert [one["subject"] for one in rows if one["deleted"]] == ["open-a"]
        assert (await server.json("/v1/schemas"))["total"] == 4

    walk(scenario)


def test_compatibility_levels_are_read_set_and_set_back() -> None:
    async def scenario(world: World) -> None:
        server = Server(world)
        path = "/v1/schemas/compatibility"

        assert await server.json(path) == {
            "subject": None,
            "level": "BACKWARD",
            "inherited": False,
            "mayChange": True,
        }
        own = await server.json(f"{path}?subject=secret")
        assert (own["level"], own["inherited"]) == ("FULL", False)
        other = await server.json(f"{path}?subject=open-a")
        assert (other["level"], other["inherited"]) == ("BACKWARD", True)
        for level, shown in (("NONE", ("NONE", False)), (None, ("BACKWARD", True))):
            body = {"subject": "open-a", "level": level}
            assert (await server.ask("POST", path, body)).status == 200
            found = await server.json(f"{path}?subject=open-a")
            assert (found["level"], found["inherited"]) == shown
        assert (await server.ask("POST", path, {"subject": None, "level": "FULL"})).status == 200
        assert (await server.json(path))["level"] == "FULL"
        assert (await server.ask("POST", path, {"level": "MOST"})).status == 400

    walk(scenario)


def test_levels_are_changed_by_those_who_may_only() -> None:
    async def scenario(world: World) -> None:
        server = Server(world, may(Operation.ALTER_CONFIGS))
        path = "/v1/schemas/compatibility"

        assert (await server.ask("POST", path, {"level": "NONE"}, "bob")).status == 403
        for subject in (":.__GLOBAL:", ":.__GLOBAL:open-a", "secret"):
            body = {"subject": subject, "level": "NONE"}
            assert (await server.ask("POST", path, body, "bob")).status == 403
        # The settings of all contexts are not those of a subject with this name.
        tricky = Server(world, may(Operation.ALTER_CONFIGS, prefix=":.__GLOBAL"))
        body = {"subject": ":.__GLOBAL:", "level": "NONE"}
        assert (await tricky.ask("POST", path, body, "bob")).status == 403
        body = {"subject": "open-a", "level": "NONE"}
        assert (await server.ask("POST", path, body, "bob")).status == 200
        assert (await server.json(path, "bob"))["mayChange"] is False
        assert (await server.json(f"{path}?subject=open-a", "bob"))["mayChange"] is True
        reader = Server(world, READS)
        assert (await reader.ask("GET", f"{path}?subject=open-a", user="bob")).status == 404

    walk(scenario)


def test_a_draft_is_checked_against_each_version_with_reasons() -> None:
    async def scenario(world: World) -> None:
        await world.must("PUT", "/config/secret", {"compatibility": "BACKWARD"})
        server = Server(world)
        # Version 1 lacks `g`, which the draft needs.
        wanted = string_record("R3", "f", "g")

        answer = (await server.ask("POST", "/v1/schemas/check", draft("secret", wanted))).json

        assert (answer["compatible"], answer["known"]) == (True, None)
        first, second = answer["versions"]
        assert (first["version"], first["compatible"], first["messages"]) == (2, True, [])
        assert (second["version"], second["compatible"]) == (1, False)
        (message,) = second["messages"]
        assert message["type"] == "READER_FIELD_MISSING_DEFAULT_VALUE"
        assert "g" in message["description"]
        new = (await server.ask("POST", "/v1/schemas/check", draft("brand-new"))).json
        assert (new["compatible"], new["versions"]) == (True, [])
        known = (await server.ask("POST", "/v1/schemas/check", draft("open-a"))).json
        assert known["known"] == 1

    walk(scenario)


@pytest.mark.parametrize(
    "body",
    [
        draft("open-a", "{"),
        draft("open-a", ""),
        draft("", R1),
        draft(":*:open-a"),
        draft("open-a", R1, schemaType="XML"),
        draft("open-a", R1, references=[{"name": "x"}]),
        draft("open-a", R1, other=1),
        draft("open-a", "[" * 100_000),
    ],
)
def test_a_draft_that_cannot_be_read_is_refused(body: dict[str, object]) -> None:
    async def scenario(world: World) -> None:
        server = Server(world)
        for path in ("check", "register", "impact"):
            answer = await server.ask("POST", f"/v1/schemas/{path}", body)
            assert (answer.status, answer.json["error_code"]) == (400, 40000)
        assert server.asked == []

    walk(scenario)


def test_a_draft_is_registered_and_an_incompatible_one_refused() -> None:
    async def scenario(world: World) -> None:
        server = Server(world)
        wanted = string_record("R1", "f", optional=("g",))

        done = await server.ask("POST", "/v1/schemas/register", draft("open-a", wanted))
        assert (done.status, done.json["subject"]) == (200, "open-a")
        assert await world.must("GET", "/subjects/open-a/versions") == [1, 2]
        worse = string_record("R1", "f", "h")
        refused = await server.ask("POST", "/v1/schemas/register", draft("open-a", worse))
        assert (refused.status, "READER_FIELD_MISSING" in refused.message) == (409, True)
        invalid = await server.ask("POST", "/v1/schemas/register", draft("open-a", '"nope"'))
        assert invalid.status == 400

    walk(scenario)


def test_who_may_write_but_not_read_learns_no_details() -> None:
    async def scenario(world: World) -> None:
        server = Server(world, may(Operation.WRITE))
        worse = draft("open-a", string_record("R1", "f", "h"))

        refused = await server.ask("POST", "/v1/schemas/register", worse, "bob")
        assert refused.status == 409
        assert "the details need the right READ on the subject" in refused.message
        assert "READER_FIELD_MISSING" not in refused.message
        assert (await server.ask("POST", "/v1/schemas/check", worse, "bob")).status == 404

    walk(scenario)


def test_a_reference_to_a_hidden_subject_is_like_a_missing_one() -> None:
    async def scenario(world: World) -> None:
        server = Server(world, may(Operation.ALL))
        part = '{"type":"record","name":"P","fields":[{"name":"s","type":"R3"}]}'

        for path in ("check", "register", "impact"):
            texts = []
            for subject in ("secret", "no-such"):
                reference = {"name": "R3", "subject": subject, "version": 1}
                body = draft("open-c", part, references=[reference])
                answer = await server.ask("POST", f"/v1/schemas/{path}", body, "bob")
                assert answer.status == 400
                texts.append(answer.text.replace(subject, "?"))
            assert texts[0] == texts[1]

    walk(scenario)


def test_changes_need_their_rights_whether_the_subject_exists_or_not() -> None:
    async def scenario(world: World) -> None:
        server = Server(world, READS)
        for subject in ("open-a", "secret", "nope"):
            register = await server.ask("POST", "/v1/schemas/register", draft(subject), "bob")
            delete = await server.ask("DELETE", f"/v1/schemas?subject={subject}", user="bob")
            assert (register.status, delete.status) == (403, 403)
        found = await server.json("/v1/schemas/versions?subject=open-a", "bob")
        assert found["may"] == {
            "read": True,
            "register": False,
            "delete": False,
            "describeConfigs": False,
            "alterConfigs": False,
        }

    walk(scenario)


def test_a_server_without_users_does_not_pass_on_its_login() -> None:
    async def scenario(world: World) -> None:
        server = Server(world, None)

        assert (await server.json("/v1/schemas"))["total"] == 5
        for method, target, body in (
            ("POST", "/v1/schemas/register", draft("open-a")),
            ("POST", "/v1/schemas/compatibility", {"level": "NONE"}),
            ("DELETE", "/v1/schemas?subject=open-a", None),
        ):
            refused = await server.ask(method, target, body)
            assert (refused.status, "--cluster-users" in refused.message) == (403, True)
        open_one = Server(world, None, has_login=False)
        assert (await open_one.ask("POST", "/v1/schemas/register", draft("new"))).status == 200

    walk(scenario)


def test_a_registry_that_fails_is_not_the_clients_fault() -> None:
    async def scenario(world: World) -> None:
        server = Server(world)
        place = server.place
        for status, expected in ((401, 502), (403, 502), (500, 503), (404, 502)):

            def send(*_: object, status: int = status) -> Answer:
                return Answer(status, {"message": "no"})

            requests = Requests(addresses_of("http://r:1"), send, rounds=1)
            failing = replace(place, admin=RegistryAdmin(requests))
            other = MemoryServer(context(registry=failing))
            answer = await other.client().ask("GET", "/v1/schemas", Origin=ORIGIN)
            assert answer.status == expected, answer.body

    walk(scenario)


def test_a_server_without_a_registry_says_how_to_get_one() -> None:
    async def run() -> None:
        server = MemoryServer(context())
        reply = await server.client().ask("GET", "/v1/schemas", Origin=ORIGIN)
        assert (reply.status, b"--registry URL" in reply.body) == (503, True)

    asyncio.run(run())


def test_errors_are_those_of_the_server() -> None:
    async def scenario(world: World) -> None:
        server = Server(world)

        missing = await server.ask("GET", "/v1/schemas/version?subject=open-a&version=9")
        assert (missing.status, missing.json["error_code"]) == (404, 40400)
        for target in ("version?subject=open-a&version=0", "version?subject=open-a&version=x"):
            assert (await server.ask("GET", f"/v1/schemas/{target}")).status == 400

    walk(scenario)
