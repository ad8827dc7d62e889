"""The client of a registry that finds the subjects of a schema id."""

import pytest

from duolog.core.errors import ConfigError, RegistryError
from duolog.registry.client.requests import Address, Answer, Requests, addresses_of
from duolog.registry.client.subjects import HttpSubjects, with_user

GUID = "00112233-4455-6677-8899-aabbccddeeff"
ANSWERS: dict[str, Answer] = {
    "/schemas/ids/1/versions": Answer(
        200,
        [
            {"subject": "orders-value", "version": 1},
            {"subject": "orders-value", "version": 3},
            {"subject": "late-value", "version": 1},
        ],
    ),
    "/schemas/ids/2/versions": Answer(404, {"error_code": 40403, "message": "Schema not found"}),
    "/schemas/ids/3/versions": Answer(401, {"error_code": 40101, "message": "Unauthorized"}),
    "/schemas/ids/4/versions": Answer(200, {"subject": "orders-value"}),
    f"/schemas/guids/{GUID}/ids": Answer(
        200, [{"context": ".", "id": 1}, {"context": ".other", "id": 9}]
    ),
    "/schemas/ids/1": Answer(200, {"schema": '"int"'}),
}


def source(asked: list[str] | None = None) -> HttpSubjects:
    def send(_: Address, method: str, path: str, body: str | None) -> Answer:
        assert (method, body) == ("GET", None)
        if asked is not None:
            asked.append(path)
        if path not in ANSWERS:
            raise ConnectionRefusedError("refused")
        return ANSWERS[path]

    requests = Requests(addresses_of("http://localhost:8081"), send, rounds=1)
    return HttpSubjects("http://localhost:8081", requests=requests)


def test_the_subjects_of_an_id_are_those_of_its_versions() -> None:
    assert source().subjects_of(1) == {"orders-value", "late-value"}


def test_an_unknown_id_has_no_subjects() -> None:
    assert source().subjects_of(2) == frozenset()


def test_a_guid_has_the_subjects_of_its_id_in_the_default_context() -> None:
    asked: list[str] = []

    assert source(asked).subjects_of(GUID) == {"orders-value", "late-value"}
    assert asked == [f"/schemas/guids/{GUID}/ids", "/schemas/ids/1/versions"]


def test_a_schema_is_returned_by_its_id() -> None:
    assert source().schema_of(1).canonical == '"int"'


@pytest.mark.parametrize("schema_id", [3, 4, 5])
def test_a_registry_that_refuses_or_is_away_is_an_error(schema_id: int) -> None:
    with pytest.raises(RegistryError):
        source().subjects_of(schema_id)


def test_a_registry_that_is_away_is_asked_once() -> None:
    asked: list[str] = []

    with pytest.raises(RegistryError):
        source(asked).subjects_of(5)

    assert len(asked) == 1


def test_the_user_is_sent_to_addresses_without_one() -> None:
    first, second = with_user(addresses_of("http://a:1,http://x:y@b:2"), "me:secret")

    assert first.authorization == "Basic bWU6c2VjcmV0"
    assert second.authorization == "Basic eDp5"
    assert "secret" not in repr(first)


def test_an_address_that_cannot_be_used_is_an_error_at_once() -> None:
    with pytest.raises(ConfigError, match="is not an HTTP address"):
        HttpSubjects("ftp://x")
