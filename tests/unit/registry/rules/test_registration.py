import pytest

from duolog.registry.errors import RequestError
from duolog.registry.json_text import Json
from duolog.registry.rules import RegisterRequest, RulesSettings
from unit.registry.harness import Harness, registry_of, request, shown, string_record

A = string_record("A", "x")
B = string_record("A", "x", optional=("y",))
C = string_record("A", "x", optional=("y", "z"))


def test_the_answer_is_the_id_and_with_the_header_all_of_the_version(harness: Harness) -> None:
    decision = harness.registry.register("s", request('"string"'), normalize=False)

    answer = harness.commit(decision)

    assert shown(answer) == {"id": 1}
    assert shown(answer, extended=True) == {
        "id": 1,
        "version": 1,
        "guid": "095d71cf-1255-6b9d-5e33-0ad575b3df5d",
        "schemaType": "AVRO",
        "schema": '"string"',
    }


def test_registering_twice_writes_once(harness: Harness) -> None:
    first = harness.register("s", A)

    decision = harness.registry.register("s", request(A))

    assert decision.records == ()
    assert decision.answer.schema.id == first
    assert decision.answer.schema.version == 1


def test_whitespace_makes_no_other_schema(harness: Harness) -> None:
    first = harness.register("s", A)

    assert harness.register("s", f"  {A.replace(',', ' , ')}\n") == first
    assert harness.registry.versions("s") == (1,)


def test_versions_count_in_a_subject_and_ids_in_a_context(harness: Harness) -> None:
    ids = [harness.register("s", A), harness.register("s", B), harness.register("t", '"int"')]

    assert ids == [1, 2, 3]
    assert harness.registry.versions("s") == (1, 2)
    assert harness.registry.versions("t") == (1,)


def test_equal_schemas_share_their_id_across_subjects(harness: Harness) -> None:
    assert harness.register("s", A) == harness.register("t", A) == 1


def test_ids_of_two_contexts_are_independent(harness: Harness) -> None:
    assert harness.register("s", A) == 1
    assert harness.register(":.dev:s", B) == 1
    assert harness.register(":.dev:t", A) == 2


def test_a_new_context_is_written_once(harness: Harness) -> None:
    harness.register(":.dev:s", A)
    harness.register(":.dev:t", A)

    assert harness.keys() == ["CONTEXT", "SCHEMA :.dev:s v1", "SCHEMA :.dev:t v1"]


def test_the_default_context_may_be_named(harness: Harness) -> None:
    harness.register(":.:s", A)

    assert harness.registry.subjects() == ("s",)


@pytest.mark.parametrize("fields", [{"metadata": None, "ruleSet": None}, {"unheard": {"of": 1}}])
def test_null_and_unknown_fields_are_accepted(harness: Harness, fields: dict[str, Json]) -> None:
    harness.commit(harness.registry.register("s", request(A, **fields)))

    assert shown(harness.registry.version("s", "1")) == {
        "subject": "s",
        "version": 1,
        "id": 1,
        "schema": A,
    }


def test_any_instance_answers_a_registration_that_changes_nothing(harness: Harness) -> None:
    harness.register("s", A)

    known = harness.registry.registered("s", request(A))
    unknown = harness.registry.registered("s", request(B))

    assert known is not None
    assert known.schema.id == 1
    assert unknown is None


def test_50_clients_get_one_id(harness: Harness) -> None:
    decisions = [harness.registry.register("s", request(A)) for _ in range(50)]

    # The leader decides one by one; each sees the records of the one before it.
    harness.commit(decisions[0])
    ids = {harness.register("s", A) for _ in range(50)}

    assert ids == {1}
    assert len(harness.log) == 1


def test_an_incompatible_schema_is_refused_with_the_reasons(harness: Harness) -> None:
    harness.register("s", A)

    with pytest.raises(RequestError) as caught:
        harness.register("s", string_record("A", "x", "y"))

    assert (caught.value.code, caught.value.status) == (409, 409)
    assert caught.value.message == (
        'Schema being registered is incompatible with an earlier schema for subject "s", details: '
        "[{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'y' at path "
        "'/fields/1' in the new schema has no default value and is missing in the old schema', "
        f"additionalInfo:'y'}}, {{oldSchemaVersion: 1}}, {{oldSchema: '{A}'}}, "
        "{validateFields: 'false', compatibility: 'BACKWARD'}]"
    )


