"""The demo's values in JSON and in Avro."""

import json

import pytest

from duolog.cli.demo.formats import AvroFormat, DemoFormat, JsonFormat
from duolog.cli.demo.topics import BY_AIRLINE, BY_DESTINATION, FLIGHTS, RESULTS, TABLES
from duolog.cli.demo.topology import flights_topology
from duolog.plan.nodes.topics import Sink, Source
from duolog.registry.in_process import InProcessRegistry
from duolog.testing import TopologyDriver

ADDRESS = "mock://demo"
FLIGHT = {
    "flight": 1545,
    "tailnum": "N14228",
    "origin": "EWR",
    "dest": "IAH",
    "dep_delay": None,
    "arr_delay": 11,
    "distance": 1400,
    "produced_at": 1_357_034_400_000,
}


@pytest.fixture
def registry() -> InProcessRegistry:
    return InProcessRegistry()


@pytest.fixture(params=["json", "avro"])
def of(request: pytest.FixtureRequest, registry: InProcessRegistry) -> DemoFormat:
    return JsonFormat() if request.param == "json" else AvroFormat(ADDRESS, registry)


def test_a_result_is_read_as_it_was_written(of: DemoFormat) -> None:
    row = {
        "name": "United Air Lines Inc.",
        "flights": 2,
        "delay_count": 1,
        "delay_sum": 11,
        "delay_mean": 11.0,
        "delay_max": 11,
        "last_produced_at": None,
    }

    assert of.decode(BY_AIRLINE, of.encode(BY_AIRLINE, json.dumps(row))) == row


def test_every_topic_has_a_schema_in_the_registry(registry: InProcessRegistry) -> None:
    of = AvroFormat(ADDRESS, registry)

    value = of.encode(FLIGHTS, json.dumps(FLIGHT))

    assert value[:1] == b"\0"
    assert registry.by_id(int.from_bytes(value[1:5], "big")).name == "duolog.demo.Flights"
    for topic in (FLIGHTS, *TABLES, *RESULTS):
        assert registry.latest(f"{topic}-value") is not None
    assert AvroFormat(ADDRESS, registry).encode(FLIGHTS, json.dumps(FLIGHT)) == value


def test_the_topology_reads_and_writes_in_avro(registry: InProcessRegistry) -> None:
    of = AvroFormat(ADDRESS, registry)
    topology = flights_topology(of.of)
    nodes = topology.build().nodes

    driver = TopologyDriver(topology)
    driver.input_topic("airlines").pipe_input("UA", {"name": "United"})
    driver.input_topic(FLIGHTS).pipe_input("UA", FLIGHT)

    formats = {n.value_format.name for n in nodes if isinstance(n, Source | Sink)}
    assert formats == {"AVRO"}
    (by_airline,) = driver.output_topic(BY_AIRLINE).read_key_values()
    assert by_airline[1]["name"] == "United"
    assert by_airline[1]["delay_count"] == 0
    (by_destination,) = driver.output_topic(BY_DESTINATION).read_key_values()
    assert by_destination[0] == "IAH"
