"""Topics of other registries, whose keys have other bytes: a compaction brings nothing back."""

import pytest

from duolog.registry.errors import RequestError
from unit.registry.harness import Entry, Harness, string_record

A = string_record("A", "x")
VALUE = b'{"subject":"s","version":1,"id":1,"schema":"\\"int\\"","deleted":false}'
KARAPACE = b'{"subject":"s","version":1,"magic":1,"keytype":"SCHEMA"}'
FIRST = b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":0}'
GLOBAL = b'{"keytype":"CONFIG","subject":null,"magic":0}'


def compacted(log: list[Entry]) -> Harness:
    """Return a registry that reads the last record of each key, without tombstones."""
    last = {key: index for index, (key, _, _) in enumerate(log)}
    again = Harness()
    for index, (key, value, _) in enumerate(log):
        if last[key] == index and value is not None:
            again.append(key, value)
    return again


@pytest.mark.parametrize("key", [KARAPACE, FIRST])
def test_a_hard_deleted_version_stays_deleted(harness: Harness, key: bytes) -> None:
    harness.append(key, VALUE)
    harness.soft_delete("s")

    assert harness.hard_delete("s") == (1,)

    assert (key, None) in [entry[:2] for entry in harness.log]
    assert compacted(harness.log).registry.subjects(deleted=True) == ()


def test_a_soft_deleted_version_stays_deleted(harness: Harness) -> None:
    harness.append(KARAPACE, VALUE)

    harness.commit(harness.registry.delete_version("s", "1"))

    assert [entry[0] for entry in harness.log[1:]] == [
        KARAPACE,
        b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
    ]
    again = compacted(harness.log).registry
    assert again.subjects(deleted=True) == ("s",)
    assert again.subjects() == ()


def test_a_deleted_global_configuration_stays_deleted(harness: Harness) -> None:
    harness.append(GLOBAL, b'{"compatibilityLevel":"NONE"}')

    harness.configure(None, compatibility="FULL")
    harness.commit(harness.registry.delete_config(None))

    again = compacted(harness.log).registry
    assert again.config(None).to_json() == {"compatibilityLevel": "BACKWARD"}


def test_old_bytes_are_deleted_once(harness: Harness) -> None:
    harness.append(GLOBAL, b'{"compatibilityLevel":"NONE"}')
    harness.configure(None, compatibility="FULL")
    before = len(harness.log)

    harness.configure(None, compatibility="NONE")

    assert len(harness.log) == before + 1


def test_a_registry_without_foreign_keys_writes_no_more_than_before(harness: Harness) -> None:
    harness.register("s", A)

    with pytest.raises(RequestError):
        harness.hard_delete("s")
    assert len(harness.log) == 1