def test_force_registers_an_incompatible_schema(harness: Harness) -> None:
    harness.register("s", A)

    assert harness.register("s", '"int"', force=True) == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"schema": "no JSON"}, "Invalid schema of type AVRO, details: schema is not JSON"),
        (
            {"schema": '"unheard"'},
            'Invalid schema of type AVRO, details: type "unheard" is not defined',
        ),
        ({"schema": A, "schemaType": "XML"}, "Invalid schema type XML"),
        ({"schema": ""}, "Empty schema"),
        ({"schema": "  "}, "Empty schema"),
        ({}, "Empty schema"),
        (
            {"schema": A, "references": [{"name": "a"}]},
            "Invalid reference: {name='a', subject='null', version=null}",
        ),
        ({"schema": A, "version": 3}, "Version is not one more than previous version"),
    ],
)
def test_an_invalid_schema_has_code_42201(
    harness: Harness, body: dict[str, str], message: str
) -> None:
    with pytest.raises(RequestError, match="^" + message.replace("[", r"\[")) as caught:
        harness.registry.register("s", RegisterRequest.from_json(body))

    assert (caught.value.code, caught.value.status) == (42201, 422)


def test_an_empty_schema_repeats_the_latest_one_with_other_metadata(harness: Harness) -> None:
    harness.register("s", A)

    harness.register("s", "", metadata={"properties": {"owner": "me"}})

    assert shown(harness.registry.version("s", "latest")) == {
        "subject": "s",
        "version": 2,
        "id": 2,
        "metadata": {"properties": {"owner": "me"}},
        "schema": A,
    }


def test_a_wanted_version_is_written_into_the_metadata(harness: Harness) -> None:
    harness.register("s", A)

    harness.register("s", B, version=2)

    latest = harness.registry.version("s", "latest")
    assert latest.metadata is not None
    assert latest.metadata.properties == {"confluent:version": "2"}


def test_normalize_by_parameter_or_configuration(harness: Harness) -> None:
    text = '{"type":"record","name":"N","fields":[],"z":1,"a":2}'
    sorted_text = '{"type":"record","name":"N","fields":[],"a":2,"z":1}'

    harness.register("plain", text)
    harness.register("parameter", text, normalize=True)
    harness.configure("configured", normalize=True)
    harness.register("configured", text)

    registry = harness.registry
    assert registry.version("plain", "1").schema == text
    assert registry.version("parameter", "1").schema == sorted_text
    assert registry.version("configured", "1").schema == sorted_text
    assert registry.register("parameter", request(text), normalize=True).records == ()


def test_metadata_and_rules_of_the_latest_version_are_taken_over(harness: Harness) -> None:
    rules = {"domainRules": [{"name": "r", "type": "CEL"}]}
    harness.register("s", A, metadata={"properties": {"a": "1"}}, ruleSet=rules)

    harness.register("s", B)

    latest = shown(harness.registry.version("s", "2"))
    assert isinstance(latest, dict)
    assert latest["metadata"] == {"properties": {"a": "1"}}
    assert latest["ruleSet"] == {
        "domainRules": [
            {
                "name": "r",
                "kind": "TRANSFORM",
                "mode": "WRITEREAD",
                "type": "CEL",
                "disabled": False,
            }
        ]
    }


def test_defaults_and_overrides_of_the_configuration_enclose_the_own_metadata(
    harness: Harness,
) -> None:
    harness.configure(
        "s",
        defaultMetadata={"properties": {"a": "default", "b": "default"}},
        overrideMetadata={"properties": {"c": "override"}},
        defaultRuleSet={"domainRules": [{"name": "d", "type": "CEL"}]},
        overrideRuleSet={"domainRules": [{"name": "o", "type": "CEL"}]},
    )

    harness.register("s", A, metadata={"properties": {"b": "own", "c": "own"}})

    latest = harness.registry.version("s", "latest")
    assert latest.metadata is not None
    assert latest.metadata.properties == {"a": "default", "b": "own", "c": "override"}
    assert latest.rule_set is not None
    assert [rule.name for rule in latest.rule_set.domain_rules] == ["d", "o"]


