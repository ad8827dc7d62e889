"""Apache Kafka's own command line tools against a broker process of Duolog's."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.kafka.peer import HERE, TOOL_OPTIONS, fetch
from conftest import RequireProgram
from duolog.runtime.broker_process import BrokerProcess

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
    java = ["java", *TOOL_OPTIONS]
    java += ["-cp", f"{fetch()}/*"]

    def run(name: str, *arguments: str) -> str:
        command = [*java, name, "--bootstrap-server", broker.bootstrap_servers, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_kafkas_tools_create_fill_read_and_describe_a_topic(
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


def test_kafkas_tools_change_and_show_configs_of_every_kind(tool: Tool) -> None:
    configs = "kafka.admin.ConfigCommand"
    tool("org.apache.kafka.tools.TopicCommand", "--create", "--topic", "tuned")
    topic = ("--entity-type", "topics", "--entity-name", "tuned")
    broker = ("--entity-type", "brokers", "--entity-name", "0")
    every_broker = ("--entity-type", "brokers", "--entity-default")
    group = ("--entity-type", "groups", "--entity-name", "g")
    user = ("--entity-type", "users", "--entity-name", "u")

    tool(configs, "--alter", *topic, "--add-config", "retention.ms=1000,cleanup.policy=[compact]")
    tool(configs, "--alter", *every_broker, "--add-config", "message.max.bytes=99999")
    tool(configs, "--alter", *group, "--add-config", "consumer.session.timeout.ms=50000")
    tool(configs, "--alter", *user, "--add-config", "producer_byte_rate=1000")

    of_topic = tool(configs, "--describe", *topic)
    of_broker = tool(configs, "--describe", *broker, "--all")
    assert "retention.ms=1000" in of_topic
    assert "cleanup.policy=compact" in of_topic
    assert "DYNAMIC_DEFAULT_BROKER_CONFIG:message.max.bytes=99999" in of_broker
    assert "listeners=PLAINTEXT://127.0.0.1:" in of_broker
    assert "consumer.session.timeout.ms=50000" in tool(configs, "--describe", *group)
    assert "producer_byte_rate=1000.0" in tool(configs, "--describe", *user)
    tool(configs, "--alter", *topic, "--delete-config", "retention.ms")
    assert "retention.ms" not in tool(configs, "--describe", *topic)


def test_kafkas_administration_tools_run(tool: Tool, tmp_path: Path) -> None:
    tools = "org.apache.kafka.tools"
    tool(f"{tools}.TopicCommand", "--create", "--topic", "ruled")
    tool(f"{tools}.VerifiableProducer", "--topic", "ruled", "--max-messages", "10")
    cut = tmp_path / "cut.json"
    cut.write_text(
        json.dumps({"version": 1, "partitions": [{"topic": "ruled", "partition": 0, "offset": 4}]})
    )
    moved = tmp_path / "moved.json"
    place = {"topic": "ruled", "partition": 0, "replicas": [0]}
    moved.write_text(json.dumps({"version": 1, "partitions": [place]}))
    reassign = f"{tools}.reassign.ReassignPartitionsCommand"
    plan = ("--reassignment-json-file", str(moved))

    directories = tool(f"{tools}.LogDirsCommand", "--describe", "--topic-list", "ruled")
    assert '"partition":"ruled-0"' in directories
    assert "low_watermark: 4" in tool(
        f"{tools}.DeleteRecordsCommand", "--offset-json-file", str(cut)
    )
    assert "already elected" in tool(
        f"{tools}.LeaderElectionCommand",
        *("--election-type", "preferred", "--topic", "ruled", "--partition", "0"),
    )
    tool(reassign, *plan, "--execute", "--throttle", "1000")
    assert "is completed" in tool(reassign, *plan, "--verify")
    assert "No partition reassignments found" in tool(reassign, "--list")
    quorum = f"{tools}.MetadataQuorumCommand"
    assert "LeaderId:               0" in tool(quorum, "describe", "--status")
    assert "Leader" in tool(quorum, "describe", "--replication")


def test_java_client_reads_its_latest_committed_offset(broker: BrokerProcess, tool: Tool) -> None:
    """Regression: `committed()` after `commitAsync()` returned the old offset 73 of 100 times."""
    topic = ("--topic", "committed")
    tool("org.apache.kafka.tools.TopicCommand", "--create", *topic, "--partitions", "1")

    command = ["java", *TOOL_OPTIONS, "-cp", f"{fetch()}/*", str(HERE / "Committed.java")]
    command += [broker.bootstrap_servers, "committed", "300"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)

    assert done.stdout.splitlines()[-1:] == ["old 0 of 300"], done.stderr
