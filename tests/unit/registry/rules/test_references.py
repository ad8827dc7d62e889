import json

import pytest

from duolog.registry.errors import RequestError
from duolog.registry.records import Record, encode
from duolog.registry.records.keys import SchemaKey
from duolog.registry.records.values import SchemaValue
from duolog.schemas.schema import Reference
from unit.registry.harness import Harness, registry_of, request, shown, string_record
from unit.registry.small_language import parse_small

BASE = string_record("T", "x")
USER = '{"type":"record","name":"U","fields":[{"name":"t","type":"T"}]}'


def reference(subject: str, version: int = 1, name: str = "T") -> dict[str, str | int]:
    return {"name": name, "subject": subject, "version": version}


@pytest.fixture
def referring(harness: Harness) -> Harness:
    harness.register("base", BASE)
    harness.register("user", USER, references=[reference("base")])
    return harness


def test_a_version_shows_its_references(referring: Harness) -> None:
    answer = shown(referring.registry.version("user", "1"))

    assert isinstance(answer, dict)
    assert answer["references"] == [{"name": "T", "subject": "base", "version": 1}]


def test_version_minus_1_becomes_the_latest_one(harness: Harness) -> None:
    harness.register("base", '"int"')
    harness.register("base", BASE, force=True)

    harness.register("user", USER, references=[reference("base", -1)])

    assert harness.registry.version("user", "1").references[0].version == 2
    latest = request(USER, references=[reference("base", -1)])
    assert harness.registry.register("user", latest).records == ()


def test_a_stored_version_of_minus_1_means_the_latest_one(harness: Harness) -> None:
    harness.register("base", BASE)
    stored = SchemaValue("user", 1, 7, USER, references=(Reference("T", "base", -1),))
    harness.append(*encode(Record(SchemaKey("user", 1), stored)))

    for version in (-1, 1):
        again = request(USER, references=[reference("base", version)])
        assert harness.registry.register("user", again).records == ()
        assert harness.registry.look_up("user", again).version == 1

    harness.register("base", string_record("T", "x", optional=("y",)))
    old = request(USER, references=[reference("base", 1)])
    with pytest.raises(RequestError, match="Schema not found"):
        harness.registry.look_up("user", old)


def test_a_stored_version_of_minus_1_whose_subject_is_gone_equals_nothing(harness: Harness) -> None:
    stored = SchemaValue("user", 1, 7, USER, references=(Reference("T", "base", -1),))
    harness.append(*encode(Record(SchemaKey("user", 1), stored)))
    harness.register("other", BASE)

    with pytest.raises(RequestError, match="Schema not found"):
        harness.registry.look_up("user", request(USER, references=[reference("other")]))


@pytest.mark.parametrize(("subject", "version"), [("base", 2), ("other", 1), ("base", 0)])
def test_an_unknown_reference_has_code_42201(
    referring: Harness, subject: str, version: int
) -> None:
    with pytest.raises(RequestError) as caught:
        referring.register("new", USER, references=[reference(subject, version)])

    assert caught.value.code == 42201
    assert caught.value.message == (
        "Invalid schema of type AVRO, details: No schema reference found for subject "
        f'"{subject}" and version {version}'
    )


def test_a_new_schema_cannot_refer_to_a_deleted_one_and_an_old_one_can(referring: Harness) -> None:
    referring.register("base", string_record("T", "x", optional=("y",)))
    referring.register("other", USER, references=[reference("base", 2)])
    referring.commit(referring.registry.delete_version("user", "1"))
    referring.commit(referring.registry.delete_version("base", "1"))

    with pytest.raises(RequestError):
        referring.register("new", USER, references=[reference("base", 1)])
    found = referring.registry.look_up(
        "user", request(USER, references=[reference("base")]), deleted=True
    )

    assert found.version == 1


def test_nested_references_are_resolved(referring: Harness) -> None:
    top = '{"type":"record","name":"V","fields":[{"name":"u","type":"U"}]}'

    referring.register("top", top, references=[reference("user", 1, "U")])

    resolved = referring.registry.version("top", "1", form="resolved").schema
    assert '"name":"x"' in resolved


def test_the_schemas_that_refer_to_a_version(referring: Harness) -> None:
    referring.register("again", USER, references=[reference("base")])
    registry = referring.registry

    assert registry.referenced_by("base", "1") == (2,)
    assert registry.referenced_by("user", "latest") == ()
    referring.soft_delete("user")
    assert registry.referenced_by("base", "1") == (2,)
    referring.soft_delete("again")
    assert registry.referenced_by("base", "1") == ()
    assert registry.referenced_by("base", "1", deleted=True) == (2,)
    with pytest.raises(RequestError) as caught:
        registry.referenced_by("base", "2")
    assert caught.value.code == 40402


