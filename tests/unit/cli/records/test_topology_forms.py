"""`--like FILE`: the byte forms of a topic as a topology has them."""

import struct
from pathlib import Path

import pytest

from duolog.cli.commands.consume import RecordWriter
from duolog.cli.records.field_forms import PLAIN
from duolog.cli.records.field_text import as_json
from duolog.cli.records.text_record import TextRecord
from duolog.cli.records.topology_forms import forms_like
from duolog.core.errors import StatementError

PROGRAM = """
from duolog import Topology, col, session, tumbling

topology = Topology("shop")
orders = topology.stream("orders", key="id BIGINT", value="shop STRING, amount DOUBLE")
by_shop = orders.group_by("shop")
by_shop.windowed_by(tumbling("1 hour")).count("n").to("hourly")
by_shop.windowed_by(session("5 minutes")).count("n").to("sessions")
orders.group_by_key().count("n").to("counts", value_format="KAFKA")
orders.filter(col("amount") > 5).to("large")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "shop.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize(
    ("topic", "key", "shown"),
    [
        ("orders", struct.pack(">q", 7), 7),
        ("large", struct.pack(">q", 7), 7),
        ("hourly", b"SFO" + struct.pack(">q", 1000), ["SFO", 1000, 3_601_000]),
        ("sessions", b"SFO" + struct.pack(">qq", 2000, 1000), ["SFO", 1000, 2000]),
    ],
)
def test_keys_are_read_as_the_topology_reads_or_writes_them(
    program: Path, topic: str, key: bytes, shown: object
) -> None:
    forms = forms_like(program, topic)

    assert as_json(forms.key, key) == shown
    assert forms.value is PLAIN


def test_values_of_format_kafka_are_numbers_too(program: Path) -> None:
    forms = forms_like(program, "counts")

    assert as_json(forms.value, struct.pack(">q", 3)) == 3


def test_a_topic_of_another_topology_is_refused_with_those_of_this_one(program: Path) -> None:
    with pytest.raises(StatementError, match='neither reads nor writes topic "order"') as caught:
        forms_like(program, "order")

    assert "counts, hourly, large, orders, sessions" in caught.value.detail
    assert caught.value.hint == 'Did you mean "orders"?'


def test_a_key_in_another_form_is_reported_once(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    reported: list[str] = []
    writer = RecordWriter("jsonl", None, say=reported.append)

    for offset in (3, 4):
        writer.write(TextRecord(struct.pack(">q", 7), b"1", [], 0, "t", 0, offset))

    assert reported == [
        (
            "partition 0, offset 3: the key is not text but 8 bytes; "
            "if it is a BIGINT, add --key 'id BIGINT'"
        )
    ]
    assert len(capfdbinary.readouterr().out.splitlines()) == 2
