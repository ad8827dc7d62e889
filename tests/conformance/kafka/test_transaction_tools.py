"""Apache Kafka's Java clients and tools in transactions, against a broker process of Duolog's."""

import json
import subprocess
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from conformance.kafka.peer import TOOL_OPTIONS, fetch
from conftest import RequireProgram
from duolog.runtime.broker_process import BrokerProcess

RECORDS = 1000
TIMEOUT_S = 90

Java = Callable[..., str]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("tools") / "data") as process:
        yield process


@pytest.fixture(scope="module")
def java(require_program: RequireProgram) -> Java:
    """Run a class of Kafka's; return what it prints."""
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    command = ["java", *TOOL_OPTIONS]
    command += ["-cp", f"{fetch()}/*"]

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_the_java_client_copies_in_transactions_with_random_aborts(
    broker: BrokerProcess, java: Java
) -> None:
    """Run TransactionalMessageCopier from Kafka's system tests with the client of 4.1."""
    servers = broker.bootstrap_servers
    tools = "org.apache.kafka.tools"
    java(
        f"{tools}.VerifiableProducer",
        *("--bootstrap-server", servers, "--topic", "in", "--max-messages", str(RECORDS)),
    )

    printed = java(
        f"{tools}.TransactionalMessageCopier",
        *("--broker-list", servers, "--transactional-id", "copier"),
        *("--input-topic", "in", "--input-partition", "0", "--output-topic", "out"),
        *("--consumer-group", "copiers", "--max-messages", str(RECORDS)),
        *("--transaction-size", "50", "--enable-random-aborts", "--use-group-metadata"),
    )

    last = json.loads(printed.splitlines()[-1])
    assert (last["consumed"], last["remaining"]) == (RECORDS, 0)
    read = java(
        f"{tools}.consumer.ConsoleConsumer",
        *("--bootstrap-server", servers, "--topic", "out", "--from-beginning"),
        *("--max-messages", str(RECORDS), "--timeout-ms", "20000"),
        *("--isolation-level", "read_committed"),
    )
    assert sorted(map(int, read.split())) == list(range(RECORDS))
    described = java(
        f"{tools}.TransactionsCommand",
        *("--bootstrap-server", servers, "describe", "--transactional-id", "copier"),
    )
    assert "CompleteCommit" in described


def test_kafkas_tools_find_list_and_abort_a_transaction(broker: BrokerProcess, java: Java) -> None:
    servers = broker.bootstrap_servers
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "left"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("hanging", b"v")
    producer.flush(60)

    def tool(*arguments: str) -> str:
        name = "org.apache.kafka.tools.TransactionsCommand"
        return java(name, "--bootstrap-server", servers, *arguments)

    assert "left" in tool("list")
    assert "hanging-0" in tool("describe", "--transactional-id", "left")
    place = ("--topic", "hanging", "--partition", "0")
    producers = tool("describe-producers", *place).splitlines()
    assert len(producers) == 2
    tool("abort", *place, "--start-offset", "0")
    # The last column is the first offset of its transaction.
    assert tool("describe-producers", *place).split()[-1] == "None"


def test_kafkas_tool_reads_the_transaction_log(broker: BrokerProcess, java: Java) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "seen"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("dumped", b"v")
    producer.commit_transaction(60)

    read = java(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", broker.bootstrap_servers, "--topic", "__transaction_state"),
        *("--from-beginning", "--timeout-ms", "5000"),
        *("--formatter", "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"),
    )

    rows = json.loads(f"[{read.strip().replace('}{', '},{')}]")
    states = [
        row["value"]["data"]["transactionStatus"]
        for row in rows
        if row["key"]["data"]["transactionalId"] == "seen"
    ]
    assert states == [0, 1, 2, 4]  # Empty, Ongoing, PrepareCommit, CompleteCommit
