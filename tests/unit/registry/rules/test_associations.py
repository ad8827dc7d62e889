from typing import TYPE_CHECKING

import pytest

from duolog.registry.errors import RequestError
from duolog.registry.rules.association_requests import AssociationRequest
from unit.registry.harness import Harness, shown, string_record
from unit.registry.rules.orders_topic import STRONG, change, create, invalid, refusal, resource

if TYPE_CHECKING:
    from duolog.registry.json_text import Json

A = string_record("A", "x")
B = string_record("A", "x", optional=("y",))


def test_a_topic_without_associations_has_an_empty_list(harness: Harness) -> None:
    assert shown(harness.registry.associations_of_resource("-", "orders")) == []
    assert shown(harness.registry.associations_of_subject("s")) == []
    assert shown(harness.registry.associations_of_resource_id("id")) == []


def test_a_schema_makes_the_subject_belong_to_its_topic(harness: Harness) -> None:
    answer = create(harness, {"associationType": "value", "schema": {"schema": A}})

    assert answer == {
        "resourceName": "orders",
        "resourceNamespace": "lkc1",
        "resourceId": "id1",
        "resourceType": "topic",
        "associations": [
            {
                "subject": STRONG,
                "associationType": "value",
                "lifecycle": "STRONG",
                "schema": {"subject": STRONG, "version": 1, "id": 1, "schema": A},
            }
        ],
    }
    assert harness.keys() == ["CONTEXT", f"SCHEMA {STRONG} v1", f"ASSOC {STRONG}"]
    expected = {
        "subject": STRONG,
        "guid": "guid-1",
        "resourceName": "orders",
        "resourceNamespace": "lkc1",
        "resourceId": "id1",
        "resourceType": "topic",
        "associationType": "value",
        "lifecycle": "STRONG",
        "createTs": 1002,
        "updateTs": 1002,
    }
    registry = harness.registry
    assert shown(registry.associations_of_subject(STRONG)) == [expected]
    assert shown(registry.associations_of_resource("lkc1", "orders")) == [expected]
    assert shown(registry.associations_of_resource("-", "orders")) == [expected]
    assert shown(registry.associations_of_resource("lkc1", "-")) == [expected]
    assert shown(registry.associations_of_resource_id("id1")) == [expected]
    assert shown(registry.associations_of_resource("lkc2", "orders")) == []
    assert shown(registry.associations_of_resource_id("id1", association_types=["key"])) == []


def test_a_subject_without_a_schema_is_shared(weak: Harness) -> None:
    found = shown(weak.registry.associations_of_subject("shared"))

    assert isinstance(found, list)
    assert found[0]["lifecycle"] == "WEAK"
    assert "frozen" not in found[0]


def test_key_and_value_get_their_ids_in_one_request(harness: Harness) -> None:
    create(
        harness,
        {"associationType": "key", "schema": {"schema": '"string"'}},
        {"associationType": "value", "schema": {"schema": A}},
    )

    registry = harness.registry
    assert registry.version(":.lkc1:orders-key", "1").id == 1
    assert registry.version(STRONG, "1").id == 2


def test_creating_again_changes_nothing_and_another_one_has_code_40903(strong: Harness) -> None:
    before = len(strong.log)

    create(strong, {"associationType": "value", "schema": {"schema": A}})

    assert len(strong.log) == before
    with pytest.raises(RequestError) as caught:
        create(strong, {"associationType": "value", "schema": {"schema": B}})
    text = "An association of type 'value' already exists for resource 'orders'"
    assert refusal(caught) == (40903, text)


def test_a_subject_that_belongs_to_a_topic_is_not_shared(strong: Harness) -> None:
    for item, code in (({"subject": STRONG}, 40905),):
        with pytest.raises(RequestError) as caught:
            create(strong, item, resourceName="other", resourceId="id2")
        assert caught.value.code == code


def test_a_shared_subject_cannot_belong_to_a_topic(harness: Harness) -> None:
    harness.register(STRONG, A)
    create(harness, {"subject": STRONG}, resourceName="other", resourceId="id2")

    with pytest.raises(RequestError) as caught:
        create(harness, {"associationType": "value", "schema": {"schema": A}})

    assert refusal(caught) == (40904, f"An association already exists for subject '{STRONG}'")


def test_a_shared_subject_may_be_shared_again(weak: Harness) -> None:
    create(weak, {"subject": "shared"}, resourceName="other", resourceId="id2")

    found = weak.registry.associations_of_subject("shared")
    assert [answer.value.resource_name for answer in found] == ["orders", "other"]


def test_a_subject_with_associations_cannot_be_deleted(weak: Harness) -> None:
    with pytest.raises(RequestError) as subject:
        weak.registry.delete_subject("shared")
    with pytest.raises(RequestError) as version:
        weak.registry.delete_version("shared", "1")

    assert refusal(subject) == (40904, "An association already exists for subject 'shared'")
    text = "No active (non-deleted) version exists for subject 'shared'"
    assert refusal(version) == (40907, text)


