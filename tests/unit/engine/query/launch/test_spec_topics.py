"""The topics of a spec."""

from duolog.engine.query.launch.spec_topics import (
    calls_python,
    global_topics,
    inputs,
    is_table,
    prints_records,
    written_topics,
)


def test_dead_letters_are_written_too_but_topics_that_records_choose_are_unknown() -> None:
    spec = {"sinks": [{"id": 0, "topic": "out"}, {"id": 1, "topic": "", "call": "chosen"}]}

    assert written_topics(spec, None) == ["out"]
    assert written_topics(spec, "dead") == ["out", "dead"]


def test_a_topic_is_global_if_its_records_go_to_every_task() -> None:
    spec = {
        "nodes": {"1": {"everywhere": True}, "2": {"everywhere": False}, "3": {}},
        "sources": [
            {"topic": "rates", "children": [1]},
            {"topic": "orders", "children": [2, 3]},
        ],
    }

    assert global_topics(spec) == {"rates"}


def test_topics_of_a_pattern_are_one_input_and_each_topic_is_read_once() -> None:
    spec = {
        "sources": [
            {"topic": "orders-eu", "input": "orders-.*"},
            {"topic": "users"},
            {"topic": "orders-us", "input": "orders-.*"},
            {"topic": "users"},
        ]
    }

    assert inputs(spec) == [["orders-eu", "orders-us"], ["users"]]


def test_a_topic_that_is_also_read_as_a_stream_is_no_table() -> None:
    spec = {
        "sources": [
            {"topic": "users", "table": True},
            {"topic": "users", "table": False},
            {"topic": "rates", "table": True},
        ]
    }

    assert (is_table(spec, "users"), is_table(spec, "rates")) == (False, True)


def test_only_specs_with_prints_or_functions_have_something_to_print() -> None:
    prints = {"nodes": {"1": {"kind": "print"}}, "functions": []}
    calls = {"nodes": {"1": {"kind": "filter"}}, "functions": [{"name": "f"}]}

    assert [prints_records(spec) for spec in (prints, calls)] == [True, False]
    assert [calls_python(spec) for spec in (prints, calls)] == [False, True]
