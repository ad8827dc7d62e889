"""ksqlDB's refusals, rule by rule: the same message for other columns, types and clauses.

Each list is one rule. The message is a property of the rule: a case with other names gets it with
those names.
"""

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession

BEGIN = """
    CREATE STREAM rides (id INT KEY, city STRING, km DOUBLE, tags ARRAY<STRING>, extra MAP<STRING, INT>, at STRUCT<x INT>)
        WITH (kafka_topic='rides', value_format='JSON', partitions=4);
    CREATE STREAM ends (id INT KEY, city STRING, paid BOOLEAN)
        WITH (kafka_topic='ends', value_format='JSON', partitions=4);
    CREATE STREAM tips (id INT KEY, city STRING) WITH (kafka_topic='tips', value_format='JSON', partitions=4);
    CREATE STREAM bare (id INT KEY, cents BIGINT) WITH (kafka_topic='bare', value_format='KAFKA', partitions=4);
    CREATE STREAM hourly (id INT KEY, n BIGINT)
        WITH (kafka_topic='hourly', value_format='JSON', window_type='TUMBLING', window_size='1 HOUR');
    CREATE TABLE cities (city STRING PRIMARY KEY, land STRING)
        WITH (kafka_topic='cities', value_format='JSON', partitions=4);
    CREATE TABLE towns (town STRING PRIMARY KEY, land STRING)
        WITH (kafka_topic='towns', value_format='JSON', partitions=4);
    CREATE TABLE totals AS SELECT id, COUNT(*) AS n FROM rides GROUP BY id;
    CREATE TABLE texts AS SELECT city, COUNT(*) AS n FROM rides GROUP BY city;
    CREATE TABLE pairs WITH (key_format='JSON') AS SELECT city, id, COUNT(*) AS n FROM rides GROUP BY city, id;
    CREATE STREAM copies AS SELECT id, city FROM rides;
"""
STRICT = {"ksql.compatibility": "strict"}


def refused(statement: str, given: dict[str, str] | None = None) -> SqlError:
    """Return the error of a statement in strict compatibility."""
    session = SqlSession(given=STRICT | (given or {}), of_tests=False)
    list(session.run(BEGIN))
    with pytest.raises(SqlError) as caught:
        list(session.run(f"{statement};"))
    return caught.value


def accepted(statement: str, given: dict[str, str] | None = None) -> None:
    session = SqlSession(given=STRICT | (given or {}), of_tests=False)
    list(session.run(BEGIN))
    list(session.run(f"{statement};"))


@pytest.mark.parametrize("clause", ["GROUP BY", "PARTITION BY"])
@pytest.mark.parametrize(
    ("given", "expected_message"),
    [
        ("()", "{} requires at least one expression"),
        ("SUM(km)", "{} does not support aggregate functions: SUM is an aggregate function."),
        (
            "city, ABS(MAX(km))",
            "{} does not support aggregate functions: MAX is an aggregate function.",
        ),
        ("city, id, city", "Duplicate {} expression: CITY"),
        ("UCASE(city), UCASE(rides.city)", "Duplicate {} expression: UCASE(CITY)"),
        ("at->x, at->x", "Duplicate {} expression: AT->X"),
        ("extra", "Map keys, including types that contain maps, are not supported"),
        ("nowhere", "{} column 'NOWHERE' cannot be resolved."),
        ("elsewhere.city", "'ELSEWHERE' is not a valid stream/table name or alias."),
    ],
)
def test_invalid_keys_are_refused(clause: str, given: str, expected_message: str) -> None:
    kind, selected = ("TABLE", "COUNT(*)") if clause == "GROUP BY" else ("STREAM", "*")
    query = f"CREATE {kind} made AS SELECT {selected} FROM rides {clause} {given}"

    assert expected_message.format(clause) in refused(query).message


