"""Loading a large topic: no schema is parsed, and equal texts are kept once."""

import tracemalloc
from typing import NoReturn

from duolog.registry.records import Record, encode
from duolog.registry.records.keys import SchemaKey
from duolog.registry.records.values import SchemaValue
from duolog.registry.rules import Registry
from unit.registry.harness import string_record


def refuse(*_: object, **__: object) -> NoReturn:
    raise AssertionError("parsed")


def test_loading_10_000_subjects_parses_none_and_stays_small() -> None:
    log = [
        encode(Record(SchemaKey(f"s{number}", 1), SchemaValue(f"s{number}", 1, number, text)))
        for number in range(10_000)
        for text in [string_record(f"R{number}", *"abcdefgh")]
    ]
    texts = sum(len(value or b"") for _, value in log)
    registry = Registry(parse=refuse)

    tracemalloc.start()
    for key, value in log:
        registry.replay(key, value, timestamp=1)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(registry.subjects()) == 10_000
    assert registry.schema_by_id(9_999).schema == string_record("R9999", *"abcdefgh")
    # 150 MB for the process; the texts are the larger part.
    assert used < texts + 10_000 * 3_000


def test_a_text_that_100_subjects_share_is_one_string() -> None:
    registry = Registry(parse=refuse)
    text = string_record("R", *"abcdefgh")
    for number in range(100):
        value = SchemaValue(f"s{number}", 1, 1, text)
        registry.replay(*encode(Record(SchemaKey(f"s{number}", 1), value)), timestamp=1)

    found = {id(registry.version(f"s{number}", "1").schema) for number in range(100)}

    assert len(found) == 1
