"""Client quotas are stored, described with filters, and validated as in Kafka."""

from typing import Any, Final

import pytest

from duolog.protocol.error_codes import ErrorCode

DESCRIBE_QUOTAS: Final = 48
ALTER_QUOTAS: Final = 49


def alter_quota(
    client: Any,
    entity: dict[str, str | None],
    *ops: tuple[str, float | None],
    version: int = 1,
    validate_only: bool = False,
) -> int:
    entry = {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
        "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in ops],
    }
    answer = client.ask(ALTER_QUOTAS, version, entries=[entry], validate_only=validate_only)
    return int(answer.entries[0].error_code)


def quotas(
    client: Any, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
) -> Any:
    rows = [
        {"entity_type": kind, "match_type": how, "match": name} for kind, how, name in components
    ]
    answer = client.ask(DESCRIBE_QUOTAS, version, components=rows, strict=strict)
    if answer.error_code:
        return int(answer.error_code)
    return [
        (
            {part.entity_type: part.entity_name for part in entry.entity},
            {row.key: row.value for row in entry.values},
        )
        for entry in answer.entries
    ]


@pytest.mark.parametrize("version", range(2))
def test_quotas_are_kept_over_a_restart_and_removed(open_harness: Any, version: int) -> None:
    harness = open_harness()
    client = harness.client()
    rate = "producer_byte_rate"

    codes = [
        alter_quota(client, {"user": "u"}, (rate, 1000.0), version=version),
        alter_quota(
            client, {"user": "u", "client-id": None}, (rate, 5.0), ("request_percentage", 2.5)
        ),
        alter_quota(client, {"user": "v"}, (rate, 7.0), validate_only=True),
    ]
    harness.stop()
    client = open_harness().client()

    assert codes == [0, 0, 0]
    assert quotas(client, version=version) == [
        ({"user": "u"}, {rate: 1000.0}),
        ({"client-id": None, "user": "u"}, {rate: 5.0, "request_percentage": 2.5}),
    ]
    assert alter_quota(client, {"user": "u"}, (rate, None)) == 0
    assert len(quotas(client)) == 1


def test_a_filter_matches_names_defaults_and_kinds(harness: Any) -> None:
    client = harness.client()
    exact, default, any_ = 0, 1, 2
    rate = ("producer_byte_rate", 1.0)
    entities: list[dict[str, str | None]]
    entities = [{"user": "u"}, {"user": None}, {"user": "u", "client-id": "c"}]
    for entity in entities:
        alter_quota(client, entity, rate)
    alter_quota(client, {"ip": "::1"}, ("connection_creation_rate", 3.0))

    def found(*components: tuple[str, int, str | None], strict: bool = False) -> Any:
        return [entity for entity, _ in quotas(client, *components, strict=strict)]

    both = {"client-id": "c", "user": "u"}
    assert found(("user", exact, "u")) == [{"user": "u"}, both]
    assert found(("user", exact, "u"), strict=True) == [{"user": "u"}]
    assert found(("user", default, None)) == [{"user": None}]
    assert found(("client-id", any_, None)) == [both]
    assert found(("ip", any_, None)) == [{"ip": "::1"}]
    assert len(found()) == 4
    assert found(strict=True) == []
    assert quotas(client, ("shoe", any_, None)) == ErrorCode.UNSUPPORTED_VERSION
    for bad in (
        [("user", exact, None)],
        [("user", 7, None)],
        [("", any_, None)],
        [("user", any_, None), ("user", default, None)],
        [("user", any_, None), ("ip", any_, None)],
    ):
        assert quotas(client, *bad) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("entity", "op"),
    [
        ({"user": "u"}, ("speed", 1.0)),
        ({"user": "u"}, ("producer_byte_rate", -1.0)),
        ({"user": "u"}, ("producer_byte_rate", 1.5)),
        ({"user": "u"}, ("producer_byte_rate", 1e30)),
        ({"user": "u"}, ("connection_creation_rate", 1.0)),
        ({"ip": "127.0.0.1"}, ("producer_byte_rate", 1.0)),
        ({"ip": "127.0.0.1", "user": "u"}, ("connection_creation_rate", 1.0)),
        ({"ip": "nowhere at all"}, ("connection_creation_rate", 1.0)),
        ({}, ("producer_byte_rate", 1.0)),
        ({"user": ""}, ("producer_byte_rate", 1.0)),
        ({"group": "g"}, ("producer_byte_rate", 1.0)),
    ],
)
def test_a_quota_that_cannot_be_is_refused(
    harness: Any, entity: dict[str, str | None], op: tuple[str, float]
) -> None:
    client = harness.client()

    assert alter_quota(client, entity, op) == ErrorCode.INVALID_REQUEST
    assert quotas(client) == []


def test_an_entity_twice_in_a_request_is_refused(harness: Any) -> None:
    entry = {
        "entity": [{"entity_type": "user", "entity_name": "u"}],
        "ops": [{"key": "producer_byte_rate", "value": 1.0, "remove": False}],
    }
    client = harness.client()

    answer = client.ask(ALTER_QUOTAS, 1, entries=[entry, entry], validate_only=False)

    assert [row.error_code for row in answer.entries] == [ErrorCode.INVALID_REQUEST]
    assert quotas(client) == []