@pytest.mark.parametrize(
    ("selected", "expected_message"),
    [
        ("id, city, COUNT(*)", "Non-aggregate SELECT expression(s) not part of GROUP BY: CITY\nEither add the column(s)"),
        ("id, LEN(city), km, COUNT(*)", "not part of GROUP BY: LEN(CITY), KM\nEither"),
        ("id, km * COUNT(*)", "outside of aggregate functions not part of GROUP BY: [KM]"),
        ("id, SUM(AVG(km))", "Aggregate functions can not be nested: SUM(AVG())"),
        ("id, COLLECT_LIST(LEN(MAX(city)))", "Aggregate functions can not be nested: COLLECT_LIST(MAX())"),
        ("id, SUM(city)", "Function 'SUM' does not accept parameters (STRING).\nValid alternatives are:\nSUM("),
        ("id, ABS(city), COUNT(*)", "Function 'abs' does not accept parameters (STRING).\nValid alternatives are:\nABS("),
        ("id", "GROUP BY requires aggregate functions in either the SELECT or HAVING clause."),
        ("id, COUNT(*) AS ROWTIME", "`ROWTIME` is a reserved column name. You cannot use it as an alias"),
        ("id, ROWOFFSET, COUNT(*)", "Reserved column name in select: `ROWOFFSET`. Please remove or alias the column."),
    ],
)  # fmt: skip
def test_invalid_projections_of_groups_are_refused(selected: str, expected_message: str) -> None:
    query = f"CREATE TABLE made AS SELECT {selected} FROM rides GROUP BY id"

    assert expected_message in refused(query).message


@pytest.mark.parametrize(
    ("having", "expected_message"),
    [
        ("km > 1", "Non-aggregate HAVING expression not part of GROUP BY: [KM]"),
        ("COUNT(*) > 1 AND LEN(city) = 2", "Non-aggregate HAVING expression not part of GROUP BY: [CITY]"),
        ("nowhere > 1", "HAVING column 'NOWHERE' cannot be resolved."),
        ("COUNT(*)", "Type error in HAVING expression: Should evaluate to boolean but is COUNT(*) (BIGINT) instead."),
        ("MAX(city) > 1", "Error in HAVING expression: Cannot compare MAX(CITY) (STRING) to 1 (INTEGER) with GREATER_THAN."),
    ],
)  # fmt: skip
def test_invalid_having_conditions_are_refused(having: str, expected_message: str) -> None:
    query = f"CREATE TABLE made AS SELECT id, COUNT(*) FROM rides GROUP BY id HAVING {having}"

    assert expected_message in refused(query).message


@pytest.mark.parametrize("bound", ["WINDOWSTART", "WINDOWEND"])
@pytest.mark.parametrize(
    "rest",
    [
        "id, COUNT(*) FROM rides {} GROUP BY id HAVING {} > 10",
        "id, COUNT(*) FROM rides {} GROUP BY id HAVING COUNT(*) > 1 AND ABS({}) < 10",
        "id, COUNT(*) FROM rides {} GROUP BY id HAVING MIN({}) < 10",
        "id, MAX({1}) AS m FROM rides {0} GROUP BY id",
        "id, COUNT(*) FROM rides {} GROUP BY id, {}",
        "id, COUNT(*) FROM rides {} GROUP BY id, {} / 1000",
    ],
)
def test_window_bounds_are_allowed_in_the_projection_only(bound: str, rest: str) -> None:
    expected_message = refused(
        f"CREATE TABLE made AS SELECT {rest.format('WINDOW TUMBLING (SIZE 1 HOUR)', bound)}"
    )

    assert expected_message.message.startswith(
        f"Window bounds column {bound} can only be used in the SELECT clause of windowed aggregations "
        "and can not be passed to aggregate functions.\n"
    )


def test_window_bounds_may_filter_groups_outside_strict_mode() -> None:
    session = SqlSession()
    list(session.run(BEGIN))

    (done,) = session.run(
        "CREATE TABLE made AS SELECT id, COUNT(*) AS n FROM rides WINDOW TUMBLING (SIZE 1 HOUR) "
        "GROUP BY id HAVING WINDOWSTART > 10;"
    )

    assert done.query is not None


