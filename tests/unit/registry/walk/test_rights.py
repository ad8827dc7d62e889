"""Every endpoint with every user: only what the rights allow goes through."""

import pytest

from duolog.registry.http.routes import ENDPOINTS, Endpoint, Kind
from duolog.registry.operations.rights import RIGHTS, Effect
from duolog.security.authorization.operations import Operation
from unit.registry.walk.requests import MISSING, SAMPLES, Names, names_of
from unit.registry.walk.world import GRANTED, USERS, Asked, World, walk

PATHS = {endpoint.operation: endpoint for endpoint in ENDPOINTS}
GLOBAL = {"set_config", "delete_config", "set_mode", "delete_mode", "delete_context"}
"""Changes that rules about `open-` never allow."""
NAMED = [
    operation
    for operation, sample in SAMPLES.items()
    if any(part in str(sample) for part in ("{s}", "{i}", "{g}", "{r}", "<s>", "<r>"))
]
OPEN_ID, SECRET_ID = "id-0", "id-1"


async def ask(world: World, user: str, operation: str, names: Names) -> Asked:
    endpoint: Endpoint = PATHS[operation]
    target, body = SAMPLES[operation].of(names)
    return await world.ask(
        user, endpoint.method, target, body if endpoint.method in {"POST", "PUT"} else None
    )


def allowed(user: str, operation: str) -> bool:
    """Return whether a user may do this with a subject that begins with `open-`."""
    if user == "admin" or not RIGHTS[operation]:
        return True
    if operation in GLOBAL:
        return False
    first = RIGHTS[operation][0].operation
    return first in GRANTED[user]


PINNED = {
    None: "root cluster_id server_version deployment users_status schema_types config mode",
    Operation.DESCRIBE: "list_subjects list_contexts list_versions",
    Operation.READ: "look_up_schema latest_with_metadata version version_schema referenced_by "
    "list_schemas schema_by_id schema_text_by_id subjects_of_id versions_of_id schema_by_guid "
    "ids_of_guid check_version check_subject associations_of_subject associations_of_resource "
    "associations_of_resource_id associations_of_many",
    Operation.DESCRIBE_CONFIGS: "subject_config subject_mode",
    Operation.WRITE: "register modify_tags create_associations put_associations "
    "change_associations",
    Operation.DELETE: "delete_subject delete_version delete_context delete_associations",
    Operation.ALTER_CONFIGS: "set_config delete_config set_subject_config delete_subject_config "
    "set_mode delete_mode set_subject_mode delete_subject_mode",
}
"""The first right of each endpoint, written a second time: the table cannot change unnoticed."""


def test_each_endpoint_needs_the_right_that_was_decided() -> None:
    found = {
        operation: rights[0].operation if rights else None for operation, rights in RIGHTS.items()
    }

    assert found == {name: right for right, names in PINNED.items() for name in names.split()}


def is_write(operation: str) -> bool:
    return PATHS[operation].kind is Kind.WRITE


@pytest.mark.parametrize("user", USERS)
def test_a_user_may_not_do_what_the_table_does_not_say(user: str) -> None:
    async def scenario(world: World) -> None:
        names = await names_of(world, "open-b", OPEN_ID)
        written = len(world.topic.records)
        for operation in SAMPLES:
            if allowed(user, operation):
                continue
            answer = await ask(world, user, operation, names)
            effect = RIGHTS[operation][0].effect
            refused = {
                Effect.REFUSED: {403},
                Effect.ABSENT: {404},
                Effect.LEFT_OUT: {200, 207, 404},
            }
            if operation == "delete_associations" and user == "nobody":
                refused[Effect.REFUSED] = {404}
            assert answer.status in refused[effect], (operation, answer)
            body = answer.without(*names).body.decode()
            assert "open-b" not in body, (operation, answer)
            assert "R2" not in body, (operation, answer)
        assert len(world.topic.records) == written

    walk(scenario)


@pytest.mark.parametrize("user", USERS)
def test_a_user_may_read_what_the_table_says(user: str) -> None:
    async def scenario(world: World) -> None:
        names = await names_of(world, "open-b", OPEN_ID)
        for operation in SAMPLES:
            if not is_write(operation) and allowed(user, operation):
                answer = await ask(world, user, operation, names)
                assert answer.status in {200, 207, 404, 422}, (operation, answer)
                if RIGHTS[operation] and RIGHTS[operation][0].effect is Effect.ABSENT:
                    assert answer == await ask(world, "admin", operation, names)

    walk(scenario)


