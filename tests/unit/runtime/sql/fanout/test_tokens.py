"""Continuation tokens."""

import base64
import json
import os
import subprocess
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.runtime.sql.fanout.errors import TokenRefused
from duolog.runtime.sql.fanout.positions import Place
from duolog.runtime.sql.fanout.tokens import Tokens

_TOKENS = Tokens("shop_", "aa11")
_offsets = st.dictionaries(st.integers(0, 500), st.integers(0, 2**63 - 1))


@given(offsets=_offsets, data=st.data())
def test_a_token_has_the_place(offsets: dict[int, int], data: st.DataObject) -> None:
    some = data.draw(st.sets(st.sampled_from(sorted(offsets)))) if offsets else set()
    place = Place(offsets, {at: data.draw(st.integers(1, 99)) for at in some})

    assert _TOKENS.place(_TOKENS.token(place)) == place


def test_a_token_without_a_place_starts_again() -> None:
    assert _TOKENS.place(_TOKENS.token(None)) is None


def test_a_token_is_one_word_that_needs_no_quotes_in_an_address() -> None:
    token = _TOKENS.token(Place({at: 10**12 + at for at in range(100)}))

    assert all(one.isalnum() or one in "-_" for one in token)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Tokens("office_", "aa11"), 'belongs to service "shop_", not to "office_"'),
        (Tokens("shop_", "bb22"), "belongs to another query"),
    ],
)
def test_a_token_of_another_service_or_query_is_refused(other: Tokens, said: str) -> None:
    with pytest.raises(TokenRefused, match=said):
        other.place(_TOKENS.token(Place({0: 1})))


@given(st.text(max_size=80))
def test_text_that_is_not_a_token_is_refused(text: str) -> None:
    with pytest.raises(TokenRefused, match="not a continuation token"):
        _TOKENS.place(text)


@given(data=st.data())
def test_a_token_with_a_changed_or_missing_character_is_refused(data: st.DataObject) -> None:
    token = _TOKENS.token(Place({0: 12, 1: 34}))
    at = data.draw(st.integers(0, len(token) - 2))
    other = data.draw(st.sampled_from("abcXYZ019-_").filter(lambda one: one != token[at]))

    for broken in (token[:at] + other + token[at + 1 :], token[:at] + token[at + 1 :]):
        with pytest.raises(TokenRefused):
            _TOKENS.place(broken)


@pytest.mark.parametrize(
    ("offsets", "rows"),
    [
        ('{"0": 1}', '{"7": 1}'),
        ('{"0": Infinity}', "{}"),
        ('{"0": NaN}', "{}"),
        ('{"0": -1}', "{}"),
        ('{"0": "x"}', "{}"),
        ('{"0": 1.5}', "{}"),
        ('{"0": true}', "{}"),
        ("[1]", "{}"),
    ],
)
def test_a_token_that_a_client_has_made_up_is_refused(offsets: str, rows: str) -> None:
    content = f'{{"v": 1, "s": "shop_", "q": "aa11", "o": {offsets}, "g": {rows}}}'.encode()
    made_up = base64.urlsafe_b64encode(content + zlib.crc32(content).to_bytes(4, "big")).decode()

    with pytest.raises(TokenRefused):
        _TOKENS.place(made_up)


def test_a_token_has_only_names_and_numbers() -> None:
    token = _TOKENS.token(Place({0: 12}, {0: 2}))

    data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))

    assert json.loads(data[:-4]) == {
        "v": 1,
        "s": "shop_",
        "q": "aa11",
        "o": {"0": 12},
        "g": {"0": 2},
    }


_FINGERPRINT = """
from sqlglot import exp
from duolog.ksql.session import SqlSession
from duolog.runtime.sql.fanout.evaluators import Shape
from duolog.runtime.sql.fanout.tokens import Tokens
session = SqlSession()
made = "CREATE TABLE s (id STRING PRIMARY KEY, v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);"
list(session.run(made))
((select, _),) = session.read("SELECT id, v FROM s WHERE v > 5 EMIT CHANGES;")
select.set("emit", None)
print(Tokens.of(Shape.of(select, session.catalog, session.catalog.sources["S"]), "a").fingerprint)
"""


def test_a_query_has_the_same_digest_in_every_process() -> None:
    """A token survives a restart, whatever the order of sets is in the next process."""
    found = {
        subprocess.run(
            [sys.executable, "-c", _FINGERPRINT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(found) == 1
    assert len(found.pop().strip()) == 32
