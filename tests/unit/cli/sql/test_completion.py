import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from duolog.cli.sql.completion import SqlCompleter
from duolog.ksql.editor.vocabulary import NamedColumn, NamedFunction, NamedSource, Vocabulary

KNOWN = Vocabulary(
    {
        name: NamedSource(name, columns=tuple(map(NamedColumn, columns)))
        for name, columns in {
            "FLIGHTS": ["CARRIER", "DELAY"],
            "AIRLINES": ["NAME"],
            "odd": ["a b"],
        }.items()
    },
    (NamedFunction("COUNT"), NamedFunction("INSTR")),
    ("CTAS_X_1",),
)


def completed(text: str, behind: str = "") -> list[str]:
    document = Document(text + behind, len(text))
    completer = SqlCompleter(lambda: KNOWN)
    return [found.text for found in completer.get_completions(document, CompleteEvent())]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SHO", ["SHOW"]),
        ("sho", ["show"]),
        ("SHOW STREAMS; DESC", ["DESCRIBE", "DESCRIBE FUNCTION"]),
        ("CREATE OR", ["OR REPLACE STREAM", "OR REPLACE TABLE"]),
        ("SHOW STR", ["STREAMS"]),
        ("SELECT * FROM fl", ["flights"]),
        ("DESCRIBE FLI", ["FLIGHTS"]),
        ("DESCRIBE FUNCTION IN", ["INSTR"]),
        ("TERMINATE C", ["CTAS_X_1"]),
        ("SELECT INS", ["INSTR"]),
        ("SELECT * FROM flights WHERE dela", ["delay"]),
        ("SELECT * FROM flights f WHERE f.", ["CARRIER", "DELAY"]),
        ("SELECT odd.", ["`a b`"]),
        ("CREATE STREAM a (b INT) WITH (KAF", ["KAFKA_TOPIC"]),
        ("\\ti", ["\\timing"]),
        ("\\output v", ["vertical"]),
        ("SHOW STREAMS", []),
    ],
)
def test_tab_offers_what_may_come_next(text: str, found: list[str]) -> None:
    assert completed(text) == found


def test_columns_are_those_of_what_the_statement_reads_further_on() -> None:
    assert completed("SELECT NA", " FROM airlines;") == ["NAME"]
    assert completed("SELECT NA", " FROM flights;") == []
