"""Figures in a topic: written by one server, read by another."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from duolog.runtime.sql.figures.collector import Wiring
from duolog.runtime.sql.figures.published import (
    REPEAT_MS,
    Note,
    PublishedFigures,
    figures_topic_of,
    read_published,
)
from duolog.runtime.sql.figures.query_figures import (
    Flow,
    Lag,
    PartitionLag,
    QueryFigures,
    StoreFigures,
)
from duolog.runtime.sql.figures.service_figures import ServiceFigures
from duolog.security.clients.brokers import Brokers
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client
from unit.runtime.sql.figures.fake_running import Broker

FULL = QueryFigures(
    id="CTAS_TOTALS_1",
    at_ms=5_000,
    state="RUNNING",
    error="é",
    server="db:8088",
    jvm_group="heavy",
    started_at_ms=1_000,
    restarts=1,
    failures=2,
    records_in=Flow(10, 1.5),
    records_out=Flow(5, None),
    topics_in={"a": Flow(4, 0.5), "b": Flow(6, 1.0)},
    topics_out={"c": Flow(5, None)},
    bytes_out=70,
    lag=Lag(3, "rising", 4_000, "steady", (PartitionLag("a", 0, 7, 10, 4_000),)),
    errors={"processing": 1},
    late=9,
    stores=(StoreFigures("s", 1, 2, 3), StoreFigures("t", 1, 2, None)),
    state_bytes=99,
    last_result_at_ms=4_500,
)


@pytest.fixture
def brokers(cluster: EmbeddedCluster) -> Brokers:
    return Brokers(cluster.bootstrap_servers)


def published(brokers: Brokers, service: str, *figures: QueryFigures) -> None:
    server = PublishedFigures(brokers, service)
    server.publish(figures, 5_000)
    server.close()


def test_json_has_everything() -> None:
    assert QueryFigures.from_json(json.loads(json.dumps(FULL.to_json()))) == FULL
    empty = QueryFigures("Q", 1)
    assert QueryFigures.from_json(json.loads(json.dumps(empty.to_json()))) == empty


def test_another_server_reads_what_was_published(brokers: Brokers, service: str) -> None:
    other = replace(FULL, id="CSAS_X_0")
    published(brokers, service, FULL, other)

    assert read_published(brokers, service) == {FULL.id: FULL, other.id: other}


def test_all_figures_that_are_still_there_are_noted(brokers: Brokers, service: str) -> None:
    changed = replace(FULL, at_ms=6_000, late=10)
    published(brokers, service, FULL)
    published(brokers, service, changed)
    noted: list[QueryFigures] = []

    read_published(brokers, service, noted.append)

    assert noted == [FULL, changed]


def test_the_last_server_that_ran_a_query_wins(brokers: Brokers, service: str) -> None:
    published(brokers, service, FULL)
    published(brokers, service, replace(FULL, server="db2:8088", at_ms=1))

    assert read_published(brokers, service)[FULL.id].server == "db2:8088"


def test_only_changes_are_written_and_each_figure_at_times(brokers: Brokers, service: str) -> None:
    server = PublishedFigures(brokers, service)
    for now_ms in (0, 5_000, REPEAT_MS - 1):
        server.publish([replace(FULL, at_ms=now_ms)], now_ms)
    server.publish([replace(FULL, at_ms=REPEAT_MS)], REPEAT_MS)
    server.publish([replace(FULL, late=10)], REPEAT_MS + 1)
    server.close()

    client = Client(brokers.servers)
    written = [json.loads(one.value or b"") for one in client.read(figures_topic_of(service))]
    assert [(one["atMs"], one["lateRecords"]) for one in written] == [
        *((0, 9), (REPEAT_MS, 9), (5_000, 10))
    ]


def test_a_query_that_comes_back_is_published_at_once(brokers: Brokers, service: str) -> None:
    server = PublishedFigures(brokers, service)
    server.publish([FULL], 0)
    server.publish([], 1)
    published(brokers, service, replace(FULL, server="db2:8088"))
    server.publish([FULL], 2)
    server.close()

    assert read_published(brokers, service)[FULL.id].server == "db:8088"


@pytest.mark.parametrize(
    "value",
    [
        "no json",
        "[]",
        "7",
        "{}",
        json.dumps({**FULL.to_json(), "version": 2}),
        json.dumps({**FULL.to_json(), "version": 1, "lag": {}}),
        json.dumps({**FULL.to_json(), "version": 1, "atMs": "late"}),
    ],
)
def test_records_of_others_are_ignored(brokers: Brokers, service: str, value: str) -> None:
    published(brokers, service, FULL)
    Client(brokers.servers).produce(figures_topic_of(service), "OTHER", value)

    assert read_published(brokers, service) == {FULL.id: FULL}


def test_without_topic_or_broker_there_are_none(brokers: Brokers, service: str) -> None:
    assert read_published(brokers, service) == {}
    assert read_published(Brokers("127.0.0.1:1"), service) == {}


class Figures(ServiceFigures):
    """A service whose other servers have published figures."""

    def __init__(self, mine: Iterable[QueryFigures], theirs: Iterable[QueryFigures]) -> None:
        self.mine = {one.id: one for one in mine}
        self.reads = 0
        found = {one.id: one for one in theirs}

        def read(_brokers: Brokers, _service: str, _note: Note) -> dict[str, QueryFigures]:
            self.reads += 1
            return found

        wiring = Wiring(lambda: None, dict, lambda _: {}, dict, Broker())
        super().__init__(Brokers("127.0.0.1:1"), "s", wiring, read=read)

    def own(self) -> dict[str, QueryFigures]:
        return self.mine


def test_own_figures_come_before_those_that_others_have_published() -> None:
    old = replace(FULL, server="old")
    elsewhere = replace(FULL, id="CSAS_X_0")
    figures = Figures([FULL], [old, elsewhere, replace(FULL, id="DROPPED")])

    assert figures.all([FULL.id]) == {FULL.id: FULL}
    assert figures.reads == 0
    assert figures.all([FULL.id, "CSAS_X_0", "CSAS_NEW_9"]) == {
        FULL.id: FULL,
        "CSAS_X_0": elsewhere,
    }
    assert list(figures.all([FULL.id, "CSAS_X_0"])) == ["CSAS_X_0", FULL.id]
    assert figures.reads == 1  # The topic is not read for each request.
