"""Statements that define, drop, alter and insert: refusals, and the catalog afterwards."""

import json
from decimal import Decimal as D

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.planning.sinks import Target
from duolog.ksql.session import Done, SqlSession
from duolog.ksql.statements.inserted_rows import plan_of_row
from duolog.plan.expressions import Literal
from duolog.plan.types import Decimal
from duolog.testing.rows_written import computed

FORMAT = "ksql.persistence.default.format.value"
BEGIN = """
    CREATE STREAM flights (id INT KEY, origin STRING, delay BIGINT) WITH (kafka_topic='flights', partitions=3);
    CREATE STREAM trains (id INT KEY, origin STRING) WITH (kafka_topic='trains');
    CREATE SOURCE TABLE airports (code STRING PRIMARY KEY, city STRING) WITH (kafka_topic='airports');
    CREATE TABLE seats (id INT PRIMARY KEY, free INT, price DECIMAL(6, 2)) WITH (kafka_topic='seats');
"""


def begun(more: str = "") -> SqlSession:
    session = SqlSession(given={FORMAT: "JSON"})
    list(session.run(BEGIN + more))
    return session


def answer(session: SqlSession, text: str) -> Done:
    (done,) = session.run(text)
    return done


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        # Names and kinds.
        ("CREATE STREAM flights (a INT) WITH (kafka_topic='a');", "Cannot add stream 'FLIGHTS': A stream with the same"),
        ("CREATE OR REPLACE TABLE flights (a INT PRIMARY KEY) WITH (kafka_topic='a');", "A stream with the same name"),
        ("CREATE OR REPLACE TABLE airports (code STRING PRIMARY KEY) WITH (kafka_topic='airports');",
         "Cannot add table 'AIRPORTS': CREATE OR REPLACE is not supported on source tables."),
        ("DROP TABLE flights;", "Incompatible data source type is STREAM, but statement was DROP TABLE"),
        ("DROP STREAM nowhere;", "Source NOWHERE does not exist."),
        ('DROP STREAM "Flights";', "Did you mean FLIGHTS? Hint: try removing double quotes"),
        ("DROP TABLE airports DELETE TOPIC;", "Cannot delete topic for read-only source: AIRPORTS"),
        ("ALTER TABLE airports ADD country STRING;", "ALTER operations are not supported on source tables."),
        ("ALTER STREAM flights ADD delay INT;", "Cannot add column `DELAY` to schema."),
        ("TERMINATE csas_x_0;", "Unknown queryId: CSAS_X_0"),
        # Columns.
        ("CREATE STREAM s (a INT PRIMARY KEY) WITH (kafka_topic='s');",
         "Line: 1, Col: 18: Column `A` is a 'PRIMARY KEY' column: please use 'KEY' for streams."),
        ("CREATE TABLE t (a INT KEY) WITH (kafka_topic='t');", "please use 'PRIMARY KEY' for tables."),
        ("CREATE TABLE t (a INT) WITH (kafka_topic='t');", "Tables require a PRIMARY KEY."),
        ("CREATE STREAM s (a INT, a STRING) WITH (kafka_topic='s');", "Duplicate column names: `A`"),
        ("CREATE STREAM s (rowoffset INT) WITH (kafka_topic='s');", "'ROWOFFSET' is a reserved column name."),
        ("CREATE STREAM s WITH (kafka_topic='s');", "The statement does not define any columns."),
        ("CREATE STREAM s (a INT) WITH (kafka_topic='s', window_type='Session');", "Windowed sources require a key column."),
        ("CREATE STREAM s (a DECIMAL(2, 4)) WITH (kafka_topic='s');", "DECIMAL precision must be >= scale: DECIMAL(2,4)"),
        ("CREATE STREAM s (a DECIMAL(0)) WITH (kafka_topic='s');", "DECIMAL precision must be >= 1: DECIMAL(0,0)"),
        ("CREATE STREAM s (h STRING HEADER('x')) WITH (kafka_topic='s');", "Invalid type for HEADER('x') column"),
        ("CREATE STREAM s (h BYTES HEADER('x'), g BYTES HEADER('x')) WITH (kafka_topic='s');",
         "Schema already contains a HEADER('x') column."),
        ("CREATE STREAM s (a elsewhere) WITH (kafka_topic='s');", "Cannot resolve unknown type: ELSEWHERE"),
        # Formats.
        ("CREATE STREAM s (k ARRAY<MAP<STRING, INT>> KEY) WITH (kafka_topic='s', format='JSON');",
         "Key column name: `K`. Column type: ARRAY<MAP<STRING, INTEGER>>."),
        ("CREATE STREAM s (k DATE KEY) WITH (kafka_topic='s');",
         "format: KAFKA\nschema: Persistence{columns=[`K` DATE KEY], features=[]}\nreason: The 'KAFKA' format"),
        ("CREATE STREAM s (k DATE KEY, v MAP<INT, INT>) WITH (kafka_topic='s', format='JSON');",
         "reason: JSON only supports MAP types with STRING keys"),
        ("CREATE STREAM s (v STRUCT<x INT>) WITH (kafka_topic='s', value_format='DELIMITED');",
         "The 'DELIMITED' format does not support type 'STRUCT', column: `V`"),
        ("CREATE STREAM s (v INT, w INT) WITH (kafka_topic='s', value_format='KAFKA');",
         "The 'KAFKA' format only supports a single field. Got: [`V` INTEGER, `W` INTEGER]"),
        ("CREATE STREAM s (v INT) WITH (kafka_topic='s', value_format='XML');", "Unknown format: XML"),
        ("CREATE STREAM s (v INT) WITH (kafka_topic='s', value_format='AVRO');", "the AVRO format needs a schema registry"),
        ("CREATE STREAM s (v INT, w INT) WITH (kafka_topic='s', wrap_single_value=false);",
         "'WRAP_SINGLE_VALUE' is only valid for single-field value schemas"),
        ("CREATE STREAM s (v INT) WITH (kafka_topic='s', value_format='KAFKA', wrap_single_value=true);",
         "Format 'KAFKA' does not support 'WRAP_SINGLE_VALUE' set to 'true'."),
        ("CREATE STREAM s (v STRUCT<`2nd` INT>) WITH (kafka_topic='s', value_format='AVRO');",
         "Schema is not compatible with Avro: Illegal initial character: 2nd"),
        # Properties.
        ("CREATE STREAM s (v INT) WITH (kafka_topic='s', colour='red');", "Invalid config variable(s) in the WITH clause: COLOUR"),
        ("CREATE STREAM s (v INT) WITH (kafka_topic='s', window_type='TUMBLING');", "windows require 'WINDOW_SIZE'"),
        ("CREATE STREAM s (v INT) WITH (kafka_topic='s', window_type='SESSION', window_size='1 DAY');",
         "'WINDOW_SIZE' should not be set for SESSION windows."),
        ("CREATE STREAM s (v INT) WITH (kafka_topic='s', window_type='TUMBLING', window_size='2 moons');",
         "Invalid duration: '2 moons'. Unknown time unit: 'MOONS'"),
        ("CREATE STREAM s (v INT) WITH (kafka_topic='s', partitions='many');", "Not a number of type INT"),
        ("CREATE STREAM s (v INT) WITH (kafka_topic='s', timestamp='w');",
         "The TIMESTAMP column set in the WITH clause does not exist in the schema: 'W'"),
        ("CREATE STREAM s (v STRING) WITH (kafka_topic='s', timestamp='v');", "without also specifying the timestamp_format"),
        ("CREATE STREAM s (v INT) WITH (kafka_topic='s', value_format='DELIMITED', value_delimiter='||');",
         "Delimiter must be a single character or TAB,SPACE"),
        # Rows.
        ("INSERT INTO Airports VALUES ('a', 'b');", "Cannot insert values into read-only table: AIRPORTS"),
        ("INSERT INTO elsewhere VALUES (1);", "Cannot insert values into an unknown stream/table: `ELSEWHERE`"),
        ("INSERT INTO flights (id, nothing) VALUES (1, 2);", "Column name `NOTHING` does not exist."),
        ("INSERT INTO flights (rowpartition) VALUES (1);", "Inserting into column `ROWPARTITION` is not allowed."),
        ("INSERT INTO flights VALUES (1, 'a');", "Expected Columns: [`ID`, `ORIGIN`, `DELAY`]. Got [1, 'a']"),
        ("INSERT INTO flights (id) VALUES ('one');", "Expected type INTEGER for field `ID` but got STRING(one)"),
        ("INSERT INTO seats (free) VALUES (1);", "Value for primary key column(s) ID is required for tables"),
        ("INSERT INTO seats SELECT * FROM flights;", "SEATS is a table."),
        ("INSERT INTO flights SELECT * FROM trains;", "Incompatible schema between results and sink."),
        ("INSERT INTO seats (id, price) VALUES (1, 0.123);",
         "Cannot fit decimal '0.123' into DECIMAL(6, 2) without rounding. (Requires 3,3)"),
        ("INSERT INTO flights (id) VALUES (1, 2);", "Expected number columns and values to match: 1, 2"),
        ("INSERT INTO flights (id) VALUES (flights.id);", "'FLIGHTS' is not a valid stream/table name or alias."),
        ("CREATE STREAM s AS SELECT * FROM flights LIMIT 3;", "CREATE STREAM AS SELECT statements don't support LIMIT"),
        # Statements that are not supported.
        ("SHOW CONNECTORS;", "no Connect cluster is configured"),
        ("SET 'colour'='red';", "Not recognizable as ksql, streams, consumer, or producer property: 'colour'"),
        ("SET 'auto.offset.reset'='first';", "Invalid value first for property 'auto.offset.reset'"),
        ("UNSET 'auto.offset.reset';", "which was never set"),
        ("ASSERT TOPIC nowhere;", "Topic nowhere does not exist."),
        ("ASSERT TOPIC flights WITH (partitions=4);", "expected 4 got 3"),
    ],
)  # fmt: skip
def test_invalid_statements_are_refused(statement: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as raised:
        list(begun().run(statement))
    assert expected_message in raised.value.message
    assert raised.value.statement == statement


def test_a_replaced_stream_keeps_what_it_had() -> None:
    session = begun()
    list(
        session.run(
            "CREATE OR REPLACE STREAM flights (id INT KEY, origin STRING, delay BIGINT, gate STRING)"
            " WITH (kafka_topic='flights');"
        )
    )
    assert [column.name for column in session.catalog.sources["FLIGHTS"].columns][-1] == "GATE"
    with pytest.raises(SqlError, match=r"changed, missing or reordered: \[`ORIGIN` STRING"):
        list(
            session.run(
                "CREATE OR REPLACE STREAM flights (id INT KEY, delay BIGINT, origin STRING, gate STRING)"
                " WITH (kafka_topic='flights');"
            )
        )


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        ("STREAM trains (id BIGINT KEY, origin STRING) WITH (kafka_topic='trains');", "Key columns must be identical"),
        ("STREAM trains (id INT KEY, origin STRING) WITH (kafka_topic='rails');", "kafkaTopicName='trains'"),
        ("STREAM trains (id INT KEY, origin STRING) WITH (kafka_topic='trains', format='JSON');", "keyFormat=KeyFormat{format=FormatInfo{format=KAFKA"),
        ("STREAM trains AS SELECT * FROM flights;", "is not made by CREATE ... AS SELECT"),
    ],
)  # fmt: skip
def test_columns_of_a_replaced_stream_cannot_change(statement: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        list(begun().run(f"CREATE OR REPLACE {statement}"))
    assert expected_message in caught.value.message


def test_if_not_exists_and_if_exists_change_nothing() -> None:
    session = begun()
    done = answer(
        session, "CREATE STREAM IF NOT EXISTS flights (a INT) WITH (kafka_topic='other');"
    )
    assert done.message.startswith("Cannot add stream `FLIGHTS`: A stream with the same name")
    assert session.catalog.sources["FLIGHTS"].topic == "flights"
    assert (
        answer(session, "DROP STREAM IF EXISTS nowhere;").message
        == "Stream NOWHERE does not exist."
    )


def test_custom_types_are_aliases_until_they_are_dropped() -> None:
    session = begun(
        "CREATE TYPE place AS STRUCT<x DOUBLE, y DOUBLE>; ALTER STREAM flights ADD COLUMN at place;"
    )
    assert (
        str(session.catalog.sources["FLIGHTS"].columns[-1]) == "`AT` STRUCT<`X` DOUBLE, `Y` DOUBLE>"
    )
    assert answer(session, "SHOW TYPES;").rows[0].rows == (
        ("PLACE", "STRUCT<`X` DOUBLE, `Y` DOUBLE>"),
    )
    assert answer(session, "DROP TYPE place;").message == "Type 'PLACE' dropped"
    with pytest.raises(SqlError, match="Type PLACE does not exist"):
        list(session.run("DROP TYPE place;"))


def test_a_row_has_the_types_of_its_columns() -> None:
    (row,) = answer(begun(), "INSERT INTO seats (id, price, ROWTIME) VALUES (1, 12.5, 7);").inserted
    assert [name for name, _ in row.values] == ["ID", "PRICE"]
    assert row.timestamp is not None
    (sink,) = plan_of_row(row).sinks
    assert sink.topics == ("seats",)
    assert [str(one) for one in sink.schema.value] == ["FREE INT", "PRICE DECIMAL(6,2)"]


def test_a_struct_may_lack_fields() -> None:
    session = begun("ALTER STREAM trains ADD at STRUCT<x DOUBLE, y ARRAY<BIGINT>>;")
    (row,) = answer(session, "INSERT INTO trains (at) VALUES (STRUCT(y := ARRAY[1]));").inserted
    assert [name for name, _ in row.values] == ["AT"]


def test_a_struct_that_is_inserted_may_have_more_fields_than_its_column() -> None:
    """ksqlDB ignores them; a field that the column has must still be of its type."""
    session = begun("ALTER STREAM trains ADD at STRUCT<x DOUBLE>, ADD list ARRAY<STRUCT<x INT>>;")
    rows = answer(
        session,
        "INSERT INTO trains (at, list) VALUES (STRUCT(z := 1, x := 2.5), ARRAY[STRUCT(x := 3, y := 'b')]);",
    ).inserted

    (out,) = computed(rows[0])
    assert json.loads(out.value or b"")["AT"] == {"X": 2.5}
    assert json.loads(out.value or b"")["LIST"] == [{"X": 3}]
    with pytest.raises(SqlError, match="Expected type STRUCT"):
        list(session.run("INSERT INTO trains (at) VALUES (STRUCT(z := 1, x := 'a'));"))


def test_queries_have_names_and_a_lifecycle() -> None:
    session = begun("CREATE STREAM late AS SELECT * FROM flights WHERE delay > 10;")
    assert list(session.state.queries) == ["CSAS_LATE_1"]
    with pytest.raises(
        SqlError, match=r"The following queries read from this source: \[CSAS_LATE_1\]"
    ):
        list(session.run("DROP STREAM flights;"))
    list(session.run("PAUSE csas_late_1;"))
    (shown,) = answer(session, "SHOW QUERIES;").rows
    assert shown.rows[0][:3] == ("CSAS_LATE_1", "PERSISTENT", "PAUSED")
    list(session.run("RESUME ALL;"))
    assert session.state.queries["CSAS_LATE_1"].state == "RUNNING"
    assert answer(session, "DROP STREAM late;").ended == ("CSAS_LATE_1",)
    assert not session.state.queries


def test_a_query_is_replaced_under_its_name() -> None:
    session = begun(
        "CREATE STREAM late AS SELECT * FROM flights WHERE delay > 10;"
        "CREATE TABLE many AS SELECT id, COUNT(*) AS n FROM flights GROUP BY id;"
    )
    done = answer(
        session, "CREATE OR REPLACE STREAM late AS SELECT *, delay * 2 AS d FROM flights;"
    )
    assert done.query is not None
    assert done.query.id == "CSAS_LATE_1"
    assert list(session.state.queries) == ["CSAS_LATE_1", "CTAS_MANY_2"]
    for text, expected_message in (
        (
            "CREATE OR REPLACE STREAM late AS SELECT * FROM trains;",
            "Cannot upgrade data source: DataSource 'LATE' has schema = ",
        ),
        (
            "SET 'ksql.compatibility' = 'strict'; CREATE OR REPLACE STREAM late AS SELECT id, origin, delay, delay * 2 AS d FROM late_too;",
            "must have matching topicName. Values differ: flights vs. l",
        ),
        (
            "CREATE OR REPLACE TABLE many AS SELECT id, COUNT(*) AS n, SUM(delay) AS s FROM flights GROUP BY id;",
            "must have matching aggregationFunctions",
        ),
    ):
        with pytest.raises(SqlError, match=expected_message):
            list(
                session.run(
                    "CREATE STREAM IF NOT EXISTS late_too (id INT KEY, origin STRING, delay BIGINT)"
                    f" WITH (kafka_topic='l'); {text}"
                )
            )


def test_a_query_may_read_and_compute_something_else_than_the_one_that_it_replaces() -> None:
    """ksqlDB refuses each of them."""
    session = begun(
        "CREATE STREAM late AS SELECT id, origin FROM flights WHERE delay > 10;"
        "CREATE TABLE many AS SELECT id, COUNT(*) AS n FROM flights GROUP BY id;"
    )
    for text in (
        "STREAM late AS SELECT id, origin FROM trains",
        "STREAM late AS SELECT f.id AS id, f.origin AS origin, s.free AS free FROM flights f JOIN seats s ON f.id = s.id",
        "TABLE many AS SELECT id, COUNT(*) AS n, SUM(delay) AS s FROM flights GROUP BY id",
    ):
        explained = answer(session, f"EXPLAIN UPGRADE CREATE OR REPLACE {text};").query
        done = answer(session, f"CREATE OR REPLACE {text};").query
        assert explained is not None
        assert done is not None
        assert explained.id == done.id
    assert list(session.state.queries) == ["CSAS_LATE_1", "CTAS_MANY_2"]
    with pytest.raises(SqlError, match="CREATE OR REPLACE"):
        answer(session, "EXPLAIN UPGRADE CREATE STREAM later AS SELECT * FROM flights;")
    with pytest.raises(SqlError, match="Query with id:UPGRADE does not exist"):
        answer(session, "EXPLAIN upgrade;")


def test_explain_does_not_start_the_query() -> None:
    session = begun()
    rows = answer(session, "EXPLAIN CREATE STREAM late AS SELECT * FROM flights;").rows
    assert ("Reads", "FLIGHTS") in rows[0].rows
    assert "LATE" not in session.catalog.sources
    assert not session.state.queries


def test_a_transient_query_keeps_no_rows() -> None:
    session = begun()
    done = answer(session, "SELECT origin, delay FROM flights EMIT CHANGES;")
    assert done.selected is not None
    assert [column.name for column in done.selected.planned.columns if column.role == "VALUE"] == [
        "ORIGIN",
        "DELAY",
    ]
    assert not session.state.queries


def test_sources_and_queries_are_described() -> None:
    session = begun()
    (shown,) = answer(session, "SHOW STREAMS;").rows
    assert shown.rows[0] == ("FLIGHTS", "flights", "KAFKA", "JSON", False)
    columns, facts, _queries = answer(session, "DESCRIBE airports EXTENDED;").rows
    assert columns.rows == (("CODE", "STRING (primary key)"), ("CITY", "STRING"))
    assert ("Read-only", True) in facts.rows
    (topics,) = answer(session, "SHOW TOPICS;").rows
    assert ("flights", 3) in topics.rows


def test_variables_are_substituted_in_strings_and_names() -> None:
    session = begun()
    list(
        session.run(
            "DEFINE name = 'Trains';\n"
            "CREATE STREAM the_${name} (a INT, b STRING) WITH (kafka_topic='the-${name}', value_format='DELIMITED', value_delimiter=';'); -- ${name}\n"
        )
    )
    assert session.catalog.sources["THE_TRAINS"].topic == "the-Trains"
    with pytest.raises(SqlError) as raised:
        list(session.run("UNDEFINE name;\nSHOW STREAMS;\n\n  DROP STREAM the_${name};"))
    assert raised.value.at is not None
    assert raised.value.at.line == 4


def test_a_text_with_a_syntax_error_runs_nothing() -> None:
    session = begun()
    with pytest.raises(SqlError, match="Syntax Error"):
        list(session.run("DROP STREAM flights; DROP DROP;"))
    assert "FLIGHTS" in session.catalog.sources


def test_a_result_has_the_formats_of_its_source() -> None:
    session = begun(
        "CREATE STREAM s (a INT, b INT) WITH (kafka_topic='s', value_format='DELIMITED', value_delimiter='|');"
    )
    source = session.catalog.sources["S"]
    key, value = Target("x", settings=session.state.settings).formats(source, source.columns)
    assert (key.name, value.name, value.properties) == ("NONE", "DELIMITED", (("delimiter", "|"),))


def test_a_result_without_a_suitable_format_is_refused_with_the_statement() -> None:
    with pytest.raises(SqlError) as raised:
        list(
            begun().run(
                "CREATE TABLE t2 WITH (partitions=2) AS SELECT delay, origin, COUNT(*) AS n FROM flights f "
                "WINDOW TUMBLING (SIZE 1 HOUR) WHERE id > 1 GROUP BY delay, origin;"
            )
        )
    assert raised.value.message.endswith(
        "reason: The 'KAFKA' format only supports a single field. Got: [`DELAY` BIGINT KEY, `ORIGIN` STRING KEY]\n"
        "Statement: CREATE TABLE T2 WITH (PARTITIONS=2) AS SELECT\n"
        "  F.DELAY DELAY,\n  F.ORIGIN ORIGIN,\n  COUNT(*) N\n"
        "FROM FLIGHTS F\n"
        "WINDOW TUMBLING ( SIZE 1 HOURS )\n"
        "WHERE (F.ID > 1)\n"
        "GROUP BY F.DELAY, F.ORIGIN\n"
        "EMIT CHANGES"
    )


@pytest.mark.parametrize(("written", "meant"), [("TAB", "\t"), ("SPACE", " "), (";", ";")])
def test_delimiters_can_be_given_by_name(written: str, meant: str) -> None:
    declared = (
        "CREATE STREAM s (a INT) WITH (kafka_topic='s', format='DELIMITED', value_delimiter='?');"
    )
    session = begun(declared.replace("?", written) + "CREATE STREAM o AS SELECT * FROM s;")  # noqa: S608
    assert session.catalog.sources["O"].value_format.properties == (("delimiter", meant),)


@pytest.mark.parametrize(
    ("statement", "near"),
    [
        ("ASSERT VALUES flights (id) VALUES (1);", "VALUES"),
        ("ASSERT NULL VALUES seats (id) KEY (1);", "NULL"),
        ("ASSERT STREAM flights (id INT KEY) WITH (kafka_topic='flights');", "STREAM"),
    ],
)
def test_assertions_about_rows_are_allowed_in_test_files_only(statement: str, near: str) -> None:
    session = SqlSession(given={FORMAT: "JSON"}, of_tests=False)

    with pytest.raises(SqlError, match=f"Syntax error at or near '{near}' at line 1:8"):
        list(session.run(statement))


def test_a_whole_number_is_inserted_as_a_decimal_that_has_room_for_it() -> None:
    (row,) = answer(begun(), "INSERT INTO seats (id, price) VALUES (1, -12);").inserted

    assert str(dict(row.values)["price".upper()]) == str(Literal(D("-12.00"), Decimal(6, 2)))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t WITH (kafka_topic='t', value_format='AVRO');",
        "CREATE TABLE t (b INT) WITH (kafka_topic='t', key_format='AVRO', value_format='JSON');",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT) WITH (kafka_topic='t', key_format='AVRO');",
        "CREATE STREAM s (a INT) WITH (kafka_topic='s', format='AVRO');",
        "CREATE STREAM s WITH (format='AVRO') AS SELECT * FROM trains;",
        f"SET '{FORMAT}'='AVRO'; CREATE STREAM s (a INT) WITH (kafka_topic='s');",
        "SET 'ksql.persistence.default.format.key'='AVRO'; CREATE STREAM s (a INT KEY, b INT) WITH (kafka_topic='s');",
    ],
)
def test_a_format_of_a_registry_is_refused_wherever_it_is_named(statement: str) -> None:
    with pytest.raises(SqlError, match="the AVRO format needs a schema registry"):
        begun(statement)


