"""`duolog dlq` on Apache Kafka, and letters of 10 MB on both brokers."""

import json
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.command import Duolog
from conformance.dead_letters import letters
from duolog.testing import EmbeddedCluster
from waiting import wait_for_equal, wait_until

KEPT = {"retention.ms": "-1"}
"""The letters are from 2023: Apache Kafka deletes old records 30 s after its start."""
LARGE = {**KEPT, "max.message.bytes": "20000000"}


@pytest.fixture(params=["duolog", "kafka"])
def duolog(request: pytest.FixtureRequest) -> Iterator[Duolog]:
    if request.param == "kafka":
        yield Duolog(request.getfixturevalue("kafka_peer").bootstrap_servers)
        return
    with EmbeddedCluster() as cluster:
        yield Duolog(cluster.bootstrap_servers)


@pytest.fixture
def names(duolog: Duolog) -> tuple[str, str]:
    """Return a dead-letter topic for large records, and a source topic for small ones."""
    word = f"letters-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": duolog.bootstrap_servers})
    made = [NewTopic(f"{word}-wrong", 1, 1, config=LARGE), NewTopic(word, 1, 1, config=KEPT)]
    for future in admin.create_topics(made).values():
        future.result(60)
    wait_until(
        lambda: {f"{word}-wrong", word} <= admin.list_topics(timeout=60).topics.keys(),
        "the topics are known",
    )
    return f"{word}-wrong", word


def values(duolog: Duolog, topic: str) -> list[bytes | None]:
    return [one[2] for one in letters.read(duolog.bootstrap_servers, topic)]


def counts(duolog: Duolog, *topics: str) -> dict[str, tuple[int, int]]:
    """Return the numbers of letters and of replayed ones of those topics that are listed.

    A topic that cannot be read in time is left out, with a note: it is listed again then.
    """

    def listed() -> str:
        done = duolog("dlq", "list", "-o", "json")
        assert done.returncode == 0, done.stderr
        return "" if any(topic in done.stderr for topic in topics) else done.stdout

    rows = json.loads(wait_until(listed, "the topics can be read"))
    return {
        row["topic"]: (row["letters"], row["replayed"]) for row in rows if row["topic"] in topics
    }


def test_letters_are_found_and_replayed_once(duolog: Duolog, names: tuple[str, str]) -> None:
    dlq, source = names
    written = [(b"k", str(n).encode(), letters.streams(source, 0, n)) for n in range(2_000)]
    letters.write(duolog.bootstrap_servers, dlq, written)
    command = [
        *(sys.executable, "-m", "duolog", "dlq", "replay", dlq, "--yes"),
        *("--rate", "400", "-b", duolog.bootstrap_servers),
    ]

    with subprocess.Popen(command) as process:
        try:
            wait_until(lambda: values(duolog, source), "the first records are committed")
            process.send_signal(signal.SIGKILL)
        finally:
            process.kill()
    rest = duolog("dlq", "replay", dlq, "--yes", timeout_s=120)

    assert rest.returncode == 0, rest.stderr
    # Apache Kafka commits the records of a transaction after its answer.
    expected: list[bytes | None] = [str(n).encode() for n in range(2_000)]
    wait_for_equal(lambda: values(duolog, source), expected)
    wait_for_equal(lambda: counts(duolog, dlq, source), {dlq: (2_000, 2_000)})


def test_a_letter_that_its_target_rejects_writes_nothing(
    duolog: Duolog, names: tuple[str, str]
) -> None:
    dlq, source = names
    large = bytes(range(256)) * 40_000
    letters.write(
        duolog.bootstrap_servers,
        dlq,
        [(b"a", b"small", letters.streams(source)), (b"b", large, letters.streams(source))],
    )

    # Longer than the client tries to send a record.
    refused = duolog("dlq", "replay", dlq, "--yes", timeout_s=180)
    nothing = values(duolog, source)
    changed = duolog("topics", "alter", source, "--config", "max.message.bytes=20000000")
    # Apache Kafka applies the change some time after its answer; what is refused writes nothing.
    done = wait_until(
        lambda: (
            (found := duolog("dlq", "replay", dlq, "--yes", timeout_s=180)).returncode == 0
            and found
        ),
        "the letters are replayed",
    )

    assert refused.returncode == 1, refused.stderr
    assert "larger" in refused.stderr or "too large" in refused.stderr
    assert nothing == []
    assert changed.returncode == 0, changed.stderr
    assert done
    expected: list[bytes | None] = [b"small", large]
    wait_for_equal(lambda: values(duolog, source), expected)