def test_a_registration_with_defaults_is_idempotent(harness: Harness) -> None:
    harness.configure("s", defaultMetadata={"properties": {"a": "1"}})
    harness.register("s", A)

    assert harness.registry.registered("s", request(A)) is None
    assert harness.registry.register("s", request(A)).records == ()


def test_a_rule_that_is_not_valid_has_code_42210(harness: Harness) -> None:
    with pytest.raises(RequestError, match=r"^Missing rule type$") as caught:
        harness.register("s", A, ruleSet={"domainRules": [{"name": "r"}]})

    assert caught.value.code == 42210


def test_a_new_schema_is_parsed_strictly_unless_configured(harness: Harness) -> None:
    text = '{"type":"record","name":"A","fields":[{"name":"x","type":"string","default":1}]}'

    with pytest.raises(RequestError, match="default of field"):
        harness.register("s", text)
    harness.configure("s", validateNewSchemas=False)

    assert harness.register("s", text) == 1


def test_a_registered_schema_is_parsed_leniently(harness: Harness) -> None:
    text = '{"type":"record","name":"A","fields":[{"name":"x","type":"string","default":1}]}'
    harness.configure("s", validateNewSchemas=False)
    harness.register("s", text)
    harness.configure("s", validateNewSchemas=True)

    assert harness.register("s", B) == 2


def test_validate_fields_refuses_reserved_fields(harness: Harness) -> None:
    harness.configure("s", validateFields=True)

    with pytest.raises(RequestError) as caught:
        harness.register("s", A, metadata={"properties": {"confluent:reserved": "x, q"}})

    assert caught.value.message.endswith(
        "[The new schema has field that conflicts with the reserved field x., "
        "{validateFields: 'true', compatibility: 'BACKWARD'}]"
    )


def test_validate_fields_refuses_to_free_a_reserved_field(harness: Harness) -> None:
    harness.configure("s", validateFields=True)
    harness.register("s", A, metadata={"properties": {"confluent:reserved": "q,r"}})

    with pytest.raises(RequestError, match=r"reserved field r removed from its metadata") as caught:
        harness.register("s", B, metadata={"properties": {"confluent:reserved": "q"}})

    assert caught.value.code == 409


def test_validate_fields_refuses_restricted_names_of_json(harness: Harness) -> None:
    text = '{"type":"object","properties":{"$$x":{"type":"string"}}}'
    harness.configure("s", validateFields=True)

    with pytest.raises(RequestError, match="cannot start with") as caught:
        harness.register("s", text, schemaType="JSON")

    assert caught.value.code == 42201


def test_the_form_changes_the_answer_and_not_the_guid(harness: Harness) -> None:
    harness.register("base", string_record("T", "x"))
    text = '{"type":"record","name":"A","fields":[{"name":"t","type":"T"}]}'
    body = request(text, references=[{"name": "T", "subject": "base", "version": 1}])

    plain = harness.registry.register("s", body).answer.schema
    resolved = harness.registry.register("s", body, form="resolved").answer.schema

    assert '"name":"x"' in resolved.schema
    assert '"name":"x"' not in plain.schema
    assert resolved.guid == plain.guid


def test_a_schema_that_no_record_can_hold_has_code_42209() -> None:
    harness = Harness(registry_of(RulesSettings(record_bytes_max=200)))

    with pytest.raises(RequestError) as caught:
        harness.register("s", string_record("A", "x" * 200))

    assert caught.value.code == 42209


def test_a_body_of_another_form_has_code_400() -> None:
    bodies: list[Json] = [[], "text", None, 1, {"schema": {}}, {"schema": "x", "version": "one"}]
    for body in bodies:
        with pytest.raises(RequestError) as caught:
            RegisterRequest.from_json(body)
        assert (caught.value.code, caught.value.status) == (400, 400)


def test_scalars_are_read_as_the_type_that_is_needed() -> None:
    body = RegisterRequest.from_json({"schema": 5, "version": "2", "id": 3.0})

    assert (body.schema, body.version, body.schema_id) == ("5", 2, 3)