def test_a_version_that_is_referred_to_cannot_be_deleted(referring: Harness) -> None:
    for delete in (
        lambda: referring.registry.delete_version("base", "1"),
        lambda: referring.registry.delete_subject("base"),
    ):
        with pytest.raises(RequestError) as caught:
            delete()
        assert caught.value.code == 42206
        assert caught.value.message == (
            "One or more references exist to the schema "
            "{magic=1,keytype=SCHEMA,subject=base,version=1}."
        )


def test_it_cannot_be_hard_deleted_as_long_as_a_deleted_schema_refers_to_it(
    referring: Harness,
) -> None:
    referring.soft_delete("user")
    referring.soft_delete("base")

    with pytest.raises(RequestError) as of_subject:
        referring.hard_delete("base")
    with pytest.raises(RequestError) as of_version:
        referring.registry.delete_version("base", "1", permanent=True)
    referring.hard_delete("user")

    assert of_subject.value.code == of_version.value.code == 42206
    assert referring.hard_delete("base") == (1,)


def test_a_subject_with_references_within_itself_is_deleted_as_a_whole(harness: Harness) -> None:
    harness.configure("s", compatibility="NONE")
    harness.register("s", BASE)
    harness.register("s", USER, references=[reference("s")])

    assert harness.soft_delete("s") == (1, 2)
    assert harness.hard_delete("s") == (1, 2)
    assert harness.keys()[-4:-1] == [
        "SCHEMA s v2 tombstone",
        "SCHEMA s v1 tombstone",
        "NOOP duolog.highest.ids",
    ]


def test_a_deleted_version_keeps_its_place_while_something_refers_to_it(harness: Harness) -> None:
    harness.register("base", BASE)
    harness.register("user", USER, references=[reference("base")])
    harness.soft_delete("user")
    harness.soft_delete("base")

    harness.register("base", BASE)

    assert harness.registry.versions("base", deleted=True) == (1, 2)


def test_references_stay_in_their_context_unless_qualified(harness: Harness) -> None:
    harness.register(":.dev:base", BASE)
    harness.register("base", '"int"')

    harness.register(":.dev:user", USER, references=[reference("base")])
    harness.register("user", USER, references=[reference(":.dev:base")])

    registry = harness.registry
    assert registry.version(":.dev:user", "1").references[0].subject == "base"
    qualified = registry.version(":.dev:user", "1", reference_form="qualified")
    assert qualified.references[0].subject == ":.dev:base"
    assert registry.version("user", "1", reference_form="qualified").references[0].subject == (
        ":.dev:base"
    )
    assert (
        registry.schema_by_id(2, subject=":.dev:user", reference_form="qualified")
        .references[0]
        .subject
        == ":.dev:base"
    )
    with pytest.raises(RequestError):
        registry.delete_subject(":.dev:base")


def test_the_order_of_references_counts_unless_normalized(harness: Harness) -> None:
    harness.register("t", BASE)
    harness.register("v", string_record("V", "x"))
    both = '{"type":"record","name":"U","fields":[{"name":"t","type":"T"},{"name":"v","type":"V"}]}'
    one = [reference("t"), reference("v", 1, "V")]

    harness.register("plain", both, references=one)
    with pytest.raises(RequestError):
        harness.registry.look_up("plain", request(both, references=one[::-1]))
    harness.register("normal", both, references=one[::-1], normalize=True)

    assert (
        harness.registry.look_up("normal", request(both, references=one), normalize=True).version
        == 1
    )


def version_of(index: int, refers_to: int) -> Record:
    references = (Reference(f"r{refers_to}", f"s{refers_to}", 1),)
    value = SchemaValue(
        f"s{index}", 1, index + 1, f"{index}", schema_type="JSON", references=references
    )
    return Record(SchemaKey(f"s{index}", 1), value)


def test_a_long_chain_of_references_is_resolved_in_order() -> None:
    harness = Harness(registry_of(parse=parse_small))
    harness.register("s0", "0", schemaType="JSON")
    for index in range(1, 2000):
        harness.append(*encode(version_of(index, index - 1)))
    last = [reference("s1999", 1, "r1999")]

    harness.register("top", '"top"', schemaType="JSON", references=last)

    resolved = json.loads(harness.registry.version("top", "1", form="references").schema)
    assert list(resolved.items()) == [(f"r{index}", f"{index}") for index in range(2000)]


def test_a_cycle_of_references_in_the_topic_ends() -> None:
    harness = Harness(registry_of(parse=parse_small))
    harness.append(*encode(version_of(1, 2)))
    harness.append(*encode(version_of(2, 1)))
    first = [reference("s1", 1, "r1")]

    assert harness.register("top", '"top"', schemaType="JSON", references=first) == 4
