"""`duolog topics`, `produce` and `consume` against Duolog's broker, as a user calls them."""

import base64
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from confluent_kafka import Producer

from conformance.command import Duolog
from duolog.runtime.broker_process import BrokerProcess
from duolog.testing import Client, EmbeddedCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture
def duolog(cluster: EmbeddedCluster) -> Duolog:
    return Duolog(cluster.bootstrap_servers)


def test_a_topic_is_created_listed_described_and_deleted(
    cluster: EmbeddedCluster, duolog: Duolog
) -> None:
    assert duolog("topics", "create", "life", "-p", "3", "-c", "retention.ms=-1").returncode == 0

    listed = json.loads(duolog("topics", "list", "-o", "json").stdout)
    described = duolog("topics", "describe", "life", "-o", "jsonl")
    folders = {path.name for path in (cluster.data_dir / "topics").iterdir()}
    deleted = duolog("topics", "delete", "life", "--yes")

    assert {"topic": "life", "partitions": 3} in listed
    rows = [json.loads(line) for line in described.stdout.splitlines()]
    assert [row["partition"] for row in rows] == [0, 1, 2]
    assert "retention.ms=-1" in described.stderr
    assert rows[0]["configs"]["retention.ms"] == "-1"
    folder = f"topics/{UUID(bytes=base64.urlsafe_b64decode(rows[0]['topic_id'] + '=='))}"
    assert (
        f"topic id {rows[0]['topic_id']}; directory on a Duolog broker: {folder}"
        in described.stderr
    )
    assert Path(folder).name in folders
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
    assert "now starts at offset 2" in cut.stderr
    assert "OFFSET_OUT_OF_RANGE" in beyond.stderr
    assert neither.returncode == 2
    (row,) = json.loads(duolog("topics", "describe", "worn", "-o", "json").stdout)
    assert (row["log_start_offset"], row["high_watermark"]) == (2, 3)


def test_existing_topic_is_a_conflict_unless_allowed(duolog: Duolog) -> None:
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


def test_produced_records_are_consumed_with_key_headers_and_timestamp(duolog: Duolog) -> None:
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


def test_reading_stops_after_the_requested_number_of_records(duolog: Duolog) -> None:
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


def test_without_a_broker_the_error_explains_how_to_start_one(duolog: Duolog) -> None:
    done = duolog("topics", "list", servers="127.0.0.1:1")

    assert done.returncode == 5
    assert "Start one with `duolog broker --data DIR`" in done.stderr


def test_a_bad_line_is_named_and_the_lines_before_it_are_written(duolog: Duolog) -> None:
    duolog("topics", "create", "partly")

    done = duolog("produce", "partly", "-K", ":", stdin="a:1\nb:2\nno separator\n")

    assert done.returncode == 1
    assert "line 3 is not a record" in done.stderr
    assert [r.key for r in Client(duolog.bootstrap_servers).read("partly")] == [b"a", b"b"]


@pytest.mark.parametrize(
    "words",
    [
        ("topics", "list"),
        ("topics", "create", "t"),
        ("topics", "delete", "t", "--yes"),
        ("consume", "t", "--from-beginning"),
        ("consume", "t", "--group", "g"),
        ("produce", "t"),
    ],
    ids=" ".join,
)
def test_an_unreachable_broker_is_reported_within_two_seconds(
    duolog: Duolog, words: tuple[str, ...]
) -> None:
    began = time.monotonic()

    done = duolog(*words, stdin="1\n", servers="127.0.0.1:1")

    assert (done.returncode, done.stdout) == (5, "")
    assert "127.0.0.1:1: connection refused" in done.stderr
    # A client alone retries for 15 s. The time includes the start of Python on a machine that may
    # be busy.
    assert time.monotonic() - began < 14


@pytest.mark.parametrize("words", [("produce", "t"), ("consume", "t"), ("topics", "list")])
def test_a_property_that_the_client_does_not_know_is_wrong_usage(
    duolog: Duolog, words: tuple[str, ...]
) -> None:
    done = duolog(*words, "-X", "foo=bar", stdin="1\n")

    assert done.returncode == 2
    assert 'No such configuration property: "foo"' in done.stderr
    assert "Traceback" not in done.stderr


def test_json_lines_with_an_unknown_field_are_refused(duolog: Duolog) -> None:
    lines = '{"key": "a", "value": "1"}\n{"name": "bob"}\n{"key": "c", "value": "3"}\n'

    done = duolog("produce", "fields", "-i", "jsonl", stdin=lines)

    assert done.returncode == 1
    assert 'produced 1 record to topic "fields"' in done.stderr
    assert "line 2 is not a record; it and the following lines are not written" in done.stderr
    assert 'unknown field "name"' in done.stderr
    assert [r.key for r in Client(duolog.bootstrap_servers).read("fields")] == [b"a"]