@pytest.mark.parametrize(
    ("query", "clause"),
    [
        ("TABLE made AS SELECT id, SUM(cents) AS s FROM bare GROUP BY id", "GROUP BY"),
        ("TABLE made AS SELECT cents, COUNT(*) AS n FROM bare GROUP BY cents", "GROUP BY"),
        (
            "STREAM made AS SELECT b.id, r.km FROM bare b JOIN rides r WITHIN 1 HOUR ON b.id = r.id",
            "JOIN",
        ),
        (
            "STREAM made AS SELECT b.id, r.km FROM rides r JOIN bare b WITHIN 1 HOUR ON b.id = r.id",
            "JOIN",
        ),
    ],
)
def test_values_in_kafka_format_are_neither_grouped_nor_joined(query: str, clause: str) -> None:
    expected_message = (
        "Source(s) BARE are using the 'KAFKA' value format. This format does not yet support "
    )

    assert expected_message + clause + "." in refused(f"CREATE {query}").message


@pytest.mark.parametrize("expression", ["n", "ABS(id)", "id, n", "CAST(id AS STRING)"])
def test_a_windowed_key_is_not_replaced(expression: str) -> None:
    query = f"CREATE STREAM made AS SELECT * FROM hourly PARTITION BY {expression}"

    assert "Implicit repartitioning of windowed sources is not supported." in refused(query).message
    accepted("CREATE STREAM made AS SELECT * FROM hourly PARTITION BY id")


@pytest.mark.parametrize("given", ["KEY_FORMAT='JSON'", "FORMAT='JSON'", "KEY_FORMAT='kafka'"])
def test_a_key_that_is_removed_has_no_format(given: str) -> None:
    query = f"CREATE STREAM made WITH ({given}) AS SELECT * FROM rides PARTITION BY NULL"

    assert refused(query).message == "Key format specified for stream without key columns."
    accepted("CREATE STREAM made WITH (KEY_FORMAT='NONE') AS SELECT * FROM rides PARTITION BY NULL")


@pytest.mark.parametrize(
    ("joined", "expected_message"),
    [
        ("ends e WITHIN 1 HOUR ON r.id = e.id JOIN tips t WITHIN 1 HOUR ON r.id = e.id",
         "Cannot perform circular join - both `E` and `R` are already included in the current join tree: R"),
        ("ends e WITHIN 1 HOUR ON r.id = e.id JOIN tips t WITHIN 1 HOUR ON e.city = r.city",
         "Cannot perform circular join - both `R` and `E` are already included"),
        ("ends e WITHIN 1 HOUR ON e.id = t.id JOIN tips t WITHIN 1 HOUR ON r.id = t.id",
         "Cannot build JOIN tree; neither source in the join is the FROM source or included in a previous JOIN: (E.ID = T.ID)"),
        ("ends e WITHIN 1 HOUR ON r.id = e.id AND r.city = e.city",
         "joins on multiple conditions are not yet supported. Got ((R.ID = E.ID) AND (R.CITY = E.CITY))."),
        ("ends e WITHIN 1 HOUR ON r.id + e.id = e.id", "must contain references from exactly one source."),
        ("ends e WITHIN 1 HOUR ON r.city = r.city", "Left side references `R` and right references `R`"),
        ("ends e WITHIN 1 HOUR ON r.city = e.id", "types don't match. Got R.CITY{STRING} = E.ID{INTEGER}."),
        ("ends e WITHIN 1 HOUR ON e.paid = r.km", "types don't match. Got E.PAID{BOOLEAN} = R.KM{DOUBLE}."),
        ("ends e WITHIN 1 HOUR ON x.id = e.id", "'X' is not a valid stream/table name or alias."),
        ("ends e WITHIN 1 HOUR ON rides.id = e.id", "JOIN ON column 'RIDES.ID' cannot be resolved."),
        ("nowhere e WITHIN 1 HOUR ON r.id = e.id", "NOWHERE does not exist."),
        ("ends e ON r.id = e.id", "Stream-Stream joins must have a WITHIN clause specified. None was provided."),
        ("cities c WITHIN 1 HOUR ON r.city = c.city", "A window definition was provided for a Stream-Table join."),
        ("cities c ON r.city = c.land", "require to join on the table's primary key. Got R.CITY = C.LAND."),
    ],
)  # fmt: skip
def test_invalid_joins_are_refused(joined: str, expected_message: str) -> None:
    query = f"CREATE STREAM made AS SELECT r.id, r.km FROM rides r JOIN {joined}"

    assert expected_message in refused(query).message


