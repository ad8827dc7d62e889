"""The bytes of each kind of record, as Confluent's registry writes them."""

import json

import pytest

from duolog.registry.contracts import Metadata, Rule, RuleSet
from duolog.registry.contracts.rule_set import EnableAt, RuleKind, RuleMode
from duolog.registry.records import BARRIER, Record, encode
from duolog.registry.records.encoding import encode_key
from duolog.registry.records.keys import (
    AssociationKey,
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    HighestIdsKey,
    Key,
    ModeKey,
    NoopKey,
    SchemaKey,
)
from duolog.registry.records.values import (
    AssociationValue,
    ClearSubjectValue,
    CompatibilityLevel,
    CompatibilityPolicy,
    ConfigValue,
    ContextValue,
    DeleteSubjectValue,
    HighestIdsValue,
    Lifecycle,
    Mode,
    ModeValue,
    SchemaValue,
)
from duolog.schemas.schema import Reference

SCHEMA = SchemaValue("orders-value", 1, 7, '"string"')


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (
            Record(SchemaKey("orders-value", 1), SCHEMA),
            b'{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}',
            (
                b'{"subject":"orders-value","version":1,"id":7,"schemaType":"AVRO",'
                b'"schema":"\\"string\\"","deleted":false}'
            ),
        ),
        (
            Record(SchemaKey("a", 2), None),
            b'{"keytype":"SCHEMA","subject":"a","version":2,"magic":1}',
            None,
        ),
        (
            Record(ConfigKey(None), ConfigValue(compatibility_level=CompatibilityLevel.FULL)),
            b'{"keytype":"CONFIG","magic":0}',
            b'{"compatibilityLevel":"FULL"}',
        ),
        (
            Record(ConfigKey("a"), ConfigValue(alias="b", normalize=True)),
            b'{"keytype":"CONFIG","subject":"a","magic":0}',
            b'{"subject":"a","alias":"b","normalize":true}',
        ),
        (
            Record(ModeKey(None), ModeValue(Mode.IMPORT)),
            b'{"keytype":"MODE","magic":0}',
            b'{"mode":"IMPORT"}',
        ),
        (
            Record(ModeKey(":.dev:"), ModeValue(Mode.READONLY)),
            b'{"keytype":"MODE","subject":":.dev:","magic":0}',
            b'{"subject":":.dev:","mode":"READONLY"}',
        ),
        (
            Record(DeleteSubjectKey("a"), DeleteSubjectValue(3)),
            b'{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}',
            b'{"subject":"a","version":3}',
        ),
        (
            Record(ClearSubjectKey("a"), ClearSubjectValue()),
            b'{"keytype":"CLEAR_SUBJECT","subject":"a","magic":0}',
            b'{"subject":"a"}',
        ),
        (
            Record(ClearSubjectKey(None), ClearSubjectValue()),
            b'{"keytype":"CLEAR_SUBJECT","magic":0}',
            b"{}",
        ),
        (
            Record(ContextKey(".dev"), ContextValue()),
            b'{"keytype":"CONTEXT","tenant":"default","context":".dev","magic":0}',
            b'{"tenant":"default","context":".dev"}',
        ),
        (
            Record(
                AssociationKey("orders", "lkc-1", "topic", "value", ":.lkc-1:orders-value"),
                AssociationValue(
                    "g",
                    "orders",
                    "lkc-1",
                    "id1",
                    "topic",
                    "value",
                    ":.lkc-1:orders-value",
                    Lifecycle.STRONG,
                    frozen=True,
                ),
            ),
            (
                b'{"keytype":"ASSOC","tenant":"default","resourceName":"orders",'
                b'"resourceNamespace":"lkc-1","resourceType":"topic","associationType":"value",'
                b'"subject":":.lkc-1:orders-value","magic":0}'
            ),
            (
                b'{"guid":"g","tenant":"default","resourceName":"orders","resourceNamespace":"lkc-1",'
                b'"resourceId":"id1","resourceType":"topic","associationType":"value",'
                b'"subject":":.lkc-1:orders-value","lifecycle":"STRONG","frozen":true}'
            ),
        ),
        (BARRIER, b'{"keytype":"NOOP","magic":0}', None),
        (
            Record(HighestIdsKey(), HighestIdsValue({".": 5})),
            b'{"keytype":"NOOP","subject":"duolog.highest.ids","magic":0}',
            b'{"maxIds":{".":5}}',
        ),
    ],
)
def test_each_kind_of_record_has_its_bytes(record: Record, key: bytes, value: bytes | None) -> None:
    assert encode(record) == (key, value)


