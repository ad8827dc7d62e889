"""Read the current rows of tables from a real broker: frames, names, a notebook."""

import datetime as dt
import re
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

import waiting
from conformance.reader import free_port
from duolog import Topology, col
from duolog.core.errors import ConfigError, KafkaError, StatementError
from duolog.dsl.streams import Table
from duolog.runtime.application import Application
from duolog.runtime.errors import BrokerUnavailable
from duolog.testing import Client, EmbeddedCluster

USERS = {"city": "STRING", "age": "BIGINT"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as started:
        yield started


@pytest.fixture
def client(cluster: EmbeddedCluster) -> Client:
    return Client(cluster.bootstrap_servers)


def application(cluster: EmbeddedCluster, topology: Topology, where: Path) -> Application:
    return Application(topology, bootstrap_servers=cluster.bootstrap_servers, data_dir=where)


def users(topic: str) -> tuple[Topology, Table]:
    topology = Topology("users")
    table = topology.table(topic, key="name STRING", value=USERS, store=f"{topic}-store")
    table.filter(col("age") > 17).to(f"{topic}-adult")
    return topology, table


def test_the_last_record_of_each_key_is_its_row(
    cluster: EmbeddedCluster, client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client.create_topic("people", partitions=3)
    for name, value in [
        ("bob", '{"city": "Oslo", "age": 30}'),
        ("eve", '{"city": "Rome", "age": null}'),
        ("amy", '{"city": "Rome", "age": 20}'),
        ("bob", '{"city": "Bonn", "age": 31}'),
        ("amy", None),
        ("cem", "no json"),
        (None, '{"city": "Nowhere"}'),
    ]:
        client.produce("people", name, value)
    topology, _ = users("people")

    rows = [
        {"name": "bob", "city": "Bonn", "age": 31},
        {"name": "eve", "city": "Rome", "age": None},
    ]
    of_users = application(cluster, topology, tmp_path)
    assert of_users.table("people").to_dicts() == rows
    assert of_users.table("people-store").to_dicts() == rows
    assert "1 record of topic people could not be read" in caplog.text
    assert "2 rows, 1 could not be read" in of_users.table("people").to_html()


def test_uncommitted_records_are_not_rows(
    cluster: EmbeddedCluster, client: Client, tmp_path: Path
) -> None:
    """The reader stops at the last stable offset, before the open transaction."""
    client.create_topic("paid")
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    producer = Producer({**servers, "transactional.id": "present-rows"})
    producer.init_transactions(60)
    for name, commits in [("bob", True), ("amy", False)]:
        producer.begin_transaction()
        producer.produce("paid", f'{{"city": "{name}"}}', name)
        producer.commit_transaction(60) if commits else producer.abort_transaction(60)
    producer.begin_transaction()
    producer.produce("paid", '{"city": "open"}', "eve")
    producer.flush(60)
    topology, _ = users("paid")

    began = time.monotonic()
    names = [
        row["name"] for row in application(cluster, topology, tmp_path).table("paid").to_dicts()
    ]

    assert names == ["bob"]
    assert time.monotonic() - began < 10
    producer.abort_transaction(60)


def test_topic_with_deleted_records_is_read_from_its_first_offset(
    cluster: EmbeddedCluster, client: Client, tmp_path: Path
) -> None:
    from confluent_kafka import TopicPartition  # noqa: PLC0415
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415

    client.create_topic("short")
    for name in ("bob", "amy"):
        client.produce("short", name, "{}")
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for before, names in [(1, ["amy"]), (2, [])]:
        for answer in admin.delete_records([TopicPartition("short", 0, before)]).values():
            answer.result(60)
        topology, _ = users("short")

        found = application(cluster, topology, tmp_path).table("short").to_dicts()
        assert [row["name"] for row in found] == names


ALL_TYPES = {
    "yes": bool,
    "small": "INT",
    "large": int,
    "real": float,
    "data": bytes,
    "day": dt.date,
    "at": dt.datetime,
    "fare": "DECIMAL(10,2)",
    "stops": list[str],
    "tags": dict[str, int],
    "page": {"url": str, "tags": dict[str, int]},
}
VALUE = (
    '{"yes":true,"small":1,"large":9007199254740993,"real":0.5,"data":"AAE=","day":"2013-01-02",'
    '"at":"2013-01-02T03:04:05.000006Z","fare":1.50,"stops":["a",null],"tags":{"x":1},'
    '"page":{"url":"/","tags":{"y":2}}}'
)


@pytest.fixture(scope="module")
def typed(cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A running topology's table with columns of all types: a row of values, one of nulls."""
    client = Client(cluster.bootstrap_servers)
    client.create_topic("typed")
    client.produce("typed", "a", VALUE)
    client.produce("typed", "b", "{}")
    topology = Topology("typed")
    table = topology.table("typed", key="id STRING", value=ALL_TYPES)
    table.to("typed-copy")
    topology.running = application(cluster, topology, tmp_path_factory.mktemp("typed"))
    return table


def test_pandas_columns_have_the_types_of_the_table(typed: Table) -> None:
    frame = typed.to_pandas()

    assert list(frame.columns) == ["id", *ALL_TYPES]
    kinds = {name: str(kind) for name, kind in frame.dtypes.items()}
    assert kinds["yes"] == "boolean"
    assert kinds["small"] == "Int32"
    assert kinds["large"] == "Int64"
    assert kinds["real"] == "float64"
    assert kinds["at"] == "datetime64[us, UTC]"
    first, second = (frame.iloc[at] for at in (0, 1))
    assert first["large"] == 9007199254740993
    assert first["at"] == dt.datetime(2013, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    assert first["fare"] == Decimal("1.50")
    assert first["page"] == {"url": "/", "tags": {"y": 2}}
    assert second.drop("id").isna().all()


def test_arrow_columns_have_the_types_of_the_table(typed: Table) -> None:
    table = typed.to_arrow()

    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        "id": "string", "yes": "bool", "small": "int32", "large": "int64", "real": "double",
        "data": "binary", "day": "date32[day]", "at": "timestamp[us, tz=UTC]",
        "fare": "decimal128(10, 2)", "stops": "list<item: string>", "tags": "map<string, int64>",
        "page": "struct<url: string, tags: map<string, int64>>",
    }  # fmt: skip
    first, second = table.to_pylist()
    assert first["data"] == b"\0\1"
    assert first["day"] == dt.date(2013, 1, 2)
    assert first["at"] == dt.datetime(2013, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    assert first["stops"] == ["a", None]
    assert first["tags"] == [("x", 1)]
    assert first["page"] == {"url": "/", "tags": [("y", 2)]}
    assert second == {"id": "b"} | dict.fromkeys(ALL_TYPES)


def test_polars_columns_have_the_types_of_the_table(typed: Table) -> None:
    polars = import_module("polars")

    frame = typed.to_polars()

    assert frame.schema["large"] == polars.Int64
    assert frame.schema["fare"] == polars.Decimal(10, 2)
    assert frame.schema["at"] == polars.Datetime("us", "UTC")
    first, second = frame.to_dicts()
    assert first["fare"] == Decimal("1.50")
    assert first["stops"] == ["a", None]
    assert first["tags"] == [{"key": "x", "value": 1}]
    assert first["page"] == {"url": "/", "tags": [{"key": "y", "value": 2}]}
    assert second == {"id": "b"} | dict.fromkeys(ALL_TYPES)


def test_a_table_without_rows_keeps_its_types(
    cluster: EmbeddedCluster, client: Client, tmp_path: Path
) -> None:
    client.create_topic("nobody")
    topology, _ = users("nobody")

    frame = application(cluster, topology, tmp_path).table("nobody").to_pandas()

    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "name": "object",
        "city": "object",
        "age": "Int64",
    }


@pytest.mark.parametrize(
    ("library", "method"),
    [("pandas", "to_pandas"), ("pyarrow", "to_arrow"), ("polars", "to_polars")],
)
def test_a_library_that_is_not_installed_is_named(
    typed: Table, monkeypatch: pytest.MonkeyPatch, library: str, method: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(ConfigError, match=f"{library} is not installed") as caught:
        getattr(typed, method)()

    assert f"pip install '{library}>=" in caught.value.hint


def test_table_without_a_running_application_explains_how_to_run_it() -> None:
    _, table = users("nowhere")

    with pytest.raises(StatementError, match="no application runs") as caught:
        table.to_pandas()

    assert "Application(topology, …).start()" in caught.value.hint


def test_table_without_a_topic_raises_an_error_with_a_hint(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    topology = Topology("visits")
    visits = topology.stream("visits", key="name STRING", value="place STRING")
    counted = visits.group_by_key().materialized("counts").count("visits")
    visits.join(counted).to("numbered")
    topology.running = application(cluster, topology, tmp_path)

    with pytest.raises(StatementError, match="no topic contains the records of table") as caught:
        counted.to_dicts()
    assert '.to("topic")' in caught.value.hint
    assert caught.value.place.endswith(f"{Path(__file__).name}:{_line_of('counted = visits')}")
    with pytest.raises(StatementError, match="is not part of the running topology"):
        counted.filter(col("visits") > 1).to_dicts()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("numbered", 'topic "numbered" contains a stream'),
        ("count", 'unknown table "count"'),
    ],
)
def test_unknown_table_name_raises_an_error_that_lists_the_tables(
    cluster: EmbeddedCluster, tmp_path: Path, name: str, message: str
) -> None:
    topology = Topology("visits")
    visits = topology.stream("visits", key="name STRING", value="place STRING")
    counted = visits.group_by_key().materialized("counts").count("visits")
    visits.join(counted).to("numbered")

    with pytest.raises(StatementError, match=message):
        application(cluster, topology, tmp_path).table(name)


def test_name_of_a_topic_read_as_stream_and_table_means_the_table(
    cluster: EmbeddedCluster, client: Client, tmp_path: Path
) -> None:
    client.create_topic("both")
    client.produce("both", "bob", '{"city": "Oslo"}')
    topology = Topology("both")
    stream = topology.stream("both", key="name STRING", value=USERS)
    stream.join(topology.table("both", key="name STRING", value=USERS), prefix="t_").to("joined")

    found = application(cluster, topology, tmp_path).table("both").to_dicts()

    assert [row["name"] for row in found] == ["bob"]


def test_missing_topic_raises_a_readable_error(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    topology, _ = users("not-made")

    with pytest.raises(KafkaError, match='cannot read topic "not-made"') as caught:
        application(cluster, topology, tmp_path).table("not-made").to_dicts()

    assert caught.value.code == 3


def test_unreachable_broker_is_reported_at_once(tmp_path: Path) -> None:
    """Regression: a client retries for 15 seconds, which blocked a notebook's cell."""
    topology, table = users("unreachable")
    address = f"127.0.0.1:{free_port()}"
    topology.running = Application(topology, bootstrap_servers=address, data_dir=tmp_path)
    began = time.monotonic()

    with pytest.raises(BrokerUnavailable, match=f"no broker answers at {address}"):
        table.to_dicts()
    shown = table._repr_html_()

    assert "no broker answers" in shown
    assert time.monotonic() - began < 14


# A notebook.


def test_repr_without_a_run_shows_columns_and_plan() -> None:
    topology, table = users("shown")

    shown = table.filter(col("city") != "<b>")._repr_html_()

    assert "<td>age</td><td>BIGINT</td>" in shown
    assert "where (city &lt;&gt; &#x27;&lt;b&gt;&#x27;)" in shown
    assert "No application runs it." in shown
    assert topology is not None


def test_repr_of_a_running_application_shows_rows(typed: Table) -> None:
    shown = typed._repr_html_()

    assert "<caption>typed: 2 rows</caption>" in shown
    assert "<td>9007199254740993</td>" in shown


def test_repr_shows_why_rows_cannot_be_read(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    topology, table = users("gone")
    topology.running = application(cluster, topology, tmp_path)

    shown = table._repr_html_()

    assert "cannot read topic &quot;gone&quot;" in shown
    assert "<td>age</td>" in shown


class Notebook(ModuleType):
    """Replaces `IPython.display`: collects the displayed HTML."""

    def __init__(self) -> None:
        super().__init__("IPython.display")
        self.shown: list[str] = []
        self.HTML = str

    def display(self, html: str, *, display_id: bool) -> Any:
        assert display_id
        self.shown.append(html)
        return self

    def update(self, html: str) -> None:
        self.shown.append(html)

    def wait_for(self, text: str) -> str:
        waiting.wait_until(lambda: any(text in html for html in self.shown), lambda: self.shown[-1])
        return self.shown[-1]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    shown = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return shown


def test_a_live_view_follows_its_topic_until_it_is_stopped(
    cluster: EmbeddedCluster, client: Client, tmp_path: Path, notebook: Notebook
) -> None:
    client.create_topic("followed")
    topology, table = users("followed")
    topology.running = application(cluster, topology, tmp_path)

    live = table.live(every_s=0.05)
    notebook.wait_for("0 rows")
    for age in range(3):
        client.produce("followed", "bob", f'{{"age": {age}}}')
        notebook.wait_for(f"<td>{age}</td>")
    assert "running; stop() stops it" in repr(live)
    live.stop()
    shown = len(notebook.shown)
    client.produce("followed", "bob", '{"age": 99}')
    time.sleep(0.3)

    assert ", stopped" in notebook.shown[-1]
    assert len(notebook.shown) == shown
    assert ": stopped>" in repr(live)


def test_a_live_stream_shows_its_last_records_and_ends_with_the_application(
    cluster: EmbeddedCluster, client: Client, tmp_path: Path, notebook: Notebook
) -> None:
    client.create_topic("lines")
    for number in range(30):
        client.produce("lines", None, f"line {number}")
    topology = Topology("lines")
    lines = topology.stream("lines", value=str)
    lines.to("copies")
    running = application(cluster, topology, tmp_path)
    topology.running = running

    live = lines.live(every_s=0.05)
    shown = notebook.wait_for("<td>line 29</td>")
    assert len(re.findall("<td>line", shown)) == 20
    running.stop()

    assert ": stopped>" in repr(live)
    assert "No application runs it." in lines._repr_html_()


def test_a_live_view_without_a_notebook_says_what_is_missing(
    typed: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "IPython.display", None)

    with pytest.raises(ConfigError, match="IPython") as caught:
        typed.live()

    assert "pip install ipython" in caught.value.hint


@pytest.mark.spark
def test_table_of_a_running_application_returns_its_written_rows(
    spark: SparkSession, cluster: EmbeddedCluster, client: Client, tmp_path: Path
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client.create_topic("visits-seen", partitions=2)
    topology = Topology("seen")
    visits = topology.stream("visits-seen", key="name STRING", value="place STRING")
    counted = visits.group_by_key().materialized("counts").count("visits")
    counted.to("visits-by-name")
    for name in ("bob", "amy", "bob"):
        client.produce("visits-seen", name, '{"place": "park"}')

    with application(cluster, topology, tmp_path) as running:
        assert running.start().wait_until_caught_up(120)

        rows = [{"name": "amy", "visits": 1}, {"name": "bob", "visits": 2}]
        assert _soon(counted.to_dicts, rows) == rows
        assert counted.to_pandas()["visits"].sum() == 3
        assert running.table("counts").to_dicts() == rows
        assert running.table("visits-by-name").to_dicts() == rows
    with pytest.raises(StatementError, match="no application runs"):
        counted.to_dicts()


def _soon(read: Any, wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Read until the expected rows exist: real time writes some time after it reads."""
    deadline = time.monotonic() + 60
    while (found := read()) != wanted and time.monotonic() < deadline:
        time.sleep(0.1)
    return list(found)


def _line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(text))
