"""`duolog groups` against Duolog's broker, as a user calls it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conformance.command import Duolog
from duolog.testing import Client, EmbeddedCluster

READ = ("--from-beginning", "--until-end", "-f", r"%v\n")


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture
def duolog(cluster: EmbeddedCluster) -> Duolog:
    return Duolog(cluster.bootstrap_servers)


@pytest.fixture
def readers(duolog: Duolog, request: pytest.FixtureRequest) -> str:
    """Return the name of a topic and of a group that has read its ten records."""
    name = f"t{abs(hash(request.node.name))}"
    client = Client(duolog.bootstrap_servers)
    client.create_topic(name)
    for number in range(10):
        client.produce(name, None, str(number), timestamp_ms=1000 * (number + 1))
    assert duolog("consume", name, "-g", name, *READ).returncode == 0
    return name


@contextmanager
def member(duolog: Duolog, name: str, *words: str) -> Iterator[None]:
    """Run a member of the group `name` that reads the topic `name`."""
    command = [sys.executable, "-m", "duolog", "consume", name, "-g", name, *words]
    with subprocess.Popen(
        [*command, "-b", duolog.bootstrap_servers], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "reached the end of topic" in process.stderr.readline()
        yield
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def test_a_group_is_listed_and_described_with_its_lag(duolog: Duolog, readers: str) -> None:
    duolog("produce", readers, stdin="10\n11\n")

    listed = json.loads(duolog("groups", "list", "-o", "json").stdout)
    described = duolog("groups", "describe", readers, "-o", "json")

    assert {"group": readers, "state": "empty", "protocol": "classic"} in listed
    (row,) = json.loads(described.stdout)
    assert (row["topic"], row["committed_offset"], row["lag"]) == (readers, 10, 2)
    assert row["member"] is None
    assert "state=empty members=0" in described.stderr


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_are_shown_with_their_partitions(
    duolog: Duolog, readers: str, protocol: str
) -> None:
    with member(duolog, readers, "-X", f"group.protocol={protocol}"):
        (row,) = json.loads(duolog("groups", "describe", readers, "-o", "json").stdout)
        members = json.loads(
            duolog("groups", "describe", readers, "--members", "-o", "json").stdout
        )

    assert row["member"] == "duolog"
    assert [found["partitions"] for found in members] == [f"{readers}-0"]


@pytest.mark.parametrize(
    ("words", "offset"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), 10),
        (("--to-current",), 10),
        (("--to-offset", "4"), 4),
        (("--to-offset", "99"), 10),
        (("--to-time", "1970-01-01T00:00:07.500Z"), 7),
        (("--to-datetime", "7000"), 6),
        (("--to-time", "2100-01-01"), 10),
        (("--by-duration", "1h"), 10),
        (("--by-duration", "P30000D"), 0),
        (("--shift-by", "-3"), 7),
        (("--shift-by", "-30"), 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_group_resumes_where_it_was_reset_to(
    duolog: Duolog, readers: str, words: tuple[str, ...], offset: int
) -> None:
    dry = duolog("groups", "reset", readers, "--all-topics", *words, "--dry-run", "-o", "json")
    before = json.loads(duolog("groups", "describe", readers, "-o", "json").stdout)
    done = duolog("groups", "reset", readers, "--topic", f"{readers}:0", *words, "-o", "json")
    read = duolog("consume", readers, "-g", readers, *READ).stdout.split()

    expected = {"topic": readers, "partition": 0, "old_offset": 10, "new_offset": offset}
    assert json.loads(done.stdout) == [expected | {"records": 10 - offset}]
    assert json.loads(dry.stdout) == json.loads(done.stdout)
    assert "kafka-consumer-groups.sh" in dry.stderr
    assert before[0]["committed_offset"] == 10
    assert read == [str(number) for number in range(offset, 10)]


def test_a_group_with_members_is_neither_reset_nor_deleted(duolog: Duolog, readers: str) -> None:
    with member(duolog, readers):
        reset = duolog("groups", "reset", readers, "--all-topics", "--to-earliest")
        deleted = duolog("groups", "delete", readers, "--yes")
    (row,) = json.loads(duolog("groups", "describe", readers, "-o", "json").stdout)

    assert (reset.returncode, deleted.returncode) == (6, 6)
    assert f'group "{readers}" has 1 member' in reset.stderr
    assert "duolog on 127.0.0.1" in reset.stderr
    assert row["committed_offset"] == 10


def test_offsets_can_be_set_before_a_group_first_reads(duolog: Duolog, readers: str) -> None:
    group = f"{readers}-new"

    reported = duolog("groups", "reset", group, "--topic", readers, "--to-offset", "8")

    assert "does not exist yet" in reported.stderr
    assert duolog("consume", readers, "-g", group, *READ).stdout.split() == ["8", "9"]


def test_a_deleted_group_no_longer_exists(duolog: Duolog, readers: str) -> None:
    assert duolog("groups", "delete", readers, "--dry-run").returncode == 0
    assert duolog("groups", "delete", readers, "--yes").returncode == 0

    assert duolog("groups", "describe", readers).returncode == 3


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("describe", "unknown"), 3, 'group "unknown" does not exist'),
        (("reset", "g", "--all-topics"), 2, "Use one of --to-earliest"),
        (("reset", "g", "--to-latest"), 2, "Use either --topic or --all-topics"),
        (("reset", "g", "--to-latest", "--to-earliest", "--all-topics"), 2, "Use one of"),
        (("reset", "g", "--by-duration", "long", "--all-topics"), 2, "is not a duration"),
        (("reset", "g", "--to-time", "later", "--all-topics"), 2, "is not a time"),
        (("reset", "g", "--to-latest", "--topic", "nothing"), 3, '"nothing" does not exist'),
        (("reset", "g", "--to-latest", "--all-topics"), 0, "has no committed offsets"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_impossible_requests_are_reported_with_their_status(
    duolog: Duolog, words: tuple[str, ...], status: int, message: str
) -> None:
    done = duolog("groups", *words)

    assert done.returncode == status
    assert message in done.stderr
