"""Files of exports: what a spreadsheet would run as a formula is a text in them."""

import csv
import io

import pytest

from duolog.runtime.browsing.decoding import Decoder
from duolog.runtime.browsing.record import BrowsedRecord, Part
from duolog.server.topics.exports import _Csv, inert


def record(key: bytes, value: bytes) -> BrowsedRecord:
    parts = (Part(key, len(key)), Part(value, len(value)))
    return BrowsedRecord(0, 7, 1_700_000_000_000, "create", *parts, (), len(key) + len(value))


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "-", "+"],
)
def test_a_key_or_value_that_is_a_formula_has_an_apostrophe_before_it(text: str) -> None:
    file = _Csv("orders", Decoder())

    written = file.rows([record(text.encode(), text.encode())]) + file.end()

    (row,) = csv.DictReader(io.StringIO(written.decode(), newline=""))
    assert (row["key"], row["value"]) == (f"'{text}", f"'{text}")


@pytest.mark.parametrize("text", ["-5", "+5.25", "-1e-3", "a=b", '{"a":"=1"}', "", " =1", "1-2"])
def test_other_keys_and_values_stay_as_they_are(text: str) -> None:
    file = _Csv("orders", Decoder())

    written = file.rows([record(text.encode(), text.encode())]) + file.end()

    (row,) = csv.DictReader(io.StringIO(written.decode(), newline=""))
    assert (row["key"], row["value"], row["offset"]) == (text, text, "7")


def test_numbers_and_nothing_are_no_formulas() -> None:
    assert [inert(-7), inert(None)] == [-7, None]
