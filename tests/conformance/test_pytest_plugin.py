"""The pytest plugin, in runs of pytest over suites of users."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

import waiting
from conformance.user_suite import TIMEOUT_S, Suite, counts


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


ROUND_TRIP: Final = """
    def test_orders_arrive(topic, producer, consumer, bootstrap_servers, kafka_url):
        producer.produce(topic, b"1")
        producer.flush()
        record = consumer.poll(60)
        assert (record.topic(), record.value(), record.error()) == (topic, b"1", None)
        assert topic.startswith("test_orders_arrive-")
        assert kafka_url == f"kafka://{bootstrap_servers}"
"""


def test_the_fixtures_work_without_any_preparation(suite: Suite) -> None:
    suite.write(ROUND_TRIP)

    printed = suite.run()

    assert counts(printed) == {"passed": 1}, printed
    assert suite.left() == []


def test_a_schema_registry_is_there_for_those_who_ask(suite: Suite) -> None:
    suite.write(
        """
    import json
    from urllib.request import Request, urlopen

    import pytest

    @pytest.mark.parametrize("number", range(2))
    def test_a_schema_is_registered(number, topic, schema_registry_url):
        url = f"{schema_registry_url}/subjects/{topic}-value/versions"
        body = json.dumps({"schema": json.dumps({"type": "array", "items": "long"})}).encode()
        sent = Request(url, body, {"Content-Type": "application/json"})
        with urlopen(sent, timeout=60) as answer:
            assert json.load(answer) == {"id": 1}
        with urlopen(url, timeout=60) as answer:
            assert json.load(answer) == [1]
    """
    )

    assert counts(suite.run()) == {"passed": 2}
    assert suite.left() == []


def test_each_test_has_a_topic_and_a_group_of_its_own(suite: Suite) -> None:
    suite.write("""
    import pytest

    seen = set()

    @pytest.mark.parametrize("name", ["a/b", "a b", "é"])
    def test_alone(name, topic, producer, consumer, duolog_broker):
        producer.produce(topic, name.encode())
        producer.flush()
        assert consumer.poll(60).value() == name.encode()
        assert topic not in seen
        seen.add(topic)

    def test_topics_of_earlier_tests_are_deleted(duolog_broker):
        from confluent_kafka.admin import AdminClient
        admin = AdminClient({"bootstrap.servers": duolog_broker.bootstrap_servers})
        assert len(seen) == 3
        assert not seen & set(admin.list_topics(timeout=60).topics)
    """)

    printed = suite.run("-p", "no:randomly")

    assert counts(printed) == {"passed": 4}, printed


def test_a_marker_and_overridden_fixtures_change_settings(suite: Suite) -> None:
    suite.write(
        """
    import pytest

    @pytest.fixture(scope="session")
    def duolog_broker_settings():
        return {"message.max.bytes": "1234"}

    @pytest.fixture
    def producer_config(producer_config):
        return producer_config | {"client.id": "mine"}
    """,
        "conftest.py",
    )
    suite.write("""
    import pytest
    from confluent_kafka.admin import AdminClient, ConfigResource

    @pytest.mark.duolog_topic(partitions=3, configs={"retention.ms": "5000"})
    def test_settings(topic, new_topic, producer_config, bootstrap_servers):
        dlq = new_topic(".dlq", partitions=2)
        admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        topics = admin.list_topics(timeout=60).topics
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        configs = admin.describe_configs([resource])[resource].result(60)
        assert (len(topics[topic].partitions), len(topics[dlq].partitions)) == (3, 2)
        assert dlq == f"{topic}.dlq"
        assert configs["retention.ms"].value == "5000"
        assert configs["max.message.bytes"].value == "1234"
        assert producer_config["client.id"] == "mine"
    """)

    printed = suite.run("--strict-markers")

    assert counts(printed) == {"passed": 1}, printed


def test_a_fault_ends_with_its_test_even_if_the_test_fails(suite: Suite) -> None:
    suite.write("""
    from datetime import timedelta

    def test_pauses(duolog_broker, topic, producer, consumer):
        producer.produce(topic, b"1")
        duolog_broker.pause()
        assert False

    def test_kills(duolog_broker, topic, producer, consumer):
        producer.produce(topic, b"1")
        duolog_broker.kill()
        assert False

    def test_travels(duolog_broker, topic):
        duolog_broker.advance(timedelta(days=30))
        assert False

    def test_undisturbed(duolog_broker, topic, producer, consumer):
        import time
        producer.produce(topic, b"1")
        producer.flush()
        assert consumer.poll(60).value() == b"1"
        assert abs(duolog_broker.now_ms - time.time() * 1000) < 3_600_000
    """)

    printed = suite.run("-p", "no:randomly")

    assert counts(printed) == {"passed": 1, "failed": 3}, printed
    assert suite.left() == []


def test_fixtures_are_torn_down_even_if_the_broker_cannot_be_healed(suite: Suite) -> None:
    suite.write("""
    import pytest

    torn_down = []

    @pytest.fixture
    def resource():
        yield
        torn_down.append(True)

    def test_breaks_the_broker(duolog_broker, resource, monkeypatch):
        def fail():
            raise RuntimeError("cannot heal")
        monkeypatch.setattr(duolog_broker, "heal", fail)

    def test_next(topic, producer, consumer):
        assert torn_down == [True]
        producer.produce(topic, b"1")
        producer.flush()
        assert consumer.poll(60).value() == b"1"
    """)

    printed = suite.run("-p", "no:randomly")

    assert counts(printed) == {"passed": 2, "error": 1}, printed
    assert "RuntimeError: cannot heal" in printed
    assert "previous item was not torn down properly" not in printed
    assert suite.left() == []


def test_a_broker_that_a_test_stops_or_kills_has_the_same_address_in_the_next_one(
    suite: Suite,
) -> None:
    suite.write("""
    import os
    import signal

    def test_stops(duolog_broker, topic):
        duolog_broker.stop()

    def test_pauses_and_loses_the_process(duolog_broker, topic):
        duolog_broker.pause()
        os.kill(duolog_broker.pid, signal.SIGKILL)

    def test_next(topic, producer, consumer):
        producer.produce(topic, b"1")
        producer.flush()
        assert consumer.poll(60).value() == b"1"
    """)

    printed = suite.run("-p", "no:randomly")

    assert counts(printed) == {"passed": 3}, printed
    assert suite.left() == []


def test_processes_of_xdist_have_brokers_of_their_own(suite: Suite) -> None:
    suite.write("""
    import os
    import pytest

    @pytest.mark.parametrize("number", range(8))
    def test_round_trip(number, topic, producer, consumer, duolog_broker):
        producer.produce(topic, b"1")
        producer.flush()
        assert consumer.poll(60).value() == b"1"
        with open("brokers.txt", "a") as file:
            file.write(f"{os.environ['PYTEST_XDIST_WORKER']} {duolog_broker.pid}\\n")
    """)

    printed = suite.run("-n", "2", "--dist", "each")

    assert counts(printed) == {"passed": 16}, printed
    lines = set((suite.folder / "brokers.txt").read_text().splitlines())
    assert len({line.split()[0] for line in lines}) == 2
    assert len({line.split()[1] for line in lines}) == 2
    assert suite.left() == []


def test_clients_of_asyncio_work_in_several_event_loops(suite: Suite) -> None:
    suite.write("""
    import asyncio
    import pytest
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    @pytest.mark.parametrize("number", range(2))
    def test_round_trip(number, topic, bootstrap_servers):
        async def run():
            async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers) as producer:
                await producer.send_and_wait(topic, b"1")
            async with AIOKafkaConsumer(
                topic, bootstrap_servers=bootstrap_servers, auto_offset_reset="earliest"
            ) as consumer:
                return (await consumer.getone()).value

        assert asyncio.run(run()) == b"1"
    """)

    printed = suite.run()

    assert counts(printed) == {"passed": 2}, printed


def test_a_suite_without_kafka_loads_nothing_and_starts_nothing(suite: Suite) -> None:
    suite.write("""
    import sys

    def test_nothing_is_loaded(pytestconfig):
        loaded = {name for name in sys.modules if name.startswith("duolog")}
        assert loaded == {"duolog", "duolog.testing", "duolog.testing.pytest_plugin"}
        assert "confluent_kafka" not in sys.modules
        names = [name for name, _ in pytestconfig.pluginmanager.list_name_plugin()]
        assert len([name for name in names if "duolog" in name.lower()]) == 1

    def test_assertions_of_duolog_are_not_rewritten():
        import duolog.core.units
        assert type(duolog.core.units.__loader__).__name__ == "SourceFileLoader"
    """)

    printed = suite.run("-p", "no:randomly")

    assert counts(printed) == {"passed": 2}, printed
    assert suite.left() == []


def test_fixtures_of_a_suite_take_precedence(suite: Suite) -> None:
    suite.write("""
    import pytest

    @pytest.fixture
    def topic():
        return "mine"

    @pytest.fixture
    def producer():
        return "also mine"

    def test_own(topic, producer):
        assert (topic, producer) == ("mine", "also mine")
    """)

    printed = suite.run()

    assert counts(printed) == {"passed": 1}, printed


def test_nothing_is_left_of_a_run_that_is_killed(suite: Suite) -> None:
    suite.write("""
    import os
    import threading

    def test_waits(duolog_broker):
        with open("broker.txt.new", "w") as file:
            file.write(str(duolog_broker.pid))
        os.rename("broker.txt.new", "broker.txt")
        threading.Event().wait()
    """)
    with suite.start() as process:
        noted = suite.folder / "broker.txt"
        waiting.wait_until(noted.exists, "the broker has not started", deadline_s=120)
        pid = int(noted.read_text())

        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=TIMEOUT_S)

    waiting.wait_until(_gone(pid), "the broker outlived the run")
    waiting.wait_until(lambda: suite.left() == [], "the data are still there")


def _gone(pid: int) -> Callable[[], bool]:
    def gone() -> bool:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        return state == "Z"

    return gone


def test_both_killed_leave_data_that_the_next_run_deletes(suite: Suite) -> None:
    suite.write("""
    import os
    import signal

    def test_dies(duolog_broker):
        os.kill(duolog_broker.pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    suite.run()
    left = suite.left()
    suite.write(ROUND_TRIP)

    printed = suite.run()

    assert len(left) == 1
    assert counts(printed) == {"passed": 1}, printed
    assert suite.left() == []
