"""`duolog topics`, `produce` and `consume` against Duolog's broker, as a person calls them."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from duolog.testing import Client, EmbeddedCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture
def duolog(cluster: EmbeddedCluster) -> "Duolog":
    return Duolog(cluster.bootstrap_servers)


class Duolog:
    """Runs `duolog` against one cluster."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    def __call__(
        self, *words: str, stdin: str = "", servers: str = ""
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "duolog", *words, "-b", servers or self.bootstrap_servers]
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, check=False, timeout=60
        )


def test_a_topic_is_created_listed_described_and_deleted(duolog: Duolog) -> None:
    assert duolog("topics", "create", "life", "-p", "3", "-c", "retention.ms=-1").returncode == 0

    listed = json.loads(duolog("topics", "list", "-o", "json").stdout)
    described = duolog("topics", "describe", "life", "-o", "jsonl")
    deleted = duolog("topics", "delete", "life", "--yes")

    assert {"topic": "life", "partitions": 3} in listed
    rows = [json.loads(line) for line in described.stdout.splitlines()]
    assert [row["partition"] for row in rows] == [0, 1, 2]
    assert "retention.ms=-1" in described.stderr
    assert deleted.returncode == 0
    assert "life" not in duolog("topics", "list").stdout


def test_a_topic_is_altered_and_its_settings_are_shown(duolog: Duolog) -> None:
    duolog("topics", "create", "bent", "-c", "segment.ms=7000")

    altered = duolog("topics", "alter", "bent", "-c", "retention.ms=5", "-p", "3")
    dry = duolog("topics", "alter", "bent", "--unset", "segment.ms", "--dry-run")
    unset = duolog("topics", "alter", "bent", "--unset", "segment.ms")
    wrong = duolog("topics", "alter", "bent", "-c", "retention.mss=5")

    assert (altered.returncode, dry.returncode, unset.returncode) == (0, 0, 0)
    assert "kafka-configs.sh" in dry.stderr
    assert 'nearest known name is "retention.ms"' in wrong.stderr
    rows = json.loads(duolog("topics", "configs", "bent", "-o", "json").stdout)
    found = {row["config"]: (row["value"], row["source"]) for row in rows}
    assert found["retention.ms"] == ("5", "topic")
    assert found["segment.ms"][1] == "default"
    assert {"topic": "bent", "partitions": 3} in json.loads(
        duolog("topics", "list", "-o", "json").stdout
    )


def test_the_oldest_records_of_a_topic_are_deleted(duolog: Duolog) -> None:
    duolog("topics", "create", "worn")
    duolog("produce", "worn", stdin="a\nb\nc\n")

    dry = duolog("topics", "delete-records", "worn", "--all", "--dry-run")
    cut = duolog("topics", "delete-records", "worn", "--before", "2", "--yes")
    beyond = duolog("topics", "delete-records", "worn", "--before", "9", "--yes")
    neither = duolog("topics", "delete-records", "worn")

    assert "would delete all records" in dry.stderr
    assert "starts at offset 2 now" in cut.stderr
    assert "OFFSET_OUT_OF_RANGE" in beyond.stderr
    assert neither.returncode == 2
    (row,) = json.loads(duolog("topics", "describe", "worn", "-o", "json").stdout)
    assert (row["log_start_offset"], row["high_watermark"]) == (2, 3)


def test_a_topic_that_is_there_is_a_conflict_unless_that_is_fine(duolog: Duolog) -> None:
    duolog("topics", "create", "twice")

    assert duolog("topics", "create", "twice").returncode == 6
    assert duolog("topics", "create", "twice", "--if-not-exists").returncode == 0


def test_a_dry_run_creates_and_deletes_nothing(duolog: Duolog) -> None:
    duolog("topics", "create", "kept")

    deleted = duolog("topics", "delete", "kept", "--dry-run")
    created = duolog("topics", "create", "unborn", "--dry-run")

    assert "kafka-topics.sh" in deleted.stderr
    assert created.returncode == 0
    listed = duolog("topics", "list").stdout
    assert "kept" in listed
    assert "unborn" not in listed


