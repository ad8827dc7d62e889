"""The APIs of users and access control lists, and the topic that keeps them."""

import json
import logging
from typing import Any

import pytest

from duolog.broker.apis import k51_alter_user_scram_credentials as api
from duolog.broker.identity.security_log import check_client_batch
from duolog.core.errors import KafkaError, LogError
from duolog.protocol.error_codes import ErrorCode
from duolog.record import Compression, Record, encode_batch
from duolog.record.records import BatchProducer
from duolog.security.authorization.acls import Acl, PatternType, Permission
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.security.credentials.scram import ScramMechanism, salted_password
from duolog.security.credentials.tokens import Token
from duolog.security.identity.principal import ANONYMOUS, Identity, Principal
from duolog.security.records.records import (
    AclChange,
    RoleMemberChange,
    ScramChange,
    TokenChange,
    encode,
)
from duolog.security.state.security_state import ADMINISTRATORS
from unit.broker.conftest import fetch_fields

DESCRIBE, CREATE, DELETE, DESCRIBE_SCRAM, ALTER_SCRAM = 29, 30, 31, 50, 51
DELETE_TOPICS, ALTER_CONFIGS, CREATE_TOPICS, FETCH, METADATA = 20, 44, 19, 1, 3
ALICE = Principal("User", "alice")
RULE = {
    "resource_type": 2,
    "resource_pattern_type": 3,
    "resource_name": "orders",
    "principal": "User:alice",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
EVERYTHING = {
    "resource_type_filter": 1,
    "pattern_type_filter": 1,
    "resource_name_filter": None,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


@pytest.fixture
def secured(open_harness: Any) -> Any:
    """A broker with an authorizer, whose client ANONYMOUS is an administrator."""
    harness = open_harness(authorizer_class_name="acl", super_users="User:root")
    harness.broker.security.load()
    change = RoleMemberChange(ADMINISTRATORS, ANONYMOUS, present=True)
    harness.broker.security.state.apply(change)
    return harness


def codes(answer: Any) -> list[int]:
    return [row.error_code for row in answer.results]


def names(client: Any, **wanted: Any) -> list[str]:
    answer = client.ask(DESCRIBE, 3, **{**EVERYTHING, **wanted})
    assert answer.error_code == 0, answer.error_message
    return [row.resource_name for row in answer.resources]


def credential(user: str = "alice", **changed: Any) -> dict[str, Any]:
    salted = salted_password(ScramMechanism.SCRAM_SHA_256, "pencil", b"salt", 4096)
    row = {
        "name": user,
        "mechanism": 1,
        "iterations": 4096,
        "salt": b"salt",
        "salted_password": salted,
    }
    return {**row, **changed}


def restarted(open_harness: Any, harness: Any, **settings: str) -> Any:
    harness.stop()
    again = open_harness(**settings)
    again.broker.security.load()
    return again


def test_without_an_authorizer_acl_apis_say_that_security_is_disabled(harness: Any) -> None:
    client = harness.client()

    assert client.ask(DESCRIBE, 3, **EVERYTHING).error_code == 54
    assert codes(client.ask(CREATE, 3, creations=[RULE])) == [54]
    answer = client.ask(DELETE, 3, filters=[EVERYTHING])
    assert [row.error_code for row in answer.filter_results] == [54]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rules_are_created_described_and_deleted(secured: Any, version: int) -> None:
    client = secured.client()
    other = {**RULE, "resource_name": "pay", "resource_pattern_type": 4, "operation": 4}
    invalid = {**RULE, "resource_name": ""}

    created = client.ask(CREATE, version, creations=[RULE, RULE, invalid, other])
    assert codes(created) == [0, 0, 42, 0]
    described = client.ask(DESCRIBE, version, **EVERYTHING)
    assert [(row.resource_name, row.pattern_type) for row in described.resources] == [
        ("orders", 3),
        ("pay", 4),
    ]
    [rule] = described.resources[0].acls
    assert (rule.principal, rule.host, rule.operation, rule.permission_type) == (
        "User:alice",
        "*",
        3,
        3,
    )

    filters = [{**EVERYTHING, "resource_name_filter": "orders"}, {**EVERYTHING, "operation": 0}]
    answer = client.ask(DELETE, version, filters=filters)
    assert [row.error_code for row in answer.filter_results] == [0, 42]
    assert [row.resource_name for row in answer.filter_results[0].matching_acls] == ["orders"]
    assert names(client) == ["pay"]


def test_rules_count_as_soon_as_they_are_answered(secured: Any) -> None:
    client = secured.client()
    authorizer = secured.broker.authorizer
    question = (Identity(ALICE, "::1"), Operation.READ, ResourceType.TOPIC, "orders")
    assert not authorizer.allows(*question)

    client.ask(CREATE, 3, creations=[RULE])
    assert authorizer.allows(*question)

    client.ask(DELETE, 3, filters=[EVERYTHING])
    assert not authorizer.allows(*question)


def test_a_fetch_that_waits_is_answered_when_its_rule_is_deleted(secured: Any) -> None:
    administrator, reader = secured.client(), secured.client()
    secured.broker.create_topic("orders", 1, {})
    administrator.ask(CREATE, 3, creations=[RULE])
    reader.connection.identity = Identity(ALICE, "127.0.0.1")
    reader.send(FETCH, 11, **fetch_fields("orders", 0, max_wait_ms=3_600_000))
    reader.receive_nothing()

    administrator.ask(DELETE, 3, filters=[EVERYTHING])

    [row] = reader.receive().responses[0].partitions
    assert row.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_rules_users_and_roles_are_there_after_a_restart(secured: Any, open_harness: Any) -> None:
    client = secured.client()
    client.ask(CREATE, 3, creations=[RULE, {**RULE, "resource_name": "gone"}])
    client.ask(DELETE, 3, filters=[{**EVERYTHING, "resource_name_filter": "gone"}])
    client.ask(ALTER_SCRAM, 0, deletions=[], upsertions=[credential(), credential("bob")])
    client.ask(ALTER_SCRAM, 0, deletions=[{"name": "bob", "mechanism": 1}], upsertions=[])
    before = secured.broker.security.state

    again = restarted(open_harness, secured, authorizer_class_name="acl", super_users="User:ANON")

    state = again.broker.security.state
    assert set(state.acls) == set(before.acls)
    assert [acl.resource_name for acl in state.acls] == ["orders"]
    assert list(state.users) == ["alice"]
    assert state.users == before.users
    assert state.decoy_secret == before.decoy_secret is not None


@pytest.mark.parametrize(
    ("key", "fields"),
    [
        (DESCRIBE, EVERYTHING),
        (CREATE, {"creations": [RULE]}),
        (DELETE, {"filters": [EVERYTHING]}),
        (DESCRIBE_SCRAM, {"users": None}),
        (ALTER_SCRAM, {"deletions": [], "upsertions": [credential()]}),
    ],
)
def test_a_client_without_rights_on_the_cluster_is_refused(
    open_harness: Any, key: int, fields: dict[str, Any]
) -> None:
    harness = open_harness(authorizer_class_name="acl")
    harness.broker.security.load()
    version = 0 if key >= DESCRIBE_SCRAM else 3

    answer = harness.client().ask(key, version, **fields)

    rows = getattr(answer, "results", None) or getattr(answer, "filter_results", None)
    found = [row.error_code for row in rows] if rows else [answer.error_code]
    assert found == [31]
    state = harness.broker.security.state
    assert not state.users
    assert not len(state.acls)


def test_credentials_are_described_without_their_keys(secured: Any) -> None:
    client = secured.client()
    altered = client.ask(
        ALTER_SCRAM,
        0,
        deletions=[{"name": "carol", "mechanism": 1}],
        upsertions=[credential(), credential("bob", iterations=1)],
    )
    assert {row.user: row.error_code for row in altered.results} == {
        "carol": 91,
        "alice": 0,
        "bob": 93,
    }

    everyone = client.ask(DESCRIBE_SCRAM, 0, users=None)
    some = client.ask(
        DESCRIBE_SCRAM, 0, users=[{"name": each} for each in ("alice", "bob", "eve", "eve")]
    )

    assert [row.user for row in everyone.results] == ["alice"]
    [info] = everyone.results[0].credential_infos
    assert (info.mechanism, info.iterations) == (1, 4096)
    assert [(row.user, row.error_code) for row in some.results] == [
        ("alice", 0),
        ("bob", 91),
        ("eve", 92),
    ]


def produced(client: Any, harness: Any, *changes: Any) -> int:
    now_ms = harness.broker.clock.now_ms()
    rows = [Record(i, now_ms, *encode(change)) for i, change in enumerate(changes)]
    return int(client.produce("__security", bytes(encode_batch(rows))).error_code)


def ensure_topic(client: Any) -> None:
    assert codes(client.ask(ALTER_SCRAM, 0, deletions=[], upsertions=[credential()])) == [0]


TOKEN = Token("ab" * 32, ALICE, 0, None)
SUBJECT = Acl(
    ResourceType.SUBJECT,
    PatternType.LITERAL,
    "orders-value",
    ALICE,
    "*",
    Operation.READ,
    Permission.ALLOW,
)


def test_an_administrator_appends_tokens_roles_and_rules_about_subjects(secured: Any) -> None:
    client = secured.client()
    ensure_topic(client)
    writers = Principal("Role", "writers")

    code = produced(
        client,
        secured,
        TokenChange(TOKEN.token_id, TOKEN),
        RoleMemberChange(writers, ALICE, present=True),
        AclChange(SUBJECT, present=True),
    )

    assert code == 0
    state = secured.broker.security.state
    secured.turn_until(lambda: SUBJECT in state.acls)
    assert state.tokens == {TOKEN.token_id: TOKEN}
    assert state.members[writers] == {ALICE}
    assert names(client) == []  # Kafka's APIs do not know subjects.


@pytest.mark.parametrize(
    "change",
    [
        ScramChange("alice", ScramMechanism.SCRAM_SHA_256, None),
        AclChange(SUBJECT._replace(resource_type=ResourceType.TOPIC), present=True),
    ],
)
def test_what_kafkas_apis_carry_cannot_be_appended_around_them(secured: Any, change: Any) -> None:
    client = secured.client()
    ensure_topic(client)

    assert produced(client, secured, TokenChange(TOKEN.token_id, TOKEN), change) == 87

    state = secured.broker.security.state
    assert "alice" in state.users
    assert not state.tokens


@pytest.mark.parametrize(
    "how", [{"control": True}, {"producer": BatchProducer(1, 0, 0, transactional=True)}]
)
def test_a_batch_that_is_a_marker_or_of_a_transaction_is_refused(
    secured: Any, how: dict[str, Any]
) -> None:
    """A marker is not replayed, and an aborted change must not count."""
    client = secured.client()
    ensure_topic(client)
    row = Record(0, secured.broker.clock.now_ms(), *encode(TokenChange(TOKEN.token_id, TOKEN)))

    with pytest.raises(KafkaError, match="no transactional records"):
        check_client_batch(memoryview(encode_batch([row], **how)))


@pytest.mark.parametrize("codec", list(Compression)[1:])
def test_a_batch_that_becomes_large_is_not_opened_on_the_loop(codec: Compression) -> None:
    token = TOKEN._replace(description="d" * (2 << 20))
    row = Record(0, 0, *encode(TokenChange(token.token_id, token)))

    with pytest.raises(KafkaError, match="cannot be read"):
        check_client_batch(memoryview(encode_batch([row], compression=codec)))


@pytest.mark.parametrize(
    ("key", "value"), [(b"{}", b"{}"), (b"x", b"y"), (b'{"kind":"passkey"}', b"{}")]
)
def test_a_malformed_record_of_a_client_is_refused(secured: Any, key: bytes, value: bytes) -> None:
    client = secured.client()
    ensure_topic(client)

    assert client.produce("__security", secured.batch(value, key=key)).error_code == 87


def test_a_client_with_topic_rights_only_can_neither_read_nor_write_the_topic(
    open_harness: Any,
) -> None:
    harness = open_harness(authorizer_class_name="acl")
    harness.broker.security.load()
    state = harness.broker.security.state
    everything = SUBJECT._replace(
        resource_type=ResourceType.TOPIC,
        resource_name="*",
        principal=Principal("User", "*"),
        operation=Operation.ALL,
    )
    state.apply(AclChange(everything, present=True))
    administrator = RoleMemberChange(ADMINISTRATORS, ANONYMOUS, present=True)
    state.apply(administrator)
    client = harness.client()
    ensure_topic(client)
    state.apply(RoleMemberChange(ADMINISTRATORS, ANONYMOUS, present=False))

    assert produced(client, harness, TokenChange(TOKEN.token_id, TOKEN)) == 29
    assert not harness.broker.authorizer.allows(
        client.connection.identity, Operation.READ, ResourceType.TOPIC, "__security"
    )


def test_without_an_authorizer_no_client_reads_or_writes_the_topic(harness: Any) -> None:
    harness.broker.security.load()
    client = harness.client()
    ensure_topic(client)

    assert produced(client, harness, TokenChange(TOKEN.token_id, TOKEN)) == 3
    fetched = client.fetch("__security", 0)
    assert (fetched.error_code, fetched.records) in [(3, None), (3, b"")]


def test_clients_cannot_delete_create_or_reconfigure_the_topic(secured: Any) -> None:
    client = secured.client()
    ensure_topic(client)

    deleted = client.ask(DELETE_TOPICS, 5, topic_names=["__security"], timeout=1000)
    assert [row.error_code for row in deleted.responses] == [42]
    altered = client.ask(
        ALTER_CONFIGS,
        1,
        resources=[
            {
                "resource_type": 2,
                "resource_name": "__security",
                "configs": [{"name": "cleanup.policy", "config_operation": 0, "value": "delete"}],
            }
        ],
        validate_only=False,
    )
    assert [row.error_code for row in altered.responses] == [44]


def test_a_record_that_cannot_be_read_stops_the_start(secured: Any, open_harness: Any) -> None:
    """A lost DENY rule could open what it protects."""
    ensure_topic(secured.client())
    batch = encode_batch([Record(0, 0, b'{"kind":"acl"}', b"{}")])
    found = secured.broker.topics.find("__security").partitions[0]
    found.waiters.clear()
    done: list[object] = []
    secured.broker.append_internal("__security", 0, batch, done.append)
    secured.turn_until(lambda: done)
    secured.stop()

    again = open_harness(authorizer_class_name="acl")
    with pytest.raises(LogError, match="is damaged"):
        again.broker.security.load()


def test_secrets_of_alterations_are_in_no_log(
    secured: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CVE-2026-33558, also when the handler fails with a text that shows the request."""

    def failing(*arguments: object) -> None:
        raise RuntimeError("hsuH"[::-1])  # The traceback shows this line.

    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(api, "alter_credentials", failing)
    client = secured.client()

    answer = client.ask(ALTER_SCRAM, 0, deletions=[], upsertions=[credential(salt=b"Hush")])

    assert codes(answer) == [-1]
    text = caplog.text + "".join(str(record.__dict__) for record in caplog.records)
    assert "RuntimeError: ***" in text
    assert "Hush" not in text


def test_bytes_that_are_not_a_secret_request_are_not_repeated(
    secured: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = secured.client()
    head = (51).to_bytes(2) + (0).to_bytes(2) + (0).to_bytes(4) + b"\xff\xff\0"
    frame = head + b"\x01\x02\x05Hush\xff\xff\xff"
    client.send_bytes(len(frame).to_bytes(4) + frame)

    secured.turn_until(lambda: client.connection.closed)
    text = "".join(str(record.__dict__) for record in caplog.records)
    assert "Hush" not in text
    assert "cannot be decoded" in text


def test_changes_are_in_the_audit_log(secured: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="duolog.audit")
    client = secured.client()

    client.ask(CREATE, 3, creations=[RULE])
    client.ask(ALTER_SCRAM, 0, deletions=[], upsertions=[credential()])

    lines = [row.getMessage() for row in caplog.records if row.name == "duolog.audit"]
    assert len(lines) == 2
    assert "ALLOW READ for User:alice from * on LITERAL TOPIC orders" in lines[0]
    assert "SCRAM-SHA-256 credential of user alice" in lines[1]
    assert "User:ANONYMOUS" in lines[1]


def test_refused_operations_are_in_the_audit_log(
    secured: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="duolog.audit")
    secured.broker.create_topic("orders", 1, {})
    client = secured.client()
    client.connection.identity = Identity(ALICE, "127.0.0.1")

    assert client.fetch("orders", 0).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    client.fetch("orders", 0)
    client.ask(METADATA, 12, topics=None)
    client.ask(DESCRIBE, 3, **EVERYTHING)

    rows = [json.loads(row.getMessage()) for row in caplog.records if row.name == "duolog.audit"]
    assert [(row["event"], row["principal"], row["resource_name"]) for row in rows] == [
        ("denied", "User:alice", "orders"),
        ("denied", "User:alice", CLUSTER_NAME),
    ]
    assert rows[0]["operation"] == "READ"
    assert rows[0]["resource_type"] == "TOPIC"


def test_the_cluster_is_administered_by_rules_as_well(open_harness: Any) -> None:
    harness = open_harness(authorizer_class_name="acl")
    harness.broker.security.load()
    rule = SUBJECT._replace(
        resource_type=ResourceType.CLUSTER,
        resource_name=CLUSTER_NAME,
        principal=ANONYMOUS,
        operation=Operation.ALTER,
    )
    harness.broker.security.state.apply(AclChange(rule, present=True))
    client = harness.client()

    assert codes(client.ask(CREATE, 3, creations=[RULE])) == [0]
    assert "orders" in names(client)
