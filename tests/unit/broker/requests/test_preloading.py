"""Schemas are loaded one at a time, and requests that come meanwhile have precedence."""

from typing import TYPE_CHECKING, Any

import pytest

from duolog.broker.requests.preloading import VERSIONS, Preloading, headers
from duolog.broker.router import find_apis
from duolog.protocol.headers import RequestHeader
from unit.broker.conftest import Harness

if TYPE_CHECKING:
    from collections.abc import Callable

LIST_OFFSETS = 2


def loaded(harness: Harness) -> list[bool]:
    return [harness.broker.messages.loaded(header) for header in headers()]


@pytest.mark.parametrize("api_key", VERSIONS)
def test_the_latest_version_is_among_those_of_each_api(api_key: int) -> None:
    """Java clients use it."""
    (api,) = (api for api in find_apis() if api.key == api_key)

    assert api.versions[-1] in VERSIONS[api_key]
    assert set(VERSIONS[api_key]) <= set(api.versions)


def test_all_schemas_are_loaded_while_the_loop_turns(harness: Harness) -> None:
    before = loaded(harness)

    Preloading(harness.broker).start()
    harness.turn_until(lambda: all(loaded(harness)))

    assert not any(before)


def test_a_request_waits_for_at_most_one_schema_of_others(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread of the loads is stopped: calls run when the test says so."""
    calls: list[Callable[[], None]] = []
    monkeypatch.setattr(harness.broker.beside._thread, "run", calls.append)  # noqa: SLF001
    client = harness.client()
    Preloading(harness.broker).start()
    client.send(LIST_OFFSETS, 1, replica_id=-1, topics=[])
    harness.turn_until(lambda: len(calls) == 2)

    calls.pop(0)()  # The schema that was being loaded when the request came.
    harness.turn_until(lambda: len(calls) == 2)
    calls.pop(0)()
    harness.turn_until(client.whole_answer)

    assert sum(loaded(harness)) == 1


def test_a_schema_that_cannot_be_loaded_keeps_no_other_from_being_loaded(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    load = harness.broker.messages.load
    first = next(headers())

    def fail(header: RequestHeader) -> None:
        if header == first:
            raise OSError("the file of the module is gone")
        load(header)

    monkeypatch.setattr(harness.broker.messages, "load", fail)

    Preloading(harness.broker).start()
    harness.turn_until(lambda: sum(loaded(harness)) == len(loaded(harness)) - 1)

    records: list[Any] = [r for r in caplog.records if "schema" in r.getMessage()]
    assert records[0].error == "the file of the module is gone"