def test_a_subject_without_versions_has_code_40907(harness: Harness) -> None:
    with pytest.raises(RequestError) as caught:
        create(harness, {"subject": "none"})

    assert caught.value.code == 40907


def test_a_strong_subject_cannot_be_referred_to(strong: Harness) -> None:
    strong_reference: Json = [{"name": "A", "subject": STRONG, "version": 1}]
    user = '{"type":"record","name":"U","fields":[{"name":"a","type":"A"}]}'

    with pytest.raises(RequestError) as caught:
        strong.register("user", user, references=strong_reference)

    text = f"Subject '{STRONG}' has a strong association and cannot be referenced"
    assert refusal(caught) == (42205, text)


def test_a_subject_that_is_referred_to_cannot_become_strong(harness: Harness) -> None:
    harness.register(STRONG, A)
    user = '{"type":"record","name":"U","fields":[{"name":"a","type":"A"}]}'
    harness.register("user", user, references=[{"name": "A", "subject": STRONG, "version": 1}])

    with pytest.raises(RequestError) as caught:
        create(harness, {"associationType": "value", "schema": {"schema": A}})

    assert caught.value.code == 42206


def test_a_frozen_association_cannot_be_changed(strong: Harness) -> None:
    with pytest.raises(RequestError) as changed:
        change(strong, {"associationType": "value", "lifecycle": "STRONG", "frozen": False})
    with pytest.raises(RequestError) as deleted:
        strong.registry.delete_associations("id1")

    assert changed.value.code == 42212
    text = f"The association of type  'value' is frozen for subject '{STRONG}'"
    assert refusal(deleted) == (40908, text)


def test_deleting_a_shared_association_keeps_its_subject(weak: Harness) -> None:
    weak.commit(weak.registry.delete_associations("id1"))

    assert shown(weak.registry.associations_of_subject("shared")) == []
    assert weak.registry.versions("shared") == (1,)
    with pytest.raises(RequestError) as caught:
        weak.registry.delete_associations("id1")
    assert refusal(caught) == (40410, "Association for 'id1' not found.")


def test_cascading_deletes_the_subject_of_the_topic(strong: Harness) -> None:
    strong.commit(strong.registry.delete_associations("id1", cascade=True))

    assert strong.registry.subjects(deleted=True) == ()
    assert strong.keys()[-4:] == [
        f"ASSOC {STRONG} tombstone",
        f"DELETE_SUBJECT {STRONG}",
        f"SCHEMA {STRONG} v1 tombstone",
        "NOOP duolog.highest.ids",
    ]


def test_a_dry_run_checks_and_writes_nothing(harness: Harness) -> None:
    item: dict[str, Json] = {"associationType": "value", "schema": {"schema": A}}
    body = AssociationRequest.from_json(resource(item, resourceId=None))

    decision = harness.registry.create_associations(body, dry_run=True)

    assert decision.records == ()
    assert shown(decision.answer) == {
        "resourceName": "orders",
        "resourceNamespace": "lkc1",
        "resourceType": "topic",
    }
    bad = AssociationRequest.from_json(resource({"schema": {"schema": "no"}}))
    with pytest.raises(RequestError) as caught:
        harness.registry.create_associations(bad, dry_run=True)
    assert caught.value.code == 42201


def test_a_schema_that_its_configuration_refuses_has_code_40901(harness: Harness) -> None:
    harness.configure(STRONG, validateFields=True)
    schema: Json = {"schema": A, "metadata": {"properties": {"confluent:reserved": "x"}}}

    with pytest.raises(RequestError, match="conflicts with the reserved field x") as caught:
        create(harness, {"associationType": "value", "schema": schema})

    assert caught.value.code == 40901