CHANGES = [
    (operation, user)
    for operation in SAMPLES
    for user in USERS
    if is_write(operation) and allowed(user, operation)
]


@pytest.mark.parametrize(("operation", "user"), CHANGES)
def test_a_user_may_change_what_the_table_says(operation: str, user: str) -> None:
    async def scenario(world: World) -> None:
        names = await names_of(world, "open-b", OPEN_ID)

        answer = await ask(world, user, operation, names)

        assert answer.status not in {401, 403, 500}, answer

    walk(scenario)


@pytest.mark.parametrize("user", ["nobody", "reader", "writer"])
def test_a_hidden_subject_looks_like_a_missing_one(user: str) -> None:
    async def scenario(world: World) -> None:
        secret = await names_of(world, "secret", SECRET_ID)
        written = len(world.topic.records)
        for operation in NAMED:
            hidden = await ask(world, user, operation, secret)
            missing = await ask(world, user, operation, MISSING)
            assert hidden.without(*secret) == missing.without(*MISSING), operation
            assert hidden.status != 500
        assert len(world.topic.records) == written

    walk(scenario)


QUERIES = (
    "deleted=true",
    "deletedOnly=true",
    "subjectPrefix=%3A*%3A",
    "subjectPrefix=secret",
    "subjectPrefix=%3A.hidden%3A",
    "aliases=true&deleted=true",
    "latestOnly=false&deleted=true",
    "subject=secret",
    "subject=open-a",
    "subject=%3A.hidden%3Aopen-a",
    "fetchMaxId=false&subject=open-b",
    "contextPrefix=.h",
    "resourceType=topic",
    "defaultToGlobal=true",
    "includeSchemas=true",
    "offset=0&limit=1",
    "offset=1&limit=1",
    "offset=2&limit=1",
)


@pytest.mark.parametrize("user", ["nobody", "reader", "writer"])
def test_no_answer_names_what_is_hidden(user: str) -> None:
    async def scenario(world: World) -> None:
        await world.must("PUT", "/config/open-b", {"alias": "secret"})
        await world.must("PUT", "/config/secret", {"alias": "open-a"})
        kinds = [
            await names_of(world, "open-a", OPEN_ID),
            await names_of(world, "open-b", OPEN_ID),
            Names("*", "5", "-", "-"),
            Names(":.hidden:open-a", "1", "-", SECRET_ID),
        ]
        reads = [each for each in ENDPOINTS if each.method == "GET"]
        for endpoint in reads:
            for names in kinds:
                target, _ = SAMPLES[endpoint.operation].of(names)
                for query in QUERIES:
                    mark = "&" if "?" in target else "?"
                    answer = await world.ask(user, "GET", f"{target}{mark}{query}")
                    body = answer.body.decode()
                    shown = body.replace(names.s, "")  # The name that was asked for.
                    told = [
                        name for name in ("secret", "hidden", '"R3', '"R4', '"R5') if name in shown
                    ]
                    if endpoint.operation == "subject_config" and names.s == "open-b":
                        told = [name for name in told if name != "secret"]  # its own alias
                    assert told == [], (endpoint.operation, target, query, body)

    walk(scenario)


def test_pages_count_what_the_user_sees() -> None:
    async def scenario(world: World) -> None:
        for path in ("/subjects", "/schemas", "/contexts"):
            whole = (await world.ask("reader", "GET", path)).json
            for number in range(len(whole) + 1):
                page = await world.ask("reader", "GET", f"{path}?offset={number}&limit=1")
                assert page.json == whole[number : number + 1]

    walk(scenario)


def test_rights_count_at_once() -> None:
    async def scenario(world: World) -> None:
        assert (await world.ask("nobody", "GET", "/subjects/secret/versions")).status == 404

        world.allow("nobody", Operation.DESCRIBE, "secret")

        assert (await world.ask("nobody", "GET", "/subjects/secret/versions")).json == [1, 2]
        assert (await world.ask("nobody", "GET", "/subjects/secret/versions/1")).status == 404

    walk(scenario)
