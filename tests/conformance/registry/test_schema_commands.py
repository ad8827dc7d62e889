"""`duolog schema`, `consume` and `produce` with a registry process, as a user runs them."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from duolog.testing.cluster import EmbeddedCluster

TIMEOUT_S = 60
ORDER = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
    {"name": "paid", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}],
     "default": null}]}"""
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(cluster: EmbeddedCluster, registry: str, tmp_path: Path) -> Run:
    """Run a shell command in which `duolog` finds the broker and the registry."""
    (tmp_path / "order.avsc").write_text(ORDER)
    environment = {
        **os.environ,
        "DUOLOG_BOOTSTRAP_SERVERS": cluster.bootstrap_servers,
        "DUOLOG_REGISTRY": registry,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }

    def run_command(command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=environment | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )

    return run_command


def test_records_of_confluents_serializer_are_shown_and_the_other_way_round(
    run: Run, cluster: EmbeddedCluster, registry: str
) -> None:
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    context = SerializationContext("orders", MessageField.VALUE)
    with SchemaRegistryClient({"url": registry}) as client:
        value = AvroSerializer(client, ORDER)({"id": 1, "state": "PAID", "paid": 5}, context)
        producer = Producer(servers)
        producer.produce("orders", value)
        assert producer.flush(TIMEOUT_S) == 0

        written = run(
            """echo '{"id": 2, "state": "NEW"}' | duolog produce orders --value-format avro"""
        )
        shown = run("duolog consume orders --from-beginning -e -f '%v\\n'")
        consumer = Consumer(servers | {"group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        read = [
            AvroDeserializer(client)(message.value(), context)
            for message in consumer.consume(2, TIMEOUT_S)
        ]
        consumer.close()

    assert written.returncode == 0, written.stderr
    assert shown.stdout.splitlines() == [
        '{"id":1,"state":"PAID","paid":5}',
        '{"id":2,"state":"NEW","paid":null}',
    ]
    assert [(row["id"], row["state"]) for row in read] == [(1, "PAID"), (2, "NEW")]


def test_poisoned_records_stop_no_reader(run: Run) -> None:
    produced = run(
        """echo '{"id": 1, "state": "NEW"}' | duolog produce orders --schema order.avsc --register
        printf 'text\\n' | duolog produce orders
        printf '\\0\\0\\0\\0\\143cut off\\n' | duolog produce orders
        echo '{"id": 2, "state": "NEW"}' | duolog produce orders --value-format avro"""
    )
    shown = run("duolog consume orders --from-beginning -e -o jsonl --value-format avro")

    assert produced.returncode == 0, produced.stderr
    values = [json.loads(line)["value"] for line in shown.stdout.splitlines()]
    assert [value["id"] for value in values if "id" in value] == [1, 2]
    assert [list(value) for value in values[1:3]] == [["base64"], ["base64"]]
    assert "offset 1: the value is shown unchanged: the bytes do not start with" in shown.stderr
    assert "offset 2: the value is shown unchanged: " in shown.stderr
    assert "no schema of id 99" in shown.stderr


def test_a_bad_line_names_itself_and_later_lines_are_not_written(run: Run) -> None:
    done = run(
        """printf '{"id": 1, "state": "NEW"}\\n{"id": 2, "state": "OLD"}\\n{"id": 3}\\n' |
        duolog produce orders --schema order.avsc --register"""
    )

    assert done.returncode == 1
    assert "produced 1 record" in done.stderr
    assert "line 2 is not a record" in done.stderr
    assert "OLD" in done.stderr


def test_a_pipe_that_closes_ends_a_list_quietly(run: Run) -> None:
    done = run(
        "duolog schema register order.avsc -s a >&2; duolog schema show a | head -1; "
        "duolog schema list -o json | python -c 'import json, sys; print(json.load(sys.stdin))'"
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "{"
    assert "'subject': 'a'" in done.stdout
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_a_command_whose_registry_does_not_answer() -> None:
    # A command gives up after some seconds, which a busy machine may need for this test.
    patient = (
        "import sys; from duolog.cli import main; from duolog.cli.registry import options; "
        f"options._ANSWER_S = {2 * TIMEOUT_S}; sys.exit(main.main(sys.argv[1:]))"
    )
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.settimeout(TIMEOUT_S)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        words = [sys.executable, "-c", patient, "schema", "list", "-r", url]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            connection, _ = silent.accept()
            with connection:
                waiting = process.stderr.readline()
                process.send_signal(signal.SIGINT)
                rest = process.stderr.read()
                status = process.wait(TIMEOUT_S)

    assert waiting == f"waiting for an answer from {url} …\n"
    assert (status, rest.strip()) == (130, "")