def test_a_custom_type_can_be_cast_to() -> None:
    (*_, done) = begun("CREATE TYPE place AS STRUCT<a INT>;").run(
        "CREATE STREAM s AS SELECT id, CAST(STRUCT(a := delay) AS place) AS p FROM flights;"
    )

    assert done.query is not None
    assert [str(column) for column in done.query.planned.columns][1:] == ["`P` STRUCT<`A` INTEGER>"]


def test_variables_are_not_substituted_after_they_are_switched_off() -> None:
    script = """
        DEFINE source = 'trains';
        CREATE STREAM a AS SELECT * FROM ${source};
        SET 'ksql.variable.substitution.enable' = 'false';
        CREATE STREAM b AS SELECT * FROM ${source};
    """
    session = begun()

    with pytest.raises(SqlError, match="Syntax Error"):
        list(session.run(script))

    assert "A" in session.catalog.sources


def test_a_source_table_takes_a_query_number() -> None:
    done = SqlSession().run(
        """
        CREATE SOURCE TABLE t (id INT PRIMARY KEY, n INT) WITH (kafka_topic='t', format='JSON');
        CREATE TABLE u AS SELECT * FROM t;
        """
    )

    assert [one.query.id for one in done if one.query] == ["CTAS_U_1"]


def test_a_query_belongs_to_the_group_of_its_session() -> None:
    session = begun("")
    answer(session, "SET 'duolog.query.jvm.group'='heavy';")
    answer(session, "CREATE STREAM early AS SELECT * FROM flights;")
    answer(session, "SET 'duolog.query.jvm.group'='light';")
    answer(session, "INSERT INTO early SELECT * FROM flights;")
    answer(session, "UNSET 'duolog.query.jvm.group';")
    answer(session, "CREATE STREAM late AS SELECT * FROM flights;")

    (shown,) = answer(session, "SHOW QUERIES;").rows
    groups = [row[shown.columns.index("JVM Group")] for row in shown.rows]
    assert groups[-3:] == ["heavy", "light", "default"]
    facts = answer(session, f"EXPLAIN {shown.rows[-3][0]};").rows[0].rows
    assert ("JVM group", "heavy") in facts
    *_, readers = answer(session, "DESCRIBE early EXTENDED;").rows
    assert [row[readers.columns.index("JVM Group")] for row in readers.rows] == ["heavy", "light"]
