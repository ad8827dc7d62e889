import pytest

from duolog.runtime.consumer_groups.resets import Scope, Target, To
from duolog.server.errors import RequestRefused
from duolog.server.groups.requests import (
    read_list,
    read_offsets_deletion,
    read_page,
    read_reset,
)


def test_a_list_is_filtered_by_words() -> None:
    found = read_list({"search": " Bill ", "state": "Stable, empty", "max": "7", "after": "b"})

    assert found == ("bill", frozenset({"stable", "empty"}), frozenset(), "b", 7, True)
    assert read_list({}).limit == 50
    assert read_page({"skip": "10"}) == (10, 500)


@pytest.mark.parametrize(
    ("body", "target"),
    [
        (b'{"to": "earliest"}', Target(To.EARLIEST)),
        (b'{"to": "offset", "offset": "9223372036854775807"}', Target(To.OFFSET, 2**63 - 1)),
        (b'{"to": "offset", "offset": 0}', Target(To.OFFSET, 0)),
        (b'{"to": "time", "timeMs": 1700000000000}', Target(To.TIME, 1_700_000_000_000)),
        (b'{"to": "duration", "durationMs": "60000"}', Target(To.DURATION, 60_000)),
        (b'{"to": "shift", "by": "-5"}', Target(To.SHIFT, -5)),
    ],
)
def test_a_reset_has_one_target(body: bytes, target: Target) -> None:
    found = read_reset(body)

    assert (found.target, found.scopes, found.preview) == (target, (), False)


def test_a_reset_names_topics_and_partitions() -> None:
    found = read_reset(
        b'{"preview": true, "to": "latest",'
        b' "topics": [{"topic": "a"}, {"topic": "b", "partitions": [3, "1", 3]}]}'
    )

    assert found.preview is True
    assert found.scopes == (Scope("a"), Scope("b", (1, 3)))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "'to' is not one of earliest"),
        (b"[]", "not a JSON object"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"to": "yesterday"}', "'to' is not one of"),
        (b'{"to": ["latest"]}', "'to' is not one of"),
        (b'{"to": "offset"}', "needs 'offset'"),
        (b'{"to": "latest", "offset": 3}', "'offset' does not belong to a reset to latest"),
        (b'{"to": "offset", "offset": -1}', "not between"),
        (b'{"to": "offset", "offset": 1.5}', "not a whole number"),
        (b'{"to": "offset", "offset": true}', "not a whole number"),
        (b'{"to": "offset", "offset": "--1"}', "not a whole number"),
        (b'{"to": "offset", "offset": "9223372036854775808"}', "not between"),
        (b'{"to": "latest", "preview": "yes"}', "neither true nor false"),
        (b'{"to": "latest", "topics": []}', "not a list"),
        (b'{"to": "latest", "topics": ["a"]}', "objects such as"),
        (b'{"to": "latest", "topics": [{"topic": "a", "x": 1}]}', "objects such as"),
        (b'{"to": "latest", "topics": [{"topic": "a", "partitions": [-1]}]}', "not between"),
        (b'{"to": "latest", "group": "g"}', "'group' is not a parameter"),
    ],
)
def test_invalid_resets_are_refused(body: bytes, message: str) -> None:
    with pytest.raises(RequestRefused, match=message):
        read_reset(body)


@pytest.mark.parametrize(
    "given", [{"max": "0"}, {"max": "501"}, {"max": "x"}, {"lag": "no"}, {"page": "1"}]
)
def test_invalid_lists_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(RequestRefused):
        read_list(given)


def test_a_deletion_of_offsets_names_topics() -> None:
    assert read_offsets_deletion(b'{"topics": [{"topic": "a"}]}') == (Scope("a"),)
    with pytest.raises(RequestRefused, match="'topics' is missing"):
        read_offsets_deletion(b"{}")
