import pytest

from duolog.core.errors import ConfigError
from duolog.core.setting_types import Kind, Setting, Settings, at_least, between, one_of

ROWS = Settings(
    (
        Setting("segment.bytes", 1024, Kind.INT, "Size of a segment.", at_least(14)),
        Setting("cleanup.policy", ("delete",), Kind.LIST, "Policy.", one_of("delete", "compact")),
        Setting("retention.ms", 7, Kind.LONG, "Time."),
        Setting("ratio", 0.5, Kind.DOUBLE, "Ratio.", between(0, 1)),
        Setting("auto", True, Kind.BOOLEAN, "Switch."),  # noqa: FBT003 - a default, not a flag
        Setting("durability", "fsync", Kind.STRING, "When to acknowledge.", one_of("fsync", "os")),
    )
)


def test_omitted_fields_have_their_defaults() -> None:
    values = ROWS.parse({"retention.ms": "-1"})

    assert values["retention.ms"] == -1
    assert values["segment.bytes"] == 1024


def test_each_kind_reads_what_it_renders() -> None:
    values = ROWS.parse({"cleanup.policy": "compact, delete", "auto": "FALSE", "ratio": "0.25"})

    again = ROWS.parse({row.name: row.render(values[row.name]) for row in ROWS})

    assert again == values
    assert values["cleanup.policy"] == ("compact", "delete")
    assert values["auto"] is False


def test_an_unknown_name_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r'unknown setting "segment\.byte"') as caught:
        ROWS.parse({"segment.byte": "1"})

    assert caught.value.hint == 'The nearest known name is "segment.bytes".'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("segment.bytes", "13", 'setting "segment.bytes" must be at least 14, not 13'),
        ("segment.bytes", "4294967296", 'setting "segment.bytes" takes an int, not "4294967296"'),
        ("ratio", "1.5", 'setting "ratio" must be between 0 and 1, not 1.5'),
        ("auto", "yes", 'setting "auto" takes a boolean, not "yes"'),
        ("cleanup.policy", "shred", "must be one of delete, compact, not shred"),
        ("durability", "maybe", "must be one of fsync, os, not maybe"),
    ],
)
def test_a_value_out_of_range_is_refused_with_the_range(name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ROWS.parse({name: text})

    assert message in caught.value.message
    assert caught.value.name == name