@pytest.mark.parametrize("key", ["c.city", "t.town"])
def test_the_key_of_several_joins_may_be_an_expression_that_each_of_them_matches(key: str) -> None:
    joins = "JOIN cities c ON UCASE(r.city) = c.city JOIN towns t ON UCASE(r.city) = t.town"

    accepted(f"CREATE STREAM made AS SELECT {key}, r.km FROM rides r {joins}")


def test_joins_by_different_expressions_have_the_key_of_the_last() -> None:
    joins = "JOIN cities c ON UCASE(r.city) = c.city JOIN towns t ON LCASE(r.city) = t.town"

    expected_message = refused(
        f"CREATE STREAM made AS SELECT c.city, r.km FROM rides r {joins}"
    ).message

    assert (
        "must include the join expression T.TOWN in its projection (eg, SELECT T.TOWN...)"
        in expected_message
    )


def test_the_key_of_several_joins_by_one_expression_names_all_its_columns() -> None:
    joins = "JOIN cities c ON UCASE(r.city) = c.city JOIN towns t ON UCASE(r.city) = t.town"

    expected_message = refused(f"CREATE STREAM made AS SELECT r.km FROM rides r {joins}").message

    assert (
        "must include the join expressions C.CITY or T.TOWN in its projection" in expected_message
    )


@pytest.mark.parametrize("word", ["SELECT", "from", "Values"])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE STREAM {} (a INT) WITH (kafka_topic='a', value_format='JSON')",
        "CREATE STREAM s (a INT, {} INT) WITH (kafka_topic='a', value_format='JSON')",
        "CREATE STREAM s AS SELECT id, km AS {} FROM rides",
        "CREATE STREAM s AS SELECT * FROM rides AS {}",
        "DROP STREAM {}",
    ],
)
def test_reserved_words_are_not_identifiers(statement: str, word: str) -> None:
    expected_message = refused(statement.format(word))

    assert expected_message.kind == "syntax"
    assert (
        f'Syntax Error\n"{word}" is a reserved keyword and it can\'t be used as an'
        in expected_message.message
    )
    assert (
        f"You can use it as an identifier by escaping it as '{word}' " in expected_message.message
    )


@pytest.mark.parametrize("of", ["VARCHAR(STRING)", "varchar(string)", "VARCHAR(20)", "STRING"])
def test_the_length_of_a_varchar_is_ignored(of: str) -> None:
    accepted(f"CREATE STREAM s (a {of} KEY, b {of}) WITH (kafka_topic='a', value_format='JSON')")


@pytest.mark.parametrize(
    ("call", "expected_message"),
    [
        ("GREATEST(NULL, NULL)", "Function 'greatest' cannot be resolved due to ambiguous method parameters (null, null)."),
        ("LEAST(NULL)", "Function 'least' cannot be resolved due to ambiguous method parameters (null)."),
        ("SUBSTRING(id, 1)", ("Function 'substring' does not accept parameters (INTEGER, INTEGER).\nValid alternatives are:\n"
                             "SUBSTRING(str STRING, pos INTEGER)\n")),
        ("UCASE()", ("Function 'ucase' does not accept parameters ().\nValid alternatives are:\nUCASE(input STRING)\n"
                    "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;")),
        ("DATEADD(id, 1, 2)", "Function 'dateadd' does not accept parameters (INTEGER, INTEGER, INTEGER)."),
        ("EXPLODE(city)", "Function 'explode' does not accept parameters (STRING).\nValid alternatives are:\nEXPLODE(array ARRAY<T>)"),
        ("EXPLODE(EXPLODE(tags))", "Table functions cannot be nested: EXPLODE(EXPLODE())"),
        ("EXPLODE(CUBE_EXPLODE(tags))", "Table functions cannot be nested: EXPLODE(CUBE_EXPLODE())"),
        ("TRANSFORM(tags, (a, b) => a)", "Function 'transform' does not accept parameters (ARRAY<STRING>, LAMBDA)."),
        ("STRUCT(a := 1, b := 2, a := 'x')", "Duplicate field names found in STRUCT: '`A` INTEGER' and '`A` STRING'"),
        ("UCASEE(city)", "Can't find any functions with the name 'UCASEE'"),
    ],
)  # fmt: skip
def test_invalid_arguments_of_functions_are_refused(call: str, expected_message: str) -> None:
    assert (
        expected_message
        in refused(f"CREATE STREAM made AS SELECT id, {call} AS c FROM rides").message
    )