def test_a_version_writes_its_fields_in_order_without_what_is_empty() -> None:
    value = SchemaValue(
        "a",
        2,
        9,
        "schema",
        schema_type="PROTOBUF",
        references=(Reference("b.proto", "b", 1),),
        metadata=Metadata(properties={"owner": "me"}),
        rule_set=RuleSet(
            domain_rules=(
                Rule(
                    "r",
                    doc="d",
                    kind=RuleKind.CONDITION,
                    mode=RuleMode.WRITE,
                    type="CEL",
                    tags=("PII",),
                    params={"p": "1"},
                    expr="true",
                    on_success="NONE",
                    on_failure="ERROR",
                ),
            ),
            enable_at=EnableAt.CLIENT,
        ),
        deleted=True,
        md5=bytes(16),
    )

    _, encoded = encode(Record(SchemaKey("a", 2), value))

    assert encoded == (
        b'{"subject":"a","version":2,"id":9,"md5":"AAAAAAAAAAAAAAAAAAAAAA==",'
        b'"schemaType":"PROTOBUF",'
        b'"references":[{"name":"b.proto","subject":"b","version":1}],'
        b'"metadata":{"properties":{"owner":"me"}},'
        b'"ruleSet":{"domainRules":[{"name":"r","doc":"d","kind":"CONDITION","mode":"WRITE",'
        b'"type":"CEL","tags":["PII"],"params":{"p":"1"},"expr":"true","onSuccess":"NONE",'
        b'"onFailure":"ERROR","disabled":false}],"enableAt":"CLIENT"},'
        b'"schema":"schema","deleted":true}'
    )


def test_a_configuration_writes_all_its_fields_in_order() -> None:
    value = ConfigValue(
        alias="b",
        alias_for_deks="c",
        normalize=False,
        validate_fields=True,
        validate_new_schemas=False,
        validate_rules=True,
        compatibility_level=CompatibilityLevel.FORWARD_TRANSITIVE,
        compatibility_policy=CompatibilityPolicy.LENIENT,
        compatibility_group="major",
        default_metadata=Metadata(tags={"a.b": ("PII",)}),
        override_metadata=Metadata(sensitive=("secret",)),
        default_rule_set=RuleSet(enable_at=EnableAt.NONE),
        override_rule_set=RuleSet(),
    )

    _, encoded = encode(Record(ConfigKey("a"), value))

    assert encoded == (
        b'{"subject":"a","alias":"b","aliasForDeks":"c","normalize":false,"validateFields":true,'
        b'"validateNewSchemas":false,"validateRules":true,'
        b'"compatibilityLevel":"FORWARD_TRANSITIVE","compatibilityPolicy":"LENIENT",'
        b'"compatibilityGroup":"major","defaultMetadata":{"tags":{"a.b":["PII"]}},'
        b'"overrideMetadata":{"sensitive":["secret"]},"defaultRuleSet":{"enableAt":"NONE"},'
        b'"overrideRuleSet":{}}'
    )


def test_letters_stay_and_control_characters_have_upper_case_digits() -> None:
    key, _ = encode(Record(SchemaKey('ä/"\\\x1f\x0b\n\u2028', 1), None))

    assert (
        key
        == (
            '{"keytype":"SCHEMA","subject":"ä/\\"\\\\\\u001F\\u000B\\n\u2028","version":1,"magic":1}'
        ).encode()
    )


def test_a_backslash_before_a_u_is_no_escape() -> None:
    key, _ = encode(Record(SchemaKey("\\u001f", 1), None))

    assert key == b'{"keytype":"SCHEMA","subject":"\\\\u001f","version":1,"magic":1}'


@pytest.mark.parametrize(
    "key",
    [
        SchemaKey("a", 1),
        ConfigKey("a"),
        ConfigKey(None),
        ModeKey("a"),
        ModeKey(None),
        DeleteSubjectKey("a"),
        ClearSubjectKey("a"),
        ClearSubjectKey(None),
        NoopKey(),
        HighestIdsKey(),
    ],
)
def test_karapace_finds_no_key_that_makes_it_write_other_bytes(key: Key) -> None:
    fields = tuple(json.loads(encode_key(key)))

    assert fields in {
        ("keytype", "subject", "version", "magic"),
        ("keytype", "subject", "magic"),
        ("keytype", "magic"),
    }
