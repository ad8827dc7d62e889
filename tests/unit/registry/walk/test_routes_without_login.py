"""Every endpoint is closed to a client that has not proved who it is."""

from collections.abc import Callable

import pytest

from duolog.registry.http.routes import ENDPOINTS, Endpoint
from duolog.registry.operations.rights import RIGHTS
from unit.registry.walk.requests import SAMPLES, Names
from unit.registry.walk.world import FOREIGN_KEY, World, basic, walk

OPEN = Names("open-a", "1", "g", "id-0")


def tampered(world: World) -> str:
    head, claims, signature = world.jwt().split(".")
    return f"Bearer {head}.{claims[:-4]}AAAA.{signature}"


def revoked_by_expiry(world: World) -> str:
    text = world.add_token("late", world.clock.now_ms() + 1000)
    world.clock.advance(1)
    return f"Bearer {text}"


CREDENTIALS: dict[str, Callable[[World], str | None]] = {
    "none": lambda _: None,
    "empty": lambda _: "",
    "another scheme": lambda _: "Digest username=admin",
    "not base64": lambda _: "Basic ???",
    "no password": lambda _: basic("admin", ""),
    "wrong password": lambda _: basic("admin", "wrong"),
    "unknown user": lambda _: basic("eve", "right"),
    "token as a password": lambda world: basic("admin", world.tokens["admin"]),
    "expired token": revoked_by_expiry,
    "foreign token": lambda _: "Bearer duolog_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "two tokens": lambda world: f"Bearer {world.tokens['admin']} {world.tokens['admin']}",
    "JWT of a foreign key": lambda world: f"Bearer {world.jwt(FOREIGN_KEY)}",
    "expired JWT": lambda world: f"Bearer {world.jwt(exp=world.clock.now_ms() / 1000 - 1)}",
    "JWT for another server": lambda world: f"Bearer {world.jwt(aud='other')}",
    "JWT of another issuer": lambda world: f"Bearer {world.jwt(iss='https://evil.example')}",
    "tampered JWT": tampered,
    "unsigned JWT": lambda world: f"Bearer {world.jwt().rpartition('.')[0]}.",
}


def test_each_endpoint_has_a_request_and_a_row_of_rights() -> None:
    operations = {endpoint.operation for endpoint in ENDPOINTS}

    assert operations == set(SAMPLES) == set(RIGHTS)


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_without_valid_credentials_every_endpoint_is_closed(kind: str) -> None:
    async def scenario(world: World) -> None:
        world.add_password("admin", "right")
        written = len(world.topic.records)
        authorization = CREDENTIALS[kind](world)
        answers = {
            (await world.send(authorization, endpoint.method, *filled(endpoint)))
            for endpoint in ENDPOINTS
        }
        [answer] = answers
        assert answer.status == 401
        challenges = [value for name, value in answer.headers if name == "WWW-Authenticate"]
        assert [each.split()[0] for each in challenges] == ["Basic", "Bearer"]
        assert len(world.topic.records) == written

    walk(scenario)


def test_with_them_every_endpoint_answers() -> None:
    async def scenario(world: World) -> None:
        world.add_password("admin", "right")
        reader = await world.send(f"Bearer {world.jwt()}", "GET", "/subjects")
        assert reader.json == ["open-a", "open-b"]
        for endpoint in ENDPOINTS:
            answer = await world.send(basic("admin", "right"), endpoint.method, *filled(endpoint))
            assert answer.status not in {401, 403, 500}, (endpoint, answer)

    walk(scenario)


def filled(endpoint: Endpoint) -> tuple[str, object]:
    target, body = SAMPLES[endpoint.operation].of(OPEN)
    return target, body if endpoint.method in {"POST", "PUT"} else None
