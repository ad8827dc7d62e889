"""Candidates at a place in a text; the mark | is the cursor."""

import time

import pytest

from duolog.ksql.editor.catalog_vocabulary import vocabulary_of
from duolog.ksql.editor.completion import Candidate, Completion, completion
from duolog.ksql.editor.vocabulary import Vocabulary
from duolog.ksql.session import SqlSession

TEXT = """
CREATE STREAM flights (carrier STRING KEY, delay INT, `two words` STRING,
    leg STRUCT<origin STRING, place STRUCT<lat DOUBLE, lon DOUBLE>>,
    legs ARRAY<STRUCT<miles INT>>)
  WITH (KAFKA_TOPIC='flights', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE airlines (carrier STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC='airlines', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TYPE seat AS STRUCT<row INT, side STRING>;
DEFINE limit_of_delay = '30';
"""


@pytest.fixture(scope="module")
def known() -> Vocabulary:
    session = SqlSession()
    for _ in session.run(TEXT):
        pass
    session.state.catalog.partitions.update({"flights": 1, "other-topic": 2, "__internal": 1})
    return vocabulary_of(session.state)


def at(text: str, known: Vocabulary, most: int = 300) -> Completion:
    return completion(text.replace("|", ""), text.index("|"), known, most)


def texts(text: str, known: Vocabulary) -> list[str]:
    return [one.text for one in at(text, known).candidates]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SHO|", ["SHOW"]),
        ("SHOW STR|", ["STREAMS"]),
        ("SELECT * FROM f| EMIT CHANGES;", ["flights"]),
        ("SELECT * FROM F| EMIT CHANGES;", ["FLIGHTS"]),
        ("DROP TABLE |", ["AIRLINES"]),
        ("DROP STREAM IF EXISTS |", ["FLIGHTS"]),
        ("ALTER STREAM |", ["FLIGHTS"]),
        ("INSERT INTO fl|", ["flights"]),
        ("INSERT INTO flights (de|", ["delay"]),
        ("INSERT INTO flights (delay, |", ["CARRIER", "DELAY", "`two words`", "LEG", "LEGS"]),
        ("SELECT f.de| FROM flights f;", ["delay"]),
        ("SELECT f.| FROM airlines f;", ["CARRIER", "NAME"]),
        ("SELECT leg->| FROM flights;", ["ORIGIN", "PLACE"]),
        ("SELECT f.leg->place->l| FROM flights f;", ["lat", "lon"]),
        ("SELECT legs[1]->| FROM flights;", ["MILES"]),
        ("SELECT carrier->| FROM flights;", []),
        ("SELECT nope->| FROM flights;", []),
        ("SELECT x.| FROM flights;", []),
        ("SELECT `two| FROM flights;", ["`two words`"]),
        ("CREATE STREAM a (b INT) WITH (KAFKA_TOPIC='|", ["airlines", "flights", "other-topic"]),
        ("CREATE STREAM a (b INT) WITH (KAFKA_TOPIC='oth|", ["other-topic"]),
        ("CREATE STREAM a (b INT) WITH (KAFKA_T|", ["KAFKA_TOPIC"]),
        ("CREATE STREAM a (b INT) WITH (FORMAT='JS|", ["JSON", "JSON_SR"]),
        ("CREATE STREAM a (b BIG|", ["BIGINT"]),
        ("CREATE STREAM a (b INT, c ARRAY<STR|", ["STRING", "STRUCT"]),
        ("CREATE STREAM a (b INT K|", ["KEY"]),
        ("CREATE STREAM a (|", []),
        ("SELECT CAST(delay AS BI| FROM flights;", ["BIGINT"]),
        ("PRINT 'fl|", ["flights"]),
        ("PRINT oth|", ["'other-topic'"]),
        ("SET 'auto.o|", ["auto.offset.reset"]),
        ("SET 'auto.offset.reset' = '|", ["earliest", "latest"]),
        ("SELECT ${lim|", ["LIMIT_OF_DELAY}"]),
        ("SELECT '${|", ["LIMIT_OF_DELAY}"]),
        ("SELECT * FROM flights EMIT |", ["CHANGES", "FINAL"]),
        ("SELECT * FROM flights GROUP |", ["BY"]),
        ("SELECT 1 -- FROM |", []),
        ("SELECT 'a; FROM |", []),
        ("DESCRIBE FUNCTION UCA|", ["UCASE"]),
    ],
)
def test_candidates_at_the_cursor(text: str, found: list[str], known: Vocabulary) -> None:
    assert texts(text, known) == found


def test_columns_come_before_functions_and_keywords(known: Vocabulary) -> None:
    found = at("SELECT de| FROM flights;", known).candidates

    assert found[0] == Candidate("delay", "column", "INTEGER · FLIGHTS")
    assert {one.kind for one in found[1:]} <= {"function", "keyword", "column"}


def test_a_column_that_two_sources_have_is_offered_with_each_source(known: Vocabulary) -> None:
    found = texts("SELECT carr| FROM flights f JOIN airlines a ON f.carrier = a.carrier;", known)

    assert found[:2] == ["f.carrier", "a.carrier"]


def test_a_column_of_another_statement_is_not_offered(known: Vocabulary) -> None:
    assert "name" not in texts("SELECT * FROM airlines; SELECT na| FROM flights;", known)


def test_the_statement_around_the_cursor_counts_and_not_the_next(known: Vocabulary) -> None:
    assert texts("SELECT nam| FROM airlines; SHOW STREAMS;", known)[0] == "name"


def test_names_match_within_but_keywords_only_at_their_start(known: Vocabulary) -> None:
    assert "flights" in texts("SELECT * FROM ights|", known)
    assert "SHOW" not in texts("HOW|", known)


def test_a_function_has_its_signatures_and_a_description(known: Vocabulary) -> None:
    (found,) = (
        one
        for one in at("SELECT SUBSTRIN| FROM flights;", known).candidates
        if one.text == "SUBSTRING"
    )

    assert found.detail.startswith("(")
    assert "→" in found.detail
    assert found.help.count("SUBSTRING(") > 1


def test_custom_types_are_types(known: Vocabulary) -> None:
    assert texts("CREATE STREAM a (b se|", known) == ["seat"]


def test_more_candidates_than_the_limit_are_cut(known: Vocabulary) -> None:
    found = at("SELECT | FROM flights;", known, most=5)

    assert (len(found.candidates), found.is_cut) == (5, True)
    assert not at("SHO|", known).is_cut


def test_the_place_of_the_replaced_word(known: Vocabulary) -> None:
    assert at("SELECT del| FROM flights;", known).start == len("SELECT ")
    assert at("PRINT 'fl|", known).start == len("PRINT '")
    assert at("SELECT `two| FROM flights;", known).start == len("SELECT ")


@pytest.mark.parametrize(
    "text",
    ["a.", "a->", "'", "''", "(", "((a,", "`", "/*", "--\n", "FROM a ", "WITH (", "${", "\x00"],
)
def test_hostile_texts_take_time_linear_in_their_length(text: str, known: Vocabulary) -> None:
    def seconds(size: int) -> float:
        long = (text * size)[:size]
        started = time.process_time()
        completion(long, len(long), known)
        return time.process_time() - started

    seconds(1000)
    # A quadratic algorithm would need minutes.
    assert seconds(250_000) < 20
