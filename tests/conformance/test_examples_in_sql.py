"""SQL examples pass as tests and write the same records as their Python versions."""

import runpy
from typing import Any, Final

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from conformance.test_examples import EXAMPLES
from duolog.cli.main import cli
from duolog.cli.sql.layout import formatted
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.catalog.formats import plan_format
from duolog.ksql.planning.sources import source_schema
from duolog.ksql.session import SqlSession, parse
from duolog.ksql.syntax import nodes
from duolog.plan.nodes import StreamSource
from duolog.runtime.topic_values import TopicValues
from duolog.testing import TopologyDriver
from duolog.testing.reference import SourceRecord
from duolog.testing.sql import read_tests, run_test

FILES: Final = sorted(path.name for path in EXAMPLES.glob("[0-9]*.sql"))

DecodedRecord = tuple[Any, dict[str, Any] | None, int]
"""Key, value by names in small letters, time."""

TIMES_DIFFER: Final = ("last-seen",)
"""An aggregate's row has the latest time of its records, in a table of the topic it has that of its own."""


class Reader:
    """Reads the records of a SQL stream or table."""

    def __init__(self, source: SourceInfo) -> None:
        formats = plan_format(source.key_format), plan_format(source.value_format)
        self._values = TopicValues(
            [StreamSource("s", source.topic, source_schema(source), *formats)]
        )

    def decode(self, record: SourceRecord) -> DecodedRecord:
        values = self._values
        row = values.value_row(record.value)
        names = [column.name.lower() for column in values.value_columns]
        value = None if row is None else dict(zip(names, row, strict=True))
        return values.key(values.key_row(record.key)), value, record.timestamp_ms


def sources_of(text: str) -> dict[str, SourceInfo]:
    """Return the streams and tables of a file, by their topics."""
    session = SqlSession()
    for node in parse(text):
        if isinstance(node, nodes.CreateSource):
            session.execute(node)
    return {source.topic: source for source in session.catalog.sources.values()}


@pytest.mark.spark
@pytest.mark.parametrize("name", FILES)
def test_sql_example_passes_and_writes_the_same_as_the_python_example(
    spark: SparkSession, name: str
) -> None:
    path = EXAMPLES / name
    text = path.read_text()
    (test,) = read_tests(text, name)

    outcome = run_test(test)

    assert outcome.passed, outcome.render()
    readers = {topic: Reader(source) for topic, source in sources_of(text).items()}
    in_python = runpy.run_path(str(path.with_suffix(".py")), run_name="example")
    topology = in_python["topology"]()
    with TopologyDriver(topology) as driver:
        read = {source.topic for source in topology.build().sources}
        for record in outcome.records:
            if record.topic in read:
                key, value, timestamp_ms = readers[record.topic].decode(record)
                driver.input_topic(record.topic).pipe_input(key, value, timestamp_ms=timestamp_ms)
        shared = set(driver.output_topics) & set(readers)
        for topic in shared:
            in_sql = [readers[topic].decode(one) for one in outcome.records if one.topic == topic]
            written = [
                (one.key, one.value, one.timestamp_ms)
                for one in driver.output_topic(topic).read_records()
            ]
            if topic in TIMES_DIFFER:
                assert [one[:2] for one in written] == [one[:2] for one in in_sql], topic
                continue
            assert written == in_sql, topic
    assert shared


@pytest.mark.spark
def test_the_command_runs_an_example(spark: SparkSession) -> None:
    done = CliRunner().invoke(cli, ["sql", "test", str(EXAMPLES / FILES[0])], standalone_mode=False)

    assert (done.return_value, done.output.split(" (")[0]) == (
        0,
        "ok    each sale stays in the ledger, and changes the row of its product",
    ), done.output


def test_every_sql_file_is_formatted_and_listed_in_the_readme() -> None:
    readme = (EXAMPLES / "README.md").read_text()

    for path in sorted(EXAMPLES.glob("*.sql")):
        text = path.read_text()
        assert formatted(text) == text, path.name
        assert f"`{path.name}`" in readme
    assert len(FILES) >= 7
