"""Apache Kafka's own command line tools against a broker process of Duolog's."""

import json
import subprocess
from collections.abc import Callable, Iterator

import pytest

from conformance.kafka.peer import fetch
from conftest import RequireProgram
from duolog.runtime.supervisor import BrokerProcess

RECORDS = 2000
TIMEOUT_S = 60

Tool = Callable[..., str]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("tools") / "data") as process:
        yield process


@pytest.fixture(scope="module")
def tool(broker: BrokerProcess, require_program: RequireProgram) -> Tool:
    """Run a tool by its class with --bootstrap-server and more; return what it prints."""
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    java += ["-cp", f"{fetch()}/*"]

    def run(name: str, *arguments: str) -> str:
        command = [*java, name, "--bootstrap-server", broker.bootstrap_servers, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_kafkas_tools_make_fill_read_and_describe_a_topic(
    broker: BrokerProcess, tool: Tool
) -> None:
    topics, topic = "org.apache.kafka.tools.TopicCommand", ("--topic", "checked")
    groups = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"

    tool(topics, "--create", *topic, "--partitions", "3", "--config", "retention.ms=1000000")
    tool(topics, "--alter", *topic, "--partitions", "4")
    described = tool(topics, "--describe", *topic)
    assert "PartitionCount: 4" in described
    assert "retention.ms=1000000" in described

    sent = tool("org.apache.kafka.tools.VerifiableProducer", *topic, "--max-messages", str(RECORDS))
    last = json.loads(sent.splitlines()[-1])
    assert (last["sent"], last["acked"]) == (RECORDS, RECORDS)

    read = tool(
        "org.apache.kafka.tools.VerifiableConsumer",
        *topic,
        *("--group-id", "checkers", "--reset-policy", "earliest"),
        *("--max-messages", str(RECORDS)),
    )
    events = [json.loads(line) for line in read.splitlines()]
    consumed = [event["count"] for event in events if event["name"] == "records_consumed"]
    commits = [event["success"] for event in events if event["name"] == "offsets_committed"]
    assert sum(consumed) == RECORDS
    assert commits
    assert all(commits)

    rows = [line.split() for line in tool(groups, "--describe", "--group", "checkers").splitlines()]
    lags = [row[5] for row in rows if row[:2] == ["checkers", "checked"]]
    assert lags
    assert set(lags) == {"0"}

    ends = tool("org.apache.kafka.tools.GetOffsetShell", *topic).split()
    assert sum(int(end.rsplit(":", 1)[1]) for end in ends) == RECORDS


def test_kafkas_console_consumer_reads_in_a_group_of_the_new_protocol(tool: Tool) -> None:
    groups = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    tool("org.apache.kafka.tools.VerifiableProducer", "--topic", "modern", "--max-messages", "500")

    read = tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--topic", "modern", "--from-beginning", "--max-messages", "500"),
        *("--group", "moderns", "--consumer-property", "group.protocol=consumer"),
    )
    assert sorted(map(int, read.split())) == list(range(500))

    listed = tool(groups, "--list", "--type", "consumer")
    assert listed.split()[2:4] == ["moderns", "Consumer"]
    (row,) = [
        line.split()
        for line in tool(groups, "--describe", "--group", "moderns").splitlines()
        if line.startswith("moderns")
    ]
    assert row[1:6] == ["modern", "0", "500", "500", "0"]
    state = tool(groups, "--describe", "--group", "moderns", "--state")
    assert "Empty" in state
    tool(groups, "--delete", "--group", "moderns")
    assert tool(groups, "--list").split().count("moderns") == 0


def test_kafkas_tool_reads_a_segment_file(broker: BrokerProcess, tool: Tool) -> None:
    tool("org.apache.kafka.tools.VerifiableProducer", "--topic", "dumped", "--max-messages", "100")
    segment = max(broker.data_dir.rglob("*.log"), key=lambda path: path.stat().st_size)
    command = ["java", "-cp", f"{fetch()}/*", "kafka.tools.DumpLogSegments", "--deep-iteration"]
    command += ["--print-data-log", "--files", str(segment)]
    dumped = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    assert dumped.stdout.count("| offset: ") >= 100
    assert "baseOffset: 0 " in dumped.stdout
