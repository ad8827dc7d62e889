import pytest

from duolog.registry.errors import DamagedRecordError
from duolog.registry.records import BARRIER, Record, decode, encode
from duolog.registry.records.keys import (
    ConfigKey,
    HighestIdsKey,
    ModeKey,
    SchemaKey,
)
from duolog.registry.records.values import (
    CompatibilityLevel,
    ConfigValue,
    HighestIdsValue,
    Mode,
    ModeValue,
    SchemaValue,
)

KEY = b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}'


def test_a_key_of_the_first_registries_has_magic_0() -> None:
    record = decode(
        b'{"magic":0,"keytype":"SCHEMA","subject":"a","version":1}',
        b'{"subject":"a","version":1,"id":3,"schema":"\\"int\\""}',
    )

    assert record == Record(SchemaKey("a", 1), SchemaValue("a", 1, 3, '"int"'))


def test_a_value_may_lack_all_but_its_schema() -> None:
    record = decode(KEY, b'{"schema":"\\"int\\""}')

    assert record == Record(SchemaKey("a", 1), SchemaValue("a", 1, None, '"int"'))


def test_a_deleted_version_and_unknown_fields_are_read() -> None:
    value = b'{"subject":"a","version":1,"id":3,"schema":"x","deleted":true,"offset":4,"ts":5}'

    assert decode(KEY, value).value == SchemaValue("a", 1, 3, "x", deleted=True)


@pytest.mark.parametrize(
    "key", [b'{"keytype":"CONFIG","subject":null,"magic":0}', b'{"keytype":"CONFIG","magic":0}']
)
def test_the_global_configuration_has_no_subject_or_a_null(key: bytes) -> None:
    record = decode(key, b'{"compatibilityLevel":"NONE"}')

    level = CompatibilityLevel.NONE
    assert record == Record(ConfigKey(None), ConfigValue(compatibility_level=level))


def test_a_mode_without_subject_in_its_value_is_read() -> None:
    record = decode(b'{"keytype":"MODE","subject":"a","magic":0}', b'{"mode":"READONLY_OVERRIDE"}')

    assert record == Record(ModeKey("a"), ModeValue(Mode.READONLY_OVERRIDE))


def test_a_noop_has_no_value_whatever_its_bytes() -> None:
    assert decode(b'{"keytype":"NOOP","magic":0}', b"not JSON") == BARRIER


@pytest.mark.parametrize("value", [None, b"", b'""', b"null"])
def test_an_empty_value_is_a_tombstone(value: bytes | None) -> None:
    assert decode(KEY, value) == Record(SchemaKey("a", 1), None)


def test_an_empty_record_is_a_noop() -> None:
    assert decode(None, None) == decode(b"", b"") == BARRIER


def test_the_highest_ids_are_a_noop_with_a_subject() -> None:
    record = Record(HighestIdsKey(), HighestIdsValue({".": 4, ".dev": 9}))

    assert decode(*encode(record)) == record


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"", b"{}"),
        (b" ", b"{}"),
        (b"\xff\xfe", b"{}"),
        (b"[]", b"{}"),
        (b'"SCHEMA"', b"{}"),
        (b"{}", b"{}"),
        (b'{"keytype":"UNHEARD"}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":2}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"a","magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"a","version":0,"magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"a","version":1e999,"magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"\\ud800","version":1,"magic":1}', b"{}"),
        (b'{"keytype":"CONTEXT","magic":0}', b"{}"),
        (KEY, b" "),
        (KEY, b"[]"),
        (KEY, b"{}"),
        (KEY, b'{"schema":{}}'),
        (KEY, b'{"schema":"x","id":-1}'),
        (KEY, b'{"schema":"x","id":' + b"9" * 10_000 + b"}"),
        (KEY, b'{"schema":"x","md5":"*"}'),
        (KEY, b'{"schema":"x","references":[{"name":"a"}]}'),
        (KEY, b'{"schema":"x","references":["a"]}'),
        (KEY, b'{"schema":"x","references":"a"}'),
        (KEY, b'{"schema":"x","metadata":{"tags":[]}}'),
        (KEY, b'{"schema":"x","ruleSet":{"domainRules":[{"kind":"OTHER"}]}}'),
        (KEY, b'{"schema":"x","more":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        (b'{"keytype":"CONFIG","magic":0}', b'{"compatibilityLevel":"HALF"}'),
        (b'{"keytype":"MODE","magic":0}', b"{}"),
        (b'{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}', b"{}"),
    ],
)
def test_other_bytes_are_damaged(key: bytes | None, value: bytes) -> None:
    with pytest.raises(DamagedRecordError):
        decode(key, value)
