import pytest

from duolog.registry.errors import RequestError
from unit.registry.harness import Harness, request, shown, string_record

A = string_record("A", "x")
B = string_record("A", "x", optional=("y",))


def test_a_schema_is_found_with_version_and_id(harness: Harness) -> None:
    harness.register("other", '"int"')
    harness.register("s", A)

    answer = harness.registry.look_up("s", request(A))

    assert shown(answer) == {"subject": "s", "version": 1, "id": 2, "schema": A}


def test_an_unknown_subject_has_code_40401_and_an_unknown_schema_40403(harness: Harness) -> None:
    harness.register("s", A)

    with pytest.raises(RequestError, match=r"^Subject 't' not found\.$") as subject:
        harness.registry.look_up("t", request(A))
    with pytest.raises(RequestError, match=r"^Schema not found$") as schema:
        harness.registry.look_up("s", request(B))

    assert (subject.value.code, schema.value.code) == (40401, 40403)
    assert subject.value.status == schema.value.status == 404


def test_a_schema_of_another_subject_is_not_found(harness: Harness) -> None:
    harness.register("s", A)
    harness.register("t", B)

    with pytest.raises(RequestError) as caught:
        harness.registry.look_up("t", request(A))

    assert caught.value.code == 40403


def test_a_soft_deleted_version_is_found_only_with_deleted(harness: Harness) -> None:
    harness.register("s", A)
    harness.soft_delete("s")

    with pytest.raises(RequestError) as caught:
        harness.registry.look_up("s", request(A))
    found = harness.registry.look_up("s", request(A), deleted=True)

    assert caught.value.code == 40401
    assert (found.version, found.id) == (1, 1)


def test_references_metadata_and_rules_are_part_of_the_identity(harness: Harness) -> None:
    harness.register("s", A, metadata={"properties": {"a": "1"}})

    with pytest.raises(RequestError) as caught:
        harness.registry.look_up("s", request(A, metadata={"properties": {"a": "2"}}))

    assert caught.value.code == 40403


def test_metadata_of_the_latest_version_are_completed(harness: Harness) -> None:
    harness.register("s", A, metadata={"properties": {"a": "1"}})

    assert harness.registry.look_up("s", request(A)).version == 1


def test_the_confluent_version_may_be_missing_on_either_side(harness: Harness) -> None:
    harness.register("with", A, version=1)
    harness.register("without", A, metadata={})

    versioned = {"properties": {"confluent:version": "1"}}
    other = {"properties": {"confluent:version": "2"}}
    assert harness.registry.look_up("with", request(A, metadata={})).version == 1
    assert harness.registry.look_up("without", request(A, metadata=versioned)).version == 1
    with pytest.raises(RequestError):
        harness.registry.look_up("without", request(A, metadata=other))


def test_another_order_is_found_only_normalized(harness: Harness) -> None:
    text, other = '{"type":"object","title":"T"}', '{"title":"T","type":"object"}'
    harness.register("s", text, schemaType="JSON", normalize=True)

    assert harness.registry.look_up("s", request(text, schemaType="JSON"), normalize=True).id == 1
    assert harness.registry.look_up("s", request(other, schemaType="JSON"), normalize=True).id == 1
    with pytest.raises(RequestError):
        harness.registry.look_up("s", request(text, schemaType="JSON"))


def test_an_avro_schema_with_its_references_written_out_is_found(harness: Harness) -> None:
    base = string_record("T", "x")
    harness.register("base", base)
    harness.register(
        "s",
        '{"type":"record","name":"A","fields":[{"name":"t","type":"T"}]}',
        references=[{"name": "T", "subject": "base", "version": 1}],
    )
    whole = f'{{"type":"record","name":"A","fields":[{{"name":"t","type":{base}}}]}}'

    assert harness.registry.look_up("s", request(whole)).version == 1
    assert harness.registry.register("s", request(whole)).records == ()


def test_an_unqualified_subject_is_found_in_another_context(harness: Harness) -> None:
    harness.register(":.dev:s", A)

    answer = harness.registry.look_up("s", request(A))

    assert answer.subject == ":.dev:s"


def test_an_empty_schema_is_not_found(harness: Harness) -> None:
    harness.register("s", A)

    with pytest.raises(RequestError) as caught:
        harness.registry.look_up("s", request(""))

    assert caught.value.code == 40403


def test_the_latest_version_with_metadata(harness: Harness) -> None:
    harness.register("s", A, metadata={"properties": {"major": "1", "team": "a"}})
    harness.register("s", B, metadata={"properties": {"major": "1", "team": "b"}})
    harness.register(
        "s", string_record("A", "x", optional=("z",)), metadata={"properties": {"major": "2"}}
    )
    registry = harness.registry

    assert registry.latest_with_metadata("s", {"major": "1"}).version == 2
    assert registry.latest_with_metadata("s", {"major": "1", "team": "a"}).version == 1
    assert registry.latest_with_metadata("s", {}).version == 3
    with pytest.raises(RequestError, match="Schema not found"):
        registry.latest_with_metadata("s", {"major": "3"})
    with pytest.raises(RequestError, match="Subject 't' not found"):
        registry.latest_with_metadata("t", {"major": "1"})