def test_a_group_reads_to_the_end_and_resumes_there(duolog: Duolog) -> None:
    duolog("produce", "shared", stdin="1\n2\n3\n")
    read = ("consume", "shared", "-g", "readers", "--from-beginning", "-e", "-f", r"%v\n")

    first = duolog(*read, "-n", "1")
    second = duolog(*read)
    third = duolog(*read)

    assert (first.stdout, second.stdout, third.stdout) == ("1\n", "2\n3\n", "")
    assert (first.returncode, second.returncode, third.returncode) == (0, 0, 0)
    assert "resumes at its committed offsets" in second.stderr


def test_records_a_group_did_not_write_are_read_again(duolog: Duolog) -> None:
    duolog("produce", "torn", stdin="".join(f"{n} {'x' * 2000}\n" for n in range(500)))
    read = ("consume", "torn", "-g", "torn-readers", "--from-beginning")
    command = [sys.executable, "-m", "duolog", *read, "-f", r"%v\n"]

    with subprocess.Popen(
        [*command, "-b", duolog.bootstrap_servers], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 141
    rest = duolog(*read, "-e", "-f", r"%o\n").stdout.splitlines()

    # A pipe buffers 64 KB of 1 MB: the rest was fetched and never written.
    assert len(rest) > 300
    assert rest[-1] == "499"


@pytest.mark.parametrize("words", [(), ("-g", "waiting")], ids=["alone", "in a group"])
def test_a_reader_at_the_end_reports_that_it_waits(duolog: Duolog, words: tuple[str, ...]) -> None:
    duolog("topics", "create", "quiet", "--if-not-exists")
    command = [sys.executable, "-m", "duolog", "consume", "quiet", "-b", duolog.bootstrap_servers]

    with subprocess.Popen(
        [*command, *words, "-f", "%v"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        reported = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130

    assert 'reached the end of topic "quiet"; waiting for records' in reported


def test_the_last_records_are_read_by_a_negative_offset(duolog: Duolog) -> None:
    duolog("produce", "tail", stdin="1\n2\n3\n")

    done = duolog("consume", "tail", "--offset", "-2", "-e", "-f", r"%v\n")
    beyond = duolog("consume", "tail", "--offset", "9", "-e", "-f", r"%v\n")

    assert done.stdout == "2\n3\n"
    assert "offset 9 is out of range: partition 0 has 0 to 3" in beyond.stderr


@pytest.mark.parametrize("outcome", ["commit", "abort", "open"])
def test_transactions_do_not_affect_reading_to_the_end(duolog: Duolog, outcome: str) -> None:
    """A marker takes an offset but is not a record; open transactions block no reader."""
    topic = f"settled-by-{outcome}"
    duolog("topics", "create", topic)
    producer = Producer({"bootstrap.servers": duolog.bootstrap_servers, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, "1")
    producer.flush()
    if outcome == "commit":
        producer.commit_transaction()
    elif outcome == "abort":
        producer.abort_transaction()

    alone = duolog("consume", topic, "--from-beginning", "-e", "-f", r"%v\n")
    in_group = duolog("consume", topic, "-g", topic, "--from-beginning", "-e", "-f", r"%v\n")

    expected = (0, "1\n" if outcome == "commit" else "")
    assert (alone.returncode, alone.stdout) == expected
    assert (in_group.returncode, in_group.stdout) == expected


def test_without_a_confirmation_nothing_is_deleted(duolog: Duolog) -> None:
    duolog("topics", "create", "dear")

    nobody = duolog("topics", "delete", "dear")
    no = duolog("topics", "delete", "dear", stdin="n\n")

    assert (nobody.returncode, no.returncode) == (2, 1)
    assert "Add --yes" in nobody.stderr
    assert "dear" in duolog("topics", "list").stdout


def test_lost_connection_and_reconnect_are_reported(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        servers = broker.bootstrap_servers
        assert Duolog(servers)("produce", "lost", stdin="1\n").returncode == 0
        programs = [
            subprocess.Popen(
                [sys.executable, "-m", "duolog", *words, "-b", servers],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for words in (("produce", "lost"), ("consume", "lost", "-g", "g", "--from-beginning"))
        ]
        produce, consume = programs
        assert consume.stdout is not None
        assert [consume.stdout.readline().split("\t")[-1] for _ in range(2)] == ["VALUE\n", "1\n"]
        _write(produce, "2\n")
        assert consume.stdout.readline().endswith("2\n")
    reported = [_line_with(program, "lost the connection") for program in programs]
    with BrokerProcess(tmp_path, listen=servers):
        reported += [_line_with(program, "answers again") for program in programs]
        _write(produce, "3\n")
        line = consume.stdout.readline()
        for program in programs:
            program.send_signal(signal.SIGINT)
            program.communicate(timeout=30)

    assert all(reported)
    assert line.endswith("3\n")
    assert [program.returncode for program in programs] == [130, 130]


def _write(program: "subprocess.Popen[str]", text: str) -> None:
    assert program.stdin is not None
    program.stdin.write(text)
    program.stdin.flush()


def _line_with(program: "subprocess.Popen[str]", words: str) -> str:
    assert program.stderr is not None
    return next((line for line in program.stderr if words in line), "")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_reading_continues_until_a_signal(
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
        assert process.wait(60) == status


def test_closed_pipe_ends_the_command_quietly(duolog: Duolog) -> None:
    duolog("topics", "create", "pipe")
    duolog("produce", "pipe", stdin="".join(f"{n} {'x' * 200}\n" for n in range(5000)))
    command = [sys.executable, "-m", "duolog", "consume", "pipe", "--from-beginning", "-e"]
    command += ["-b", duolog.bootstrap_servers, "-f", r"%v\n"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""


def test_numeric_keys_use_the_format_of_kafkas_serializers(
    cluster: EmbeddedCluster, duolog: Duolog
) -> None:
    client = Client(cluster.bootstrap_servers)
    client.create_topic("numbered", partitions=1)

    for words in (("--key-type", "bigint"), ("-s", "key=q")):
        assert duolog("produce", "numbered", "-K", ":", *words, stdin="1001:a\n").returncode == 0
    wrong = duolog("produce", "numbered", "-K", ":", "--key-type", "bigint", stdin="7:a\nx:b\n")
    reading = ("consume", "numbered", "--from-beginning", "--until-end")
    plain = duolog(*reading, "-o", "jsonl")
    typed = duolog(*reading, "--key", "id BIGINT", "-o", "jsonl")
    shown = duolog(*reading, "-s", "key=q", "-f", "%k=%v ")
    copied = duolog(
        "produce", "numbered", "-i", "jsonl", "--key-type", "bigint", stdin=typed.stdout
    )

    assert wrong.returncode == 1
    assert "line 2 is not a record" in wrong.stderr
    assert 'key "x" is not BIGINT' in wrong.stderr
    assert "add --key 'id BIGINT'" in plain.stderr
    assert [json.loads(line)["key"] for line in typed.stdout.splitlines()] == [1001, 1001, 7]
    assert shown.stdout == "1001=a 1001=a 7=a "
    assert copied.returncode == 0
    keys = [record.key for record in client.read("numbered")]
    assert keys == [n.to_bytes(8, "big") for n in (1001, 1001, 7, 1001, 1001, 7)]


def test_csv_distinguishes_null_from_an_empty_value(duolog: Duolog) -> None:
    duolog("topics", "create", "gone", "-p", "1")
    duolog(
        "produce", "gone", "-i", "jsonl", stdin='{"key":"a","value":null}\n{"key":"","value":""}\n'
    )

    read = duolog("consume", "gone", "--from-beginning", "--until-end", "-o", "csv")

    assert [line.split(",", 5)[5] for line in read.stdout.splitlines()] == [
        "key,value",
        "a,",
        '"",""',
    ]


def test_lines_before_one_that_is_too_large_are_written(duolog: Duolog) -> None:
    duolog("topics", "create", "wide")

    done = duolog("produce", "wide", stdin=f"before\n{'x' * 2_000_000}\nbehind\n")
    written = duolog("consume", "wide", "--from-beginning", "-e", "-f", "%v\n").stdout

    assert done.returncode == 1
    assert 'produced 1 record to topic "wide"' in done.stderr
    assert "record 2 is too large; it and the following lines are not written" in done.stderr
    assert "2,000,000 bytes" in done.stderr
    assert written == "before\n"


@pytest.mark.parametrize("name", ["", "a b", "x" * 250])
def test_an_invalid_topic_name_is_reported_with_the_rule(duolog: Duolog, name: str) -> None:
    done = duolog("produce", name, stdin="1\n")

    assert done.returncode == 3
    assert "A topic name consists of at most 249 letters" in done.stderr
