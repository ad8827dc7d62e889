"""`bootstrap.servers`: what people write, and what every client gets."""

from pathlib import Path

import pytest

from duolog import Application, Topology
from duolog.core.addresses import split_address, whole_servers
from duolog.core.errors import ConfigError
from duolog.runtime.sql.engine import SqlEngine


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        ("localhost", "localhost:9092"),
        ("kafka-1.example:9093", "kafka-1.example:9093"),
        (" a:1 , b ,", "a:1,b:9092"),
        ("[::1]", "[::1]:9092"),
        ("[fe80::1%eth0]:9094", "[fe80::1%eth0]:9094"),
        ("SASL_SSL://kafka", "SASL_SSL://kafka:9092"),
        ("127.0.0.1:65535", "127.0.0.1:65535"),
    ],
)
def test_each_server_gets_the_port_that_is_missing(given: str, whole: str) -> None:
    assert whole_servers(given) == whole
    assert whole_servers(whole) == whole


@pytest.mark.parametrize(
    "given",
    ["a:b", ":9092", "a:0", "a:65536", "a:1:2", "http://a/b", "a b", "a:1,b:", "[::1", "[kafka]:1"],
)
def test_an_invalid_address_is_refused_with_the_correct_form(given: str) -> None:
    with pytest.raises(ConfigError, match="is not a broker address") as caught:
        whole_servers(given)

    assert "Write HOST:PORT" in caught.value.hint


def test_an_ipv6_address_without_brackets_is_refused_with_a_hint() -> None:
    with pytest.raises(ConfigError, match='"::1" is not a broker address') as caught:
        whole_servers("kafka,::1")

    assert "Write [::1]:9092" in caught.value.hint
    with pytest.raises(ConfigError, match="no broker address is given"):
        whole_servers(" , ")


def test_a_host_is_returned_without_brackets() -> None:
    assert split_address("PLAINTEXT://[::1]:9093") == ("::1", 9093)


def test_an_invalid_server_is_refused_before_anything_starts(tmp_path: Path) -> None:
    topology = Topology("shop")
    topology.stream("orders", value="n BIGINT").to("out")

    with pytest.raises(ConfigError, match="is not a broker address"):
        Application(topology, bootstrap_servers="kafka:port", data_dir=tmp_path / "data")
    with pytest.raises(ConfigError, match="is not a broker address"):
        SqlEngine("kafka:port", data=tmp_path / "sql")
    application = Application(topology, bootstrap_servers="localhost", data_dir=tmp_path / "data")

    with SqlEngine("localhost", data=tmp_path / "sql") as engine:
        assert engine.bootstrap == "localhost:9092"
    assert application.brokers.servers == "localhost:9092"
    assert application._engine_of_this().config.bootstrap_servers == "localhost:9092"  # noqa: SLF001
