"""Stores as of the last commit: their version, and rows that the JVM sends one by one."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JNetworkError

from duolog import Topology
from duolog.engine import stores
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.errors import QueryFailed
from duolog.engine.spark.session import Session
from duolog.engine.stores import CommittedStore, StoreQuery, find_committed
from duolog.plan.cutting.levels import find_levels
from duolog.runtime.store_rows import table_of_store

SHAPE = {"tasks": 2, "sources": ["visits"], "levels": 1, "stores": {}}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    made = Checkpoint(tmp_path / "app")
    made.pin("app", StartFacts(SHAPE, {"duolog": "1", "pyspark": "4"}, {"visits": "id"}))
    return made


def commit(checkpoint: Checkpoint, number: int, offset: int) -> None:
    entry = f'v1\n{{"batchWatermarkMs":0}}\n{{"visits":{{"0":{offset}}}}}'
    for log, text in (("offsets", entry), ("commits", 'v1\n{"nextBatchWatermarkMs":0}')):
        directory = checkpoint.spark_dir / log
        directory.mkdir(parents=True, exist_ok=True)
        (directory / str(number)).write_text(text)
        os.utime(directory / str(number), ns=(0, number))


def write_state(checkpoint: Checkpoint) -> None:
    properties = {
        "operatorPropertiesJson": json.dumps({"stateVariables": [{"stateName": "counts"}]})
    }
    file = checkpoint.spark_dir / "state" / "0" / "_metadata" / "v2" / "0"
    file.parent.mkdir(parents=True)
    file.write_text("v2\n" + json.dumps(properties))


def query() -> StoreQuery:
    topology = Topology("app")
    visits = topology.stream("visits", key="name STRING", value="place STRING")
    visits.group_by_key().materialized("counts").count("n").to("counted")
    plan = topology.build()
    spec = {"application_id": "app"}
    return StoreQuery(find_levels(plan, 2), lambda: spec, table_of_store(plan, "counts"))


def no_session() -> Session:
    raise AssertionError("a JVM was started")


def found(checkpoint: Checkpoint, session: Callable[[], Session] = no_session) -> CommittedStore:
    return find_committed(checkpoint, query(), session)


def test_a_version_changes_with_each_commit_and_only_then(checkpoint: Checkpoint) -> None:
    write_state(checkpoint)
    versions = [found(checkpoint).version]
    for number in range(3):
        commit(checkpoint, number, 10)
        versions.append(found(checkpoint).version)
        assert found(checkpoint).version == versions[-1]

    assert len(set(versions)) == 4


def test_a_commit_of_the_same_number_in_a_new_checkpoint_is_another_version(
    checkpoint: Checkpoint,
) -> None:
    """After `duolog state reset`, the same records may give the same offsets and numbers."""
    write_state(checkpoint)
    commit(checkpoint, 1, 10)
    before = found(checkpoint).version

    os.utime(checkpoint.spark_dir / "commits" / "1", ns=(0, 77))

    assert found(checkpoint).version != before


def test_a_store_without_rows_has_a_position_and_starts_no_jvm(checkpoint: Checkpoint) -> None:
    assert found(checkpoint).read({}).position == {}
    commit(checkpoint, 1, 10)

    read = found(checkpoint).read({})

    assert list(read.rows) == []
    assert read.position == {"visits": {0: 10}}


class Jvm:
    """Sends two rows; then its server reports how that ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, end: Exception | None) -> None:
        self.end = end
        self.sent = 0
        monkeypatch.setattr(stores, "_load_from_socket", self._socket)

    def session(self) -> Session:
        frame = SimpleNamespace(
            collectToPython=lambda: [1, "", SimpleNamespace(getResult=self._result)]
        )
        reader = SimpleNamespace(read=lambda *_given: frame)
        made = SimpleNamespace(
            spark=SimpleNamespace(_jsparkSession=None), kernel=lambda _name: reader, log_path=None
        )
        return cast("Session", made)

    @contextlib.contextmanager
    def _socket(self, _answer: Any, _serializer: Any) -> Iterator[Iterator[Any]]:
        yield self._rows()

    def _rows(self) -> Iterator[Any]:
        for name in ("ann", "bob"):
            self.sent += 1
            yield bytearray(json.dumps(name).encode()), bytearray(b'{"n":1}'), 5, 0

    def _result(self) -> None:
        if self.end is not None:
            raise self.end


def test_rows_are_decoded_while_they_arrive(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_state(checkpoint)
    commit(checkpoint, 1, 10)
    jvm = Jvm(monkeypatch, None)

    rows = iter(found(checkpoint, jvm.session).read({}).rows)

    assert next(rows) == (("ann",), (1,), 5)
    assert jvm.sent == 1
    assert list(rows) == [(("bob",), (1,), 5)]


def test_rows_of_a_jvm_that_ends_early_are_not_taken_for_all(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken connection looks like the end of the rows."""
    write_state(checkpoint)
    commit(checkpoint, 1, 10)
    jvm = Jvm(monkeypatch, Py4JNetworkError("gone"))

    read = found(checkpoint, jvm.session).read({})

    with pytest.raises(QueryFailed):
        list(read.rows)
