"""The console quotes the words that the parser reserves."""

import re
from pathlib import Path

from duolog.ksql.syntax.reserved import RESERVED

DECLARE = Path(__file__).parents[4] / "console/src/screens/topic/declare.ts"


def test_the_console_has_the_reserved_words_of_the_parser() -> None:
    text = DECLARE.read_text(encoding="utf-8")
    listed = text.partition("export const RESERVED =")[2].partition(";")[0]

    assert " ".join(re.findall(r'"([^"]*)"', listed)).split() == sorted(RESERVED)