def test_an_incompatible_schema_writes_nothing_of_the_request(harness: Harness) -> None:
    harness.configure(STRONG, compatibility="FORWARD")
    harness.set_mode(STRONG, "READWRITE")
    before = len(harness.log)

    with pytest.raises(RequestError):
        create(
            harness,
            {"associationType": "key", "schema": {"schema": '"string"'}},
            {"associationType": "value", "schema": {"schema": "no"}},
        )

    assert len(harness.log) == before
    assert harness.registry.subjects() == ()
    assert create(harness, {"associationType": "key", "schema": {"schema": '"string"'}})
    assert harness.registry.version(":.lkc1:orders-key", "1").id == 1


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"resourceName": ""}, invalid("resourceName", "cannot be null or empty")),
        ({"resourceName": "a.b"}, invalid("resourceName", "illegal character '.'")),
        ({"resourceName": "a" * 257}, invalid("resourceName", "exceeds max length of 256")),
        ({"resourceNamespace": None}, invalid("resourceNamespace", "cannot be null or empty")),
        ({"resourceId": None}, invalid("resourceId", "cannot be null or empty")),
        ({"resourceType": "table"}, invalid("resourceType", "must be 'topic'")),
        ({"associations": []}, invalid("associations", "cannot be null or empty")),
    ],
)
def test_a_resource_that_is_not_valid(
    harness: Harness, body: dict[str, str], expected: tuple[int, str]
) -> None:
    with pytest.raises(RequestError) as caught:
        create(harness, {"subject": "s"}, **body)

    assert refusal(caught) == expected


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({}, invalid("subject", f"WEAK associations cannot use subject '{STRONG}'")),
        ({"subject": ""}, invalid("subject", "must not be empty")),
        (
            {"subject": "s", "associationType": "header"},
            invalid("associationType", "must be either 'key' or 'value'"),
        ),
        (
            {"subject": "s", "lifecycle": "WEAK", "schema": {"schema": A}},
            invalid("lifecycle", "cannot be WEAK when schema is provided"),
        ),
        (
            {"subject": "s", "lifecycle": "WEAK", "frozen": True},
            invalid("frozen", "association with lifecycle of WEAK cannot be frozen=true"),
        ),
        (
            {"frozen": False, "schema": {"schema": A}},
            invalid("frozen", "cannot be false when a schema is provided"),
        ),
        (
            {"subject": "s", "schema": {"schema": A}},
            invalid("subject", f"frozen associations must use subject '{STRONG}'"),
        ),
        (
            {"lifecycle": "STRONG"},
            invalid("schema", "schema must be provided when creating a frozen association"),
        ),
    ],
)
def test_an_association_that_is_not_valid(
    harness: Harness, item: dict[str, str], expected: tuple[int, str]
) -> None:
    if item == {}:
        expected = invalid("subject", "must be provided for WEAK associations")
    harness.register("s", A)

    with pytest.raises(RequestError) as caught:
        create(harness, item)

    assert refusal(caught) == expected


def test_all_associations_of_a_topic_have_one_lifecycle(weak: Harness) -> None:
    with pytest.raises(RequestError) as caught:
        create(weak, {"associationType": "key", "schema": {"schema": '"string"'}})

    text = "all associations for a resource must have the same lifecycle, but got value=WEAK, key=STRONG"
    assert refusal(caught) == invalid("lifecycle", text)


def test_a_type_appears_once_in_a_request(harness: Harness) -> None:
    harness.register("s", A)

    with pytest.raises(RequestError) as caught:
        create(harness, {"subject": "s"}, {"subject": "s"})

    text = "may only appear once per request, but 'value' appears more than once"
    assert refusal(caught) == invalid("associationType", text)


def test_put_creates_a_shared_association_and_keeps_an_equal_one(harness: Harness) -> None:
    harness.register("shared", A)

    change(harness, {"subject": "shared"})
    before = len(harness.log)
    change(harness, {"subject": "shared"})

    assert len(harness.log) == before
    with pytest.raises(RequestError) as strong:
        change(harness, {"associationType": "key", "lifecycle": "STRONG"})
    assert refusal(strong)[0] == 42212
    with pytest.raises(RequestError) as other:
        change(harness, {"subject": "shared"}, resourceId="id2")
    assert "Resource ID in the path" in other.value.message


def test_a_subject_of_a_request_is_in_its_context(harness: Harness) -> None:
    harness.register(":.dev:shared", A)
    body = AssociationRequest.from_json(resource({"subject": "shared"}))

    harness.commit(harness.registry.create_associations(body, context=":.dev:"))

    assert len(harness.registry.associations_of_subject(":.dev:shared")) == 1


def test_the_time_of_creation_stays_when_an_association_changes(harness: Harness) -> None:
    harness.set_mode(":.lkc1:", "IMPORT")
    harness.register(STRONG, A, id=1, version=1)
    harness.register("shared", A)
    create(harness, {"subject": "shared"})
    created = harness.registry.associations_of_resource_id("id1")[0].value
    harness.append(*harness.log[-1][:2])

    changed = harness.registry.associations_of_resource_id("id1")[0].value

    assert changed.create_timestamp == created.create_timestamp
    assert changed.timestamp != created.timestamp


def test_another_topic_of_the_same_name_has_times_of_its_own(weak: Harness) -> None:
    create(weak, {"subject": "shared"}, resourceId="id2")

    assert weak.registry.associations_of_resource_id("id1") == ()
    (found,) = weak.registry.associations_of_resource_id("id2")
    assert found.value.guid == "guid-2"
    assert found.value.create_timestamp == found.value.timestamp


def test_schemas_are_listed_by_their_associations(strong: Harness) -> None:
    strong.register("plain", A)
    registry = strong.registry

    def found(**filters: list[str]) -> list[str]:
        answers = registry.schemas(":*:", **filters)  # type: ignore[arg-type]
        return [answer.subject for answer in answers]

    assert found(lifecycles=["STRONG"]) == [STRONG]
    assert found(lifecycles=["NONE"]) == ["plain"]
    assert found(lifecycles=["NONE", "STRONG"]) == [STRONG, "plain"]
    assert found(lifecycles=["WEAK"]) == []
    assert found(association_types=["key"]) == []
    assert len(registry.schemas(":*:", association_types=["value"])[0].associations) == 1