def test_a_misplaced_function_reports_where_it_is_allowed() -> None:
    aggregate = refused("CREATE STREAM made AS SELECT * FROM rides WHERE SUM(km) > 1")
    table = refused("CREATE STREAM made AS SELECT * FROM rides WHERE EXPLODE(tags) = 'a'")
    typed = refused("CREATE STREAM made AS SELECT id, UCASEE(city) AS c FROM rides")

    assert aggregate.message == "Can't find any functions with the name 'SUM'"
    assert aggregate.hint == "SUM is an aggregate function: only SELECT and HAVING can call it."
    assert table.hint == "EXPLODE is a table function: only SELECT can call it."
    assert typed.hint == "Did you mean UCASE?"


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        ("INSERT INTO copies (id, nothing) VALUES (1, 'a')", "Failed to insert values into 'COPIES'. Column name `NOTHING` does not exist."),
        ("INSERT INTO copies VALUES (1)", ("Failed to insert values into 'COPIES'. Expected a value for each column. "
                                          "Expected Columns: [`ID`, `CITY`]. Got [1]")),
        ("INSERT INTO rides (id, km) VALUES (1, 'far')", "Failed to insert values into 'RIDES'. Expected type DOUBLE for field `KM` but got STRING(far)"),
        ("INSERT INTO rides (id, tags) VALUES (1, 2)", "Expected type ARRAY<STRING> for field `TAGS` but got INTEGER(2)"),
        ("INSERT INTO rides (id, WINDOWEND) VALUES (1, 2)", "Failed to insert values into 'RIDES'. Column name `WINDOWEND` does not exist."),
        ("INSERT INTO rides (id, km, KM) VALUES (1, 2, 3)", "Failed to insert values into 'RIDES'. Column `KM` is listed more than once."),
        ("INSERT INTO rides (id, city) VALUES (1)", "Failed to prepare statement: Expected number columns and values to match: 2, 1"),
        ("INSERT INTO cities (land) VALUES ('x')", "Failed to insert values into 'CITIES'. Value for primary key column(s) CITY is required"),
        ("INSERT INTO hourly (id, n) VALUES (1, 2)", "Cannot insert values into windowed stream/table!"),
        ("INSERT INTO copies SELECT id, COUNT(*) AS city FROM rides GROUP BY id",
         "Incompatible data sink and query result. Data sink (COPIES) type is KSTREAM but select query result is KTABLE."),
        ("INSERT INTO copies SELECT id, km AS city FROM rides",
         "Incompatible schema between results and sink.\nResult schema is `ID` INTEGER KEY, `CITY` DOUBLE\nSink schema is `ID` INTEGER KEY, `CITY` STRING"),
        ("INSERT INTO cities SELECT * FROM rides", "INSERT INTO can only be used to insert into a stream. CITIES is a table."),
        ("INSERT INTO \"rides\" SELECT * FROM rides", "rides does not exist.\nDid you mean RIDES? Hint: try removing double quotes"),
        ("INSERT INTO copies SELECT id, city FROM \"Rides\"", "Rides does not exist.\nDid you mean RIDES? Hint: try removing double quotes"),
    ],
)  # fmt: skip
def test_invalid_inserts_are_refused(statement: str, expected_message: str) -> None:
    assert expected_message in refused(statement).message


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        ("TABLE totals AS SELECT id, COUNT(*) AS n FROM ends GROUP BY id",
         "Query is not upgradeable. Plan step of type StreamSource must have matching topicName. Values differ: rides vs. ends"),
        ("TABLE totals AS SELECT id, COUNT(*) AS n, SUM(km) AS far FROM rides GROUP BY id",
         ("Query is not upgradeable. Plan step of type StreamAggregate must have matching aggregationFunctions. "
          "Values differ: [COUNT(*)] vs. [COUNT(*), SUM(KM)]")),
        ("TABLE totals AS SELECT id, COUNT(km) AS n FROM rides GROUP BY id", "Values differ: [COUNT(*)] vs. [COUNT(KM)]"),
        ("TABLE texts AS SELECT city, COUNT(*) AS n, MAX(km + 1.5E0) AS far FROM rides GROUP BY city", "Values differ: [COUNT(*)] vs. [COUNT(*), MAX((KM + 1.5E0))]"),
        ("STREAM copies AS SELECT id, city FROM tips", "must have matching topicName. Values differ: rides vs. tips"),
        ("STREAM copies AS SELECT id FROM rides", "The projection contains no value columns."),
        ("STREAM copies AS SELECT id, km AS city FROM rides",
         ("Cannot upgrade data source: DataSource 'COPIES' has schema = `ID` INTEGER KEY, `CITY` STRING which is not upgradeable to "
         "`ID` INTEGER KEY, `CITY` DOUBLE. (The following columns are changed, missing or reordered: [`CITY` STRING])")),
        ("STREAM copies AS SELECT city, id FROM rides PARTITION BY city",
         "(Key columns must be identical. The following key columns are changed, missing or reordered: [`ID` INTEGER KEY])"),
        ("STREAM copies WITH (kafka_topic='other') AS SELECT id, city FROM rides",
         ("DataSource 'COPIES' has topic = KsqlTopic{kafkaTopicName='COPIES', keyFormat=KeyFormat{format=FormatInfo{format=KAFKA, "
         "properties={}}, features=[], window=Optional.empty}, valueFormat=ValueFormat{format=FormatInfo{format=JSON, properties={}}, "
         "features=[]}} which is not upgradeable to KsqlTopic{kafkaTopicName='other'")),
    ],
)  # fmt: skip
def test_invalid_replacements_are_refused(statement: str, expected_message: str) -> None:
    assert expected_message in refused(f"CREATE OR REPLACE {statement}").message


