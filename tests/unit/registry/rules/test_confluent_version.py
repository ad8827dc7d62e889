"""The property `confluent:version`: one schema text in several versions, distinguished by number."""

import pytest

from duolog.registry.errors import RequestError
from unit.registry.harness import Harness, request, string_record

A = string_record("A", "x")


def numbered(number: int) -> dict[str, dict[str, str]]:
    return {"properties": {"confluent:version": str(number)}}


def version_property(harness: Harness, version: str = "latest") -> str | None:
    metadata = harness.registry.version("s", version).metadata
    return None if metadata is None else metadata.properties.get("confluent:version")


@pytest.fixture
def two_versions(harness: Harness) -> Harness:
    """Version 1 without metadata, version 2 with its number."""
    assert harness.register("s", A) == 1
    assert harness.register("s", A, version=2) == 2
    return harness


def test_version_minus_1_repeats_the_latest_schema(harness: Harness) -> None:
    harness.register("s", A)

    assert harness.register("s", A, version=-1) == 1
    harness.register("s", A, version=2)

    assert harness.register("s", A, version=-1) == 2
    assert harness.registry.versions("s") == (1, 2)


def test_the_next_version_is_registered_whatever_the_schema(two_versions: Harness) -> None:
    assert version_property(two_versions) == "2"

    assert two_versions.register("s", A, version=3) == 3

    assert version_property(two_versions) == "3"
    for version in (2, 3, 5):
        with pytest.raises(RequestError) as caught:
            two_versions.register("s", A, version=version)
        assert caught.value.code == 42201


def test_a_look_up_prefers_the_exact_metadata(two_versions: Harness) -> None:
    def found(**fields: dict[str, dict[str, str]]) -> int:
        return two_versions.registry.look_up("s", request(A, **fields)).version

    assert found() == 1
    assert found(metadata=numbered(1)) == 1
    assert found(metadata=numbered(2)) == 2


def test_a_look_up_without_metadata_finds_a_numbered_version(two_versions: Harness) -> None:
    two_versions.commit(two_versions.registry.delete_version("s", "1"))

    assert two_versions.registry.look_up("s", request(A)).version == 2
    assert two_versions.register("s", A) == 2


def test_a_number_that_is_no_version_becomes_the_next_one(two_versions: Harness) -> None:
    assert two_versions.register("s", A, metadata=numbered(-1)) == 3
    assert version_property(two_versions) == "3"
    assert two_versions.register("s", A, metadata=numbered(0)) == 4
    assert version_property(two_versions) == "4"
    assert two_versions.register("s", A, metadata=numbered(2)) == 2
    assert two_versions.register("s", A, metadata={"properties": {}}) == 4


def test_other_metadata_make_a_version_without_a_number(two_versions: Harness) -> None:
    mine = {"properties": {"mine": "1"}}

    assert two_versions.register("s", A, metadata=mine) == 3
    assert version_property(two_versions) is None
    assert two_versions.register("s", A, version=-1) == 4
    assert version_property(two_versions) == "4"
    assert two_versions.registry.look_up("s", request(A, metadata=mine)).version == 3
    two_versions.commit(two_versions.registry.delete_version("s", "3"))
    assert two_versions.registry.look_up("s", request(A, metadata=mine)).version == 4