def test_what_was_produced_is_consumed_with_key_headers_and_time(duolog: Duolog) -> None:
    duolog("topics", "create", "round")
    lines = 'bob:{"city": "Rome"}\namy:\n'
    produced = duolog(
        *("produce", "round", "-K", ":", "-Z", "-H", "h=1", "-t", "2013-01-01T10:15:00Z"),
        stdin=lines,
    )

    consumed = duolog("consume", "round", "--from-beginning", "--until-end", "-o", "jsonl")

    assert (produced.returncode, consumed.returncode) == (0, 0)
    same = {
        "topic": "round",
        "partition": 0,
        "timestamp": 1_357_035_300_000,
        "headers": [["h", "1"]],
    }
    assert [json.loads(line) for line in consumed.stdout.splitlines()] == [
        same | {"offset": 0, "key": "bob", "value": '{"city": "Rome"}'},
        same | {"offset": 1, "key": "amy", "value": None},
    ]


def test_a_topic_is_copied_byte_for_byte_through_json_lines(duolog: Duolog) -> None:
    client = Client(duolog.bootstrap_servers)
    client.create_topic("binary")
    client.produce("binary", b"\xff\x00", b"\xfe", timestamp_ms=1000, headers=[("h", b"\xff")])
    client.produce("binary", None, "text", timestamp_ms=2000)

    lines = duolog("consume", "binary", "--from-beginning", "-e", "-o", "jsonl").stdout
    duolog("topics", "create", "copy")
    duolog("produce", "copy", "-i", "jsonl", stdin=lines)

    assert client.read("copy") == client.read("binary")


def test_reading_ends_after_as_many_records_as_were_asked_for(duolog: Duolog) -> None:
    duolog("topics", "create", "many")
    duolog("produce", "many", stdin="".join(f"{n}\n" for n in range(50)))

    done = duolog("consume", "many", "--offset", "10", "--max", "3", "-f", r"%o=%v\n")

    assert done.stdout == "10=10\n11=11\n12=12\n"


def test_a_partition_that_does_not_exist_is_not_found(duolog: Duolog) -> None:
    duolog("topics", "create", "single")

    done = duolog("consume", "single", "--from-beginning", "-e", "-p", "7")

    assert done.returncode == 3
    assert 'partition 7 of topic "single" does not exist' in done.stderr


def test_a_topic_that_does_not_exist_is_not_found_and_not_created(duolog: Duolog) -> None:
    assert duolog("consume", "nothing", "--from-beginning", "-e").returncode == 3
    assert duolog("topics", "describe", "nothing").returncode == 3
    assert "nothing" not in duolog("topics", "list").stdout


def test_without_a_broker_the_error_says_how_to_start_one(duolog: Duolog) -> None:
    done = duolog("topics", "list", servers="127.0.0.1:1")

    assert done.returncode == 5
    assert "`duolog broker` starts one" in done.stderr


def test_a_bad_line_is_named_and_the_lines_before_it_are_written(duolog: Duolog) -> None:
    duolog("topics", "create", "partly")

    done = duolog("produce", "partly", "-K", ":", stdin="a:1\nb:2\nno separator\n")

    assert done.returncode == 1
    assert "line 3 is not a record" in done.stderr
    assert [r.key for r in Client(duolog.bootstrap_servers).read("partly")] == [b"a", b"b"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_reading_goes_on_until_a_signal(
    duolog: Duolog, number: signal.Signals, status: int
) -> None:
    topic = f"endless-{number.value}"
    duolog("topics", "create", topic)
    duolog("produce", topic, stdin="1\n")
    command = [sys.executable, "-m", "duolog", "consume", topic, "--from-beginning"]
    command += ["-b", duolog.bootstrap_servers, "-f", r"%v\n"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        process.send_signal(number)
        assert process.wait(20) == status


def test_a_reader_that_went_away_ends_it_quietly(duolog: Duolog) -> None:
    duolog("topics", "create", "pipe")
    duolog("produce", "pipe", stdin="".join(f"{n} {'x' * 200}\n" for n in range(5000)))
    command = [sys.executable, "-m", "duolog", "consume", "pipe", "--from-beginning", "-e"]
    command += ["-b", duolog.bootstrap_servers, "-f", r"%v\n"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(20) == 141
        assert process.stderr.read() == b""
