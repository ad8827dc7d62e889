from pathlib import Path

import pytest

from duolog.broker.settings import BrokerSettings, without_effect
from duolog.broker.settings.config_file import read_config
from duolog.core.errors import ConfigError, EncodingError
from duolog.core.java_properties import parse_properties

KAFKAS_OWN = """\
############################# Server Basics #############################
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://127.0.0.1:9092
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


def test_tables_of_a_settings_file_become_dotted_names(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_text('durability = "os"\n[log.segment]\nbytes = 1024\n[x]\non = true\nl = [1, 2]\n')

    assert read_config(path).settings == {
        "durability": "os",
        "log.segment.bytes": "1024",
        "x.on": "true",
        "x.l": "1,2",
    }


@pytest.mark.parametrize("name", ["broker.toml", "broker.properties"])
def test_a_byte_order_mark_is_accepted_and_another_encoding_refused(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbfnum.partitions=3\n")
    assert read_config(path).settings == {"num.partitions": "3"}

    path.write_bytes("num.partitions=3\n# grün\n".encode("latin-1"))
    with pytest.raises(EncodingError, match=f'{name}", line 2, is not UTF-8'):
        read_config(path)


def test_a_file_that_is_not_toml_is_a_setting_error(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_bytes(b"durability: os")

    with pytest.raises(ConfigError, match="is not TOML"):
        read_config(path)


def test_the_file_of_a_kafka_broker_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(KAFKAS_OWN)

    file = read_config(path)

    settings = BrokerSettings(file.settings)
    assert file.data_dir == Path("/tmp/kraft-combined-logs")  # noqa: S108 - Kafka's own
    assert settings.integer("node.id") == 1
    assert settings.integer("log.segment.bytes") == 2**30
    assert set(without_effect(file.settings)) == {
        "process.roles",
        "controller.quorum.bootstrap.servers",
        "inter.broker.listener.name",
        "controller.listener.names",
        "num.network.threads",
        "num.io.threads",
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr",
    }


def test_setting_names_of_older_kafkas_are_ignored_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("broker.id=3\nzookeeper.connect=localhost:2181\nlog.dir=/var/kafka\n")

    file = read_config(path)

    assert file.settings == {"node.id": "3"}
    assert file.passed_over == ("zookeeper.connect",)
    assert file.data_dir == Path("/var/kafka")


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1\nb = 2\nc: 3\nd 4\ne", [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "")]),
        ("# x=1\n ! y=2\n\n  z=3", [("z", "3")]),
        ("a=b=c", [("a", "b=c")]),
        ("a=1,\\\n    2,\\\n    3\nb=4", [("a", "1,2,3"), ("b", "4")]),
        ("a=c:\\\\dir\\\\\nb=1", [("a", "c:\\dir\\"), ("b", "1")]),
        ("a\\=b=\\u0041\\tx", [("a=b", "A\tx")]),
        ("a=1\\", [("a", "1")]),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, pairs: list[tuple[str, str]]) -> None:
    assert list(parse_properties(text)) == pairs


def test_one_data_directory_is_taken_and_two_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("log.dir=a\nlog.dirs=b\nbroker.id=7\n")
    assert read_config(path) == ({"node.id": "7"}, Path("b"), ())

    path.write_text("log.dirs=a,b\n")
    with pytest.raises(ConfigError, match="names 2 directories"):
        read_config(path)


def test_an_unknown_name_in_a_file_is_an_error_with_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("log.segment.byte=1\n")

    with pytest.raises(ConfigError) as error:
        BrokerSettings(read_config(path).settings)

    assert error.value.hint == 'The nearest known name is "log.segment.bytes".'
