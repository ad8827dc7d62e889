"""`duolog dlq` against Duolog's broker, as a user calls it."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.command import Duolog
from conformance.dead_letters import letters
from duolog.testing import Client, EmbeddedCluster
from waiting import wait_until

OVERFLOW = "java.lang.ArithmeticException"


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture
def duolog(cluster: EmbeddedCluster) -> Duolog:
    return Duolog(cluster.bootstrap_servers)


@pytest.fixture
def names(duolog: Duolog, request: pytest.FixtureRequest) -> tuple[str, str]:
    """Return a dead-letter topic with three letters and their source topic, of two partitions."""
    word = f"t{abs(hash(request.node.name))}"
    dlq, source = f"{word}-wrong", f"{word}-orders"
    client = Client(duolog.bootstrap_servers)
    client.create_topic(source, partitions=2)
    client.create_topic(dlq)
    letters.write(
        duolog.bootstrap_servers,
        dlq,
        [
            (b"a", b"EUR 1", [("trace", b"x"), *letters.streams(source, 0, 5)]),
            (b"b", b"EUR 2", letters.streams(source, 1, 6, "too large", OVERFLOW)),
            (b"c", b"EUR 3", letters.connect(source, 1, 7)),
        ],
    )
    return dlq, source


def rows(duolog: Duolog, *words: str) -> list[dict[str, Any]]:
    """Return the output of a command as rows."""
    done = duolog("dlq", *words, "-o", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def values(duolog: Duolog, topic: str) -> list[tuple[int, bytes | None]]:
    return [(one[0], one[2]) for one in letters.read(duolog.bootstrap_servers, topic, (0, 1))]


def test_topics_with_letters_are_found_by_their_headers(
    duolog: Duolog, names: tuple[str, str]
) -> None:
    found = {row["topic"]: row for row in rows(duolog, "list")}

    assert names[1] not in found
    row = found[names[0]]
    assert (row["letters"], row["replayed"], row["open"]) == (3, 0, 3)
    assert row["known_by"] == ["headers"]
    assert row["queries"] == ["to-warehouse"]
    assert row["reasons"] == {
        "SerializationException": 1,
        "ArithmeticException": 1,
        "DataException": 1,
    }
    assert row["oldest"] == 1_700_000_000_000


def test_letters_are_counted_by_reason_query_and_source(
    duolog: Duolog, names: tuple[str, str]
) -> None:
    found = rows(duolog, "list", names[0], "--by-group")

    assert {(row["writer"], row["reason"], row["query"], row["source"]) for row in found} == {
        ("streams", "SerializationException", "", names[1]),
        ("streams", "ArithmeticException", "", names[1]),
        ("connect", "DataException", "to-warehouse", names[1]),
    }


def test_letters_are_selected(duolog: Duolog, names: tuple[str, str]) -> None:
    def offsets(*words: str) -> list[int]:
        return [row["offset"] for row in rows(duolog, "show", names[0], *words)]

    assert offsets() == [0, 1, 2]
    assert offsets("--reason", "arith") == [1]
    assert offsets("--reason", "TOO LARGE") == [1]
    assert offsets("--query", "to-warehouse") == [2]
    assert offsets("--source", "another") == []
    assert offsets("--offset", "1..") == [1, 2]
    assert offsets("--offset", "1") == [1]
    assert offsets("--since", "1700000000001") == []
    assert offsets("--until", "1700000000000") == []
    assert offsets("--until", "1700000000001", "-n", "2") == [0, 1]


def test_one_letter_is_shown_as_a_page_with_its_own_headers(
    duolog: Duolog, names: tuple[str, str]
) -> None:
    shown = duolog("dlq", "show", names[0], "-p", "0", "--offset", "0").stdout

    assert f"source:   {names[1]}, partition 0, offset 5" in shown
    assert "message:  cannot read it" in shown
    assert "header trace: x" in shown
    assert "at org.example.Reader.read" in shown
    assert "header __streams" not in shown


def test_raw_bytes_are_written_unchanged(duolog: Duolog) -> None:
    admin = AdminClient({"bootstrap.servers": duolog.bootstrap_servers})
    large = NewTopic("binary-wrong", 1, config={"max.message.bytes": "20000000"})
    admin.create_topics([large])["binary-wrong"].result(60)
    data = bytes(range(256)) * 40_000
    letters.write(
        duolog.bootstrap_servers, "binary-wrong", [(b"\xff", data, letters.streams("orders"))]
    )

    raw = subprocess.run(
        [
            *(sys.executable, "-m", "duolog", "dlq", "show", "binary-wrong"),
            *("--raw", "value", "-b", duolog.bootstrap_servers),
        ],
        capture_output=True,
        check=True,
        timeout=60,
    ).stdout
    (row,) = rows(duolog, "show", "binary-wrong")
    page = duolog("dlq", "show", "binary-wrong").stdout

    assert raw == data
    assert row["key"] == {"base64": "/w=="}
    assert len(page) < 10_000


def test_hostile_texts_do_not_reach_a_terminal(duolog: Duolog) -> None:
    Client(duolog.bootstrap_servers).create_topic("hostile-wrong")
    nasty = "a\x1b]0;owned\x07\x1b[2J\u202ecod.exe\u2066\x9b1m".encode()
    letters.write(
        duolog.bootstrap_servers,
        "hostile-wrong",
        [
            (nasty, nasty, [("h", nasty), *letters.streams("orders", 0, number, nasty.decode())])
            for number in range(3)
        ],
    )

    for words in ((), ("--offset", "1"), ("--raw", "value", "--offset", "1")):
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "duolog", "dlq", "show", "hostile-wrong", *words),
                *("-b", duolog.bootstrap_servers),
            ],
            stdout=follower,
            stderr=follower,
        )
        os.close(follower)
        shown = b""
        while True:
            try:
                piece = os.read(leader, 65_536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        os.close(leader)
        assert process.wait(60) == 0
        text = shown.decode()
        assert "owned" in text or "cod.exe" in text
        assert not set(text) & set("\x1b\x07\u202e\u2066\x9b"), text


def test_letters_are_replayed_once_to_their_partitions(
    duolog: Duolog, names: tuple[str, str]
) -> None:
    dlq, source = names

    first = rows(duolog, "replay", dlq, "--yes")
    second = rows(duolog, "replay", dlq, "--yes")

    assert [(row["partition"], row["letters"]) for row in first] == [(0, 1), (1, 2)]
    assert second == []
    assert values(duolog, source) == [(0, b"EUR 1"), (1, b"EUR 2"), (1, b"EUR 3")]
    (row,) = rows(duolog, "list", dlq)
    assert (row["letters"], row["replayed"], row["open"]) == (3, 3, 0)
    assert rows(duolog, "show", dlq, "--open") == []
    assert len(rows(duolog, "show", dlq, "--replayed")) == 3


def test_a_replayed_record_names_its_letter_and_keeps_its_own_headers(
    duolog: Duolog, names: tuple[str, str]
) -> None:
    dlq, source = names

    done = duolog("dlq", "replay", dlq, "--offset", "0", "--yes")

    assert "replayed 1 letter (replay " in done.stderr
    ((_, key, value, headers),) = letters.read(duolog.bootstrap_servers, source)
    assert (key, value) == (b"a", b"EUR 1")
    replay_id = dict(headers)["__duolog.replay.id"]
    assert replay_id is not None
    assert replay_id.decode() in done.stderr
    assert [pair for pair in headers if pair[0] != "__duolog.replay.id"] == [
        ("trace", b"x"),
        ("__duolog.replay.topic", dlq.encode()),
        ("__duolog.replay.partition", b"0"),
        ("__duolog.replay.offset", b"0"),
        ("__duolog.replay.count", b"1"),
    ]


def test_again_includes_replayed_letters(duolog: Duolog, names: tuple[str, str]) -> None:
    dlq, source = names
    duolog("dlq", "replay", dlq, "--yes")

    again = rows(duolog, "replay", dlq, "--again", "--offset", "1", "--yes")

    assert [row["letters"] for row in again] == [1]
    assert values(duolog, source).count((1, b"EUR 2")) == 2


def test_a_dry_run_writes_nothing(duolog: Duolog, names: tuple[str, str]) -> None:
    dlq, source = names

    done = duolog(
        "dlq", "replay", dlq, "--dry-run", "--set-value-sql", "REPLACE(VALUE, 'EUR ', '')"
    )

    assert "would replay 3 letters, 3 corrected" in done.stderr
    assert f"0:1 to {source}:1: EUR 2 -> 2" in done.stderr
    assert values(duolog, source) == []
    assert len(rows(duolog, "replay", dlq, "--yes")) == 2


def test_a_sql_expression_corrects_values(duolog: Duolog, names: tuple[str, str]) -> None:
    dlq, source = names
    expression = (
        "CASE WHEN ERROR_CLASS LIKE '%Arithmetic%' THEN CAST(NULL AS STRING) "
        "ELSE SUBSTRING(VALUE, 5) END"
    )

    found = rows(duolog, "replay", dlq, "--yes", "--set-value-sql", expression)

    assert values(duolog, source) == [(0, b"1"), (1, b"3")]
    assert found[-1] == {
        "topic": None,
        "partition": None,
        "letters": 1,
        "kept": "the expression for the value is null",
    }
    # The letter without a value is still open.
    assert [row["offset"] for row in rows(duolog, "show", dlq, "--open")] == [1]


def test_a_function_corrects_letters(
    duolog: Duolog, names: tuple[str, str], tmp_path: Path
) -> None:
    dlq, source = names
    (tmp_path / "repair.py").write_text(
        "def correct(letter):\n"
        "    if letter.source.offset == 5:\n"
        "        raise ValueError('unlucky')\n"
        "    if letter.source.offset == 6:\n"
        "        return False\n"
        "    return b'k', letter.record.value[4:]\n"
    )

    done = duolog("dlq", "replay", dlq, "--yes", "--function", str(tmp_path / "repair.py"))

    assert done.returncode == 1
    assert "the correction of 1 letter failed" in done.stderr
    assert "ValueError: unlucky" in done.stdout
    assert [one[1:3] for one in letters.read(duolog.bootstrap_servers, source, (0, 1))] == [
        (b"k", b"3")
    ]


def test_a_letter_is_edited(
    duolog: Duolog, names: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dlq, source = names
    monkeypatch.setenv("VISUAL", "sed -i 's/EUR 1/1.10/'")

    done = duolog("dlq", "replay", dlq, "--offset", "0", "--edit", "--yes")

    assert done.returncode == 0, done.stderr
    ((_, _, value, headers),) = letters.read(duolog.bootstrap_servers, source)
    assert value == b"1.10"
    assert headers[0] == ("trace", b"x")


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (("--set-value", "1"), (b"a", b"1")),
        (("--set-value-json", '{"n": 1.10}'), (b"a", b'{"n":1.10}')),
        (("--set-value-json", "null"), (b"a", None)),
        (("--set-key-json", "7", "--key-type", "bigint"), (bytes(7) + b"\7", b"EUR 1")),
        (("--set-value-file", "value.bin", "--set-key", "x"), (b"x", b"\xff\x00")),
    ],
)
def test_keys_and_values_are_given(
    duolog: Duolog,
    words: tuple[str, ...],
    written: tuple[bytes, bytes | None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    word = f"given{abs(hash(words))}"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "value.bin").write_bytes(b"\xff\x00")
    client = Client(duolog.bootstrap_servers)
    client.create_topic(f"{word}-wrong")
    client.create_topic(word)
    letters.write(
        duolog.bootstrap_servers, f"{word}-wrong", [(b"a", b"EUR 1", letters.streams(word))]
    )

    done = duolog("dlq", "replay", f"{word}-wrong", "--yes", *words)

    assert done.returncode == 0, done.stderr
    assert [one[1:3] for one in letters.read(duolog.bootstrap_servers, word)] == [written]


def test_nothing_is_written_if_a_target_does_not_exist(duolog: Duolog) -> None:
    client = Client(duolog.bootstrap_servers)
    client.create_topic("half-wrong")
    client.create_topic("half")
    letters.write(
        duolog.bootstrap_servers,
        "half-wrong",
        # More than one transaction has before the letter that cannot be written.
        [(b"a", b"1", letters.streams("half"))] * 600 + [(b"b", b"2", letters.streams("half", 3))],
    )

    refused = duolog("dlq", "replay", "half-wrong", "--yes")
    nothing = letters.read(duolog.bootstrap_servers, "half")
    itself = duolog("dlq", "replay", "half-wrong", "--yes", "--to", "half-wrong")
    by_key = duolog("dlq", "replay", "half-wrong", "--yes", "--to-partition", "key")

    assert refused.returncode == 3
    assert 'partition 3 of topic "half" does not exist' in refused.stderr
    assert nothing == []
    assert "Traceback" not in refused.stderr
    assert "is the dead-letter topic itself" in itself.stderr
    assert by_key.returncode == 0, by_key.stderr
    assert len(letters.read(duolog.bootstrap_servers, "half")) == 601


def test_a_topic_or_file_that_does_not_exist_is_an_error(
    duolog: Duolog, names: tuple[str, str]
) -> None:
    listed = duolog("dlq", "list", names[0], "no-such-topic")
    repaired = duolog("dlq", "replay", names[0], "--function", "no-such-file.py:repair")

    assert (listed.returncode, listed.stdout) == (3, "")
    assert 'topic "no-such-topic" does not exist' in listed.stderr
    assert repaired.returncode == 2
    assert 'file "no-such-file.py" does not exist' in repaired.stderr


def test_an_empty_table_of_letters_is_explained(duolog: Duolog, names: tuple[str, str]) -> None:
    shown = duolog("dlq", "show", names[0], "--reason", "nothing")

    assert (shown.returncode, shown.stderr) == (0, "no dead letters found\n")


def test_a_letter_that_is_not_whole_needs_a_value(duolog: Duolog) -> None:
    client = Client(duolog.bootstrap_servers)
    client.create_topic("part-wrong")
    client.create_topic("part")
    left_out = [*letters.streams("part"), ("__duolog.errors.left.out", b"value")]
    letters.write(duolog.bootstrap_servers, "part-wrong", [(b"a", None, left_out)])

    kept = rows(duolog, "replay", "part-wrong", "--yes")
    given = rows(duolog, "replay", "part-wrong", "--yes", "--set-value", "1")

    assert [row["kept"] for row in kept] == ["too large for its topic, without value"]
    assert [row["letters"] for row in given] == [1]
    assert letters.read(duolog.bootstrap_servers, "part")[0][2] == b"1"


def test_a_recreated_topic_has_no_replayed_letters(duolog: Duolog, names: tuple[str, str]) -> None:
    dlq, source = names
    duolog("dlq", "replay", dlq, "--yes")
    admin = AdminClient({"bootstrap.servers": duolog.bootstrap_servers})
    admin.delete_topics([dlq])[dlq].result(60)
    wait_until(lambda: dlq not in admin.list_topics(timeout=60).topics, "the topic is gone")
    admin.create_topics([NewTopic(dlq, 1)])[dlq].result(60)
    letters.write(duolog.bootstrap_servers, dlq, [(b"n", b"new", letters.streams(source))])

    (row,) = rows(duolog, "replay", dlq, "--yes")

    assert row["letters"] == 1