def test_another_topic_is_also_reported_by_the_property_that_differs() -> None:
    expected_message = refused(
        "CREATE OR REPLACE STREAM copies WITH (value_format='DELIMITED') AS SELECT id, city FROM rides"
    )

    assert expected_message.hint == "VALUE_FORMAT must stay JSON, and not become DELIMITED."


NO_SCAN = {"ksql.query.pull.table.scan.enabled": "false"}


@pytest.mark.parametrize(
    ("where", "expected_message"),
    [
        ("totals WHERE id IN (1, '2')", "Error in WHERE expression: Cannot compare ID (INTEGER) to '2' (STRING) with EQUAL."),
        ("totals WHERE id IN ('many')", "Error in WHERE expression: Cannot compare ID (INTEGER) to 'many' (STRING) with EQUAL."),
        ("totals WHERE id IN (NULL, 1)", "Error in WHERE expression: Comparison with NULL not supported: INTEGER = NULL"),
        ("texts WHERE city IN ('a', 7)", "Error in WHERE expression: Cannot compare CITY (STRING) to 7 (INTEGER) with EQUAL."),
        ("totals WHERE id = 1 OR n IN (NULL)", "Comparison with NULL not supported: BIGINT = NULL"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("given", [{}, NO_SCAN])
def test_invalid_lookup_conditions_are_refused(
    where: str, expected_message: str, given: dict[str, str]
) -> None:
    assert expected_message in refused(f"SELECT * FROM {where}", given).message


@pytest.mark.parametrize(
    "where",
    [
        "totals WHERE id > 5",
        "totals WHERE 5 >= id",
        "texts WHERE city < 'm' OR city = 'x'",
        "pairs WHERE city < 'm' AND id = 1",
    ],
)
def test_ranges_of_keys_need_a_scan(where: str) -> None:
    given = NO_SCAN | {"ksql.query.pull.range.scan.enabled": "false"}

    assert (
        refused(f"SELECT * FROM {where}", given).message
        == "Query requires table scan to be enabled"
    )


def test_ranges_of_texts_need_no_scan_and_ranges_of_numbers_do() -> None:
    accepted("SELECT * FROM texts WHERE city < 'm'", NO_SCAN)

    expected_message = refused("SELECT * FROM totals WHERE id < 5", NO_SCAN)

    assert expected_message.message == "Query requires table scan to be enabled"
    assert "SET 'ksql.query.pull.table.scan.enabled' = 'true';" in expected_message.hint


def test_each_column_of_a_key_is_looked_up() -> None:
    expected_message = refused("SELECT * FROM pairs WHERE city = 'a'", NO_SCAN).message

    assert (
        "Specified: [`CITY`] Expected: [`CITY` STRING KEY, `ID` INTEGER KEY]." in expected_message
    )


@pytest.mark.parametrize(
    ("given", "expected_message"),
    [
        ("v BIGINT, partitions=-5", "Invalid value -5 for configuration PARTITIONS: must be 1 or more"),
        ("v BIGINT, replicas=-1", "Invalid value -1 for configuration REPLICAS: must be 1 or more"),
        ("v BIGINT, timestamp='v', timestamp_format='yyyy'",
         "'TIMESTAMP_FORMAT' set in the WITH clause can only be used when the timestamp column is of type STRING."),
        ("v TIMESTAMP, timestamp='v', timestamp_format='yyyy'",
         "'TIMESTAMP_FORMAT' set in the WITH clause can only be used when the timestamp column is of type STRING."),
        ("v STRING, timestamp='v', timestamp_format='yyyy-MM-dd{'", "TIMESTAMP_FORMAT is not a valid date pattern: 'yyyy-MM-dd{'"),
        ("v STRING, timestamp='v', timestamp_format='noon'", "TIMESTAMP_FORMAT is not a valid date pattern: 'noon'"),
        ("v STRING, timestamp='v', timestamp_format='yyyy]'", "TIMESTAMP_FORMAT is not a valid date pattern: 'yyyy]'"),
    ],
)  # fmt: skip
def test_invalid_property_values_are_refused(given: str, expected_message: str) -> None:
    column, _, properties = given.partition(", ")
    statement = (
        f"CREATE STREAM s ({column}) WITH (kafka_topic='s', value_format='JSON', {properties})"
    )

    assert expected_message in refused(statement).message


def test_dropping_an_unknown_source_is_refused() -> None:
    stream, table = refused("DROP STREAM nowhere"), refused("DROP TABLE nowhere")

    assert stream.message == table.message == "Source NOWHERE does not exist."
    assert stream.hint.startswith("Run SHOW STREAMS; to list them")
    assert table.hint.endswith("or use DROP TABLE IF EXISTS.")


def test_a_registry_format_without_a_registry_suggests_the_setting() -> None:
    expected_message = refused(
        "CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='AVRO')"
    )

    assert expected_message.message == "the AVRO format needs a schema registry, and none is set"
    assert expected_message.hint == (
        "Name it with SET 'ksql.schema.registry.url' = 'http://HOST:PORT';, or use a format without "
        "a registry: JSON, DELIMITED or KAFKA."
    )


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("CREATE STREAM s AS SELECT id, citty FROM rides", "Did you mean CITY?"),
        ("CREATE STREAM s AS SELECT * FROM rides WHERE kms > 1", "Did you mean KM?"),
        ("CREATE STREAM s AS SELECT r.id, e.citi FROM rides r JOIN ends e WITHIN 1 HOUR ON r.id = e.id", "Did you mean CITY?"),
        ("CREATE STREAM s AS SELECT r.id, e.kms FROM rides r JOIN ends e WITHIN 1 HOUR ON r.id = e.id", ""),
        ("CREATE STREAM s AS SELECT id, something FROM rides", ""),
        ("DROP STREAM ride", "Did you mean RIDES?"),
        ("DROP TABLE ride", "Run SHOW TABLES; to list them, or use DROP TABLE IF EXISTS."),
    ],
)  # fmt: skip
def test_a_similar_name_is_suggested(statement: str, hint: str) -> None:
    assert refused(statement).hint == hint
