"""`duolog dlq replay --edit`: which letter is edited, and written."""

import click
import pytest

from duolog.cli.commands.dlq_replay import edited
from duolog.cli.dead_letters.correcting import Given
from duolog.cli.records.form_options import FormOptions
from duolog.runtime.dead_letters.letter import Record
from duolog.runtime.dead_letters.replay import LetterTopic, Replay
from duolog.runtime.dead_letters.replaying import Target, Written
from duolog.runtime.dead_letters.selection import Selection
from unit.runtime.dead_letters.making import Topic, headers

OPTIONS = FormOptions(None, None, (), None)
OPEN = Selection(replayed=False)
NOTHING = Given(*[None] * 9)


def test_a_letter_that_arrives_during_an_edit_is_not_overwritten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = Topic(monkeypatch, "orders")

    def edit(text: str, extension: str) -> str:
        del extension
        topic.letters.append(Record("wrong", 0, 1, 2_000, b"x", b"y", headers("orders", 0, 8)))
        return text.replace('"v"', '"new"')

    monkeypatch.setattr(click, "edit", edit)
    letters = LetterTopic(topic, "wrong")  # type: ignore[arg-type]

    correction, only = edited(letters, OPEN, OPTIONS, NOTHING)

    found: list[Written] = []
    Replay(topic, "wrong", only, Target(), correction).preview(found.append)  # type: ignore[arg-type]
    assert [(one.letter.record.offset, one.what.value) for one in found] == [(0, b"new")]


def test_the_letter_that_was_not_replayed_is_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic(monkeypatch, "orders", "orders")
    topic.marks = {0: frozenset({0})}
    monkeypatch.setattr(click, "edit", lambda text, extension: text)
    letters = LetterTopic(topic, "wrong")  # type: ignore[arg-type]

    _, only = edited(letters, OPEN, OPTIONS, NOTHING)

    assert (only.first, only.last) == (1, 1)
