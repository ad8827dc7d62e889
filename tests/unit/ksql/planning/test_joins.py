"""Joins: result columns and keys, refusals, and plans."""

import pytest

from duolog.engine.lowering.lower import lower
from duolog.ksql.errors import SqlError
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Plan, SelectKey, StreamJoin
from duolog.plan.windows.join_window import JoinWindow
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.source import provide, withdraw
from unit.ksql.join_queries import STRICT, planned, run, stream, table


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        # The first of both sides that is selected is the key.
        ("SELECT * FROM ends e JOIN pays p WITHIN 1 HOUR ON p.id = e.id",
         "`E_ID` INTEGER KEY, `E_KM` INTEGER, `P_ID` INTEGER, `P_CENTS` INTEGER, `P_ROWKEY` INTEGER"),
        ("SELECT km, pays.id, cents FROM ends JOIN pays WITHIN 1 HOUR ON ends.id = pays.id",
         "`PAYS_ID` INTEGER KEY, `KM` INTEGER, `CENTS` INTEGER"),
        ("SELECT p.*, e.km FROM ends e RIGHT JOIN pays p WITHIN 1 HOUR ON e.id = p.id",
         "`P_ID` INTEGER KEY, `P_CENTS` INTEGER, `P_ROWKEY` INTEGER, `KM` INTEGER"),
        # A side that is not a column cannot be the key.
        ("SELECT e.id, p.id AS pay FROM ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.cents + 1",
         "`E_ID` INTEGER KEY, `PAY` INTEGER"),
        ("SELECT * FROM rides r JOIN ends e WITHIN 1 HOUR ON r.at->n = e.km",
         "`E_KM` INTEGER KEY, `R_ID` INTEGER, `R_DRIVER` INTEGER, `R_CITY` STRING, `R_AT` STRUCT<`N` INTEGER>, `R_MARKS` MAP<STRING, INTEGER>, `E_ID` INTEGER"),
        # Without a column, or if either side may be absent, the key is a generated column.
        ("SELECT * FROM ends e JOIN bare b WITHIN 1 HOUR ON e.km + 1 = b.n + 1",
         "`ROWKEY` INTEGER KEY, `E_ID` INTEGER, `E_KM` INTEGER, `B_ID` INTEGER, `B_N` INTEGER"),
        ("SELECT ROWKEY_1, km, cents FROM ends FULL JOIN pays WITHIN 1 HOUR ON ends.id = pays.id",
         "`ROWKEY_1` INTEGER KEY, `KM` INTEGER, `CENTS` INTEGER"),
        ("SELECT city, name, r.id FROM rides r LEFT JOIN drivers d ON r.driver = d.id PARTITION BY city",
         "`CITY` STRING KEY, `NAME` STRING, `R_ID` INTEGER"),
        ("SELECT * FROM ends e JOIN bare b WITHIN 1 HOUR ON e.id = b.id PARTITION BY km",
         "`E_KM` INTEGER KEY, `E_ID` INTEGER, `B_ID` INTEGER, `B_N` INTEGER"),
        # Of three the key is what all have, or what the last one is matched by.
        ("SELECT phones.id, km, name, number FROM ends JOIN drivers ON ends.id = drivers.id JOIN phones ON drivers.id = phones.id",
         "`PHONES_ID` INTEGER KEY, `KM` INTEGER, `NAME` STRING, `NUMBER` STRING"),
        ("SELECT city, km, name FROM rides r JOIN ends e WITHIN 1 HOUR ON r.id = e.id JOIN drivers d ON driver = d.id",
         None),
        ("SELECT driver, km, name FROM rides r JOIN ends e WITHIN 1 HOUR ON r.id = e.id JOIN drivers d ON driver = d.id",
         "`DRIVER` INTEGER KEY, `KM` INTEGER, `NAME` STRING"),
        ("SELECT visits.id, visits.WINDOWSTART AS since, looks.n FROM visits JOIN looks WITHIN 1 DAY ON visits.id = looks.id",
         None),
        ("SELECT a.id, a.WINDOWSTART AS since, b.n FROM visits a JOIN visits b WITHIN 1 DAY ON a.id = b.id",
         "`A_ID` INTEGER KEY, `SINCE` BIGINT, `B_N` INTEGER"),
        ("SELECT e.id, e.ROWTIME, p.ROWTIME AS t, p.ROWOFFSET FROM ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.id",
         "`E_ID` INTEGER KEY, `E_ROWTIME` BIGINT, `T` BIGINT, `P_ROWOFFSET` BIGINT"),
    ],
)  # fmt: skip
def test_a_joined_stream_has_the_key_of_a_side_that_is_selected(
    query: str, wanted: str | None
) -> None:
    if wanted is None:
        with pytest.raises(SqlError):
            stream(query)
    else:
        assert stream(query) == wanted


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT * FROM drivers d RIGHT JOIN phones p ON d.id = p.id",
         "`D_ID` INTEGER KEY, `D_NAME` STRING, `D_HOME` STRING, `P_ID` INTEGER, `P_NUMBER` STRING"),
        ("SELECT * FROM drivers d FULL OUTER JOIN phones p ON d.id = p.id",
         "`ROWKEY` INTEGER KEY, `D_ID` INTEGER, `D_NAME` STRING, `D_HOME` STRING, `P_ID` INTEGER, `P_NUMBER` STRING"),
        ("SELECT * FROM drivers LEFT JOIN cities ON home = city",
         "`DRIVERS_ID` INTEGER KEY, `DRIVERS_NAME` STRING, `DRIVERS_HOME` STRING, `CITIES_CITY` STRING, `CITIES_PEOPLE` INTEGER"),
        ("SELECT s.city, street, people, lamps FROM streets s JOIN cities c ON s.city = c.city",
         "`S_CITY` STRING KEY, `STREET` INTEGER KEY, `PEOPLE` INTEGER, `LAMPS` INTEGER"),
        ("SELECT p.id, people, number FROM drivers d JOIN cities c ON d.home = c.city JOIN phones p ON d.id = p.id",
         "`P_ID` INTEGER KEY, `PEOPLE` INTEGER, `NUMBER` STRING"),
    ],
)  # fmt: skip
def test_a_joined_table_has_the_primary_key_of_a_side_and_by_a_foreign_key_that_of_the_left_one(
    query: str, wanted: str
) -> None:
    assert table(query) == wanted


@pytest.mark.parametrize(
    ("kind", "sources", "expected_message"),
    [
        ("STREAM", "ends e JOIN `pays` p WITHIN 1 HOUR ON e.id = p.id", "pays does not exist.\nDid you mean PAYS?"),
        ("STREAM", "ends JOIN ends WITHIN 1 HOUR ON ends.id = ends.id", "Can not join 'ENDS' to 'ENDS': self joins"),
        ("STREAM", "ends JOIN drivers a ON ends.id = a.id JOIN drivers b ON ends.id = b.id",
         "N-way joins do not support multiple occurrences of the same source. Source: 'DRIVERS'"),
        ("STREAM", "ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.id AND e.km = p.cents",
         "joins on multiple conditions are not yet supported. Got ((E.ID = P.ID) AND (E.KM = P.CENTS))."),
        ("STREAM", "ends e JOIN pays p WITHIN 1 HOUR ON e.id > p.id", "only equality is supported. Got (E.ID > P.ID)."),
        ("STREAM", "ends e JOIN pays p WITHIN 1 HOUR ON e.id = 1",
         "Invalid comparison expression '1' in join '(E.ID = 1)'. Each side"),
        ("STREAM", "ends e JOIN pays p WITHIN 1 HOUR ON e.id + p.id = p.id",
         "Invalid comparison expression '(E.ID + P.ID)' in join"),
        ("STREAM", "ends e JOIN pays p WITHIN 1 HOUR ON e.id = e.km",
         "Left side references `E` and right references `E`"),
        ("STREAM", "rides r JOIN ends e WITHIN 1 HOUR ON r.id = e.id JOIN drivers d ON r.id = e.km",
         "Cannot perform circular join - both `E` and `R` are already included in the current join tree: R"),
        ("STREAM", "ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.none", "JOIN ON column 'P.NONE' cannot be resolved."),
        ("STREAM", "ends e JOIN pays p WITHIN 1 HOUR ON id = cents", "Column 'ID' is ambiguous. Could be E.ID or P.ID."),
        ("STREAM", "ends e JOIN pays p ON e.id = p.id", "must have a WITHIN clause"),
        ("STREAM", "ends e JOIN rides r WITHIN 1 HOUR ON r.city = e.id",
         "types don't match. Got R.CITY{STRING} = E.ID{INTEGER}."),
        ("STREAM", "rides a JOIN pays b WITHIN 1 HOUR ON a.marks = b.id", "types don't match"),
        ("STREAM", "ends JOIN bare WITHIN 1 HOUR ON ends.id = bare.id", "Source(s) BARE are using the 'KAFKA' value format."),
        ("STREAM", "ends e RIGHT JOIN drivers d ON e.id = d.id", "Right outer joins between streams and tables"),
        ("STREAM", "ends e JOIN drivers d WITHIN 1 HOUR ON e.id = d.id", "provided for a Stream-Table join"),
        ("STREAM", "rides r JOIN drivers d ON d.name = r.city",
         "stream-table joins require to join on the table's primary key. Got D.NAME = R.CITY."),
        ("STREAM", "rides r JOIN streets s ON r.city = s.city", "primary key. Got R.CITY = S.CITY."),
        ("STREAM", "ends JOIN phones ON ends.id = phones.id",
         "`ENDS` partitions = 2; `PHONES` partitions = 3. Please repartition"),
        ("TABLE", "drivers d LEFT JOIN ends e ON d.id = e.id", "Got DRIVERS LEFT [OUTER] JOIN ENDS."),
        ("TABLE", "drivers d JOIN phones p ON d.name = p.number", "the right input table. Got D.NAME = P.NUMBER."),
        ("TABLE", "drivers d RIGHT JOIN cities c ON d.home = c.city", "RIGHT OUTER JOIN on a foreign key"),
        ("TABLE", "cities c JOIN phones p ON c.people = p.id JOIN drivers d ON c.people = d.id",
         "not supported as part of n-way joins. Got C.PEOPLE = D.ID."),
        ("STREAM", "visits v JOIN ends e WITHIN 1 HOUR ON v.id = e.id", "`VISITS` is TUMBLING windowed\n`ENDS` is not windowed"),
        ("STREAM", "sittings s JOIN visits v WITHIN 1 HOUR ON v.id = s.id", "Left source: SESSION\nRight source: TUMBLING"),
        ("STREAM", "visits v JOIN looks l WITHIN 1 HOUR ON v.id = l.id", "Implicit repartitioning of windowed sources"),
    ],
)  # fmt: skip
def test_invalid_joins_are_refused_with_the_text_of_ksqldb(
    kind: str, sources: str, expected_message: str
) -> None:
    with pytest.raises(SqlError) as caught:
        planned(f"CREATE {kind} made AS SELECT * FROM {sources}", STRICT)  # noqa: S608

    assert expected_message in caught.value.message


@pytest.mark.parametrize(
    ("query", "expected_message"),
    [
        ("STREAM made AS SELECT km, cents FROM ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.id",
         "`MADE` must include the join expressions E.ID or P.ID in its projection (eg, SELECT E.ID...)."),
        ("STREAM made AS SELECT e.id, p.id FROM ends e FULL JOIN pays p WITHIN 1 HOUR ON e.id = p.id",
         "must include the join expression ROWKEY_1 in its projection (eg, SELECT ROWKEY_1...).\nROWKEY_1 was added as a synthetic key column"),
        ("STREAM made AS SELECT e.id, e.id AS again, km FROM ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.id",
         "a key column (`E_ID`) more than once, aliased as: AGAIN and E_ID."),
        ("TABLE made AS SELECT people FROM streets s JOIN cities c ON s.city = c.city",
         "Primary key columns missing in projection. For foreign-key table-table joins, the projection must include all primary key columns from the left input table (`S`). Missing columns: `CITY`, `STREET`."),
        ("STREAM made AS SELECT marks, km FROM rides r JOIN pays p WITHIN 1 HOUR ON r.marks = p.id", "types don't match"),
        ("STREAM made AS SELECT e.id, km FROM ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.id WHERE km > 'x'",
         "Cannot compare E_KM (INTEGER) to 'x' (STRING) with GREATER_THAN."),
        ("STREAM made AS SELECT ROWTIME AS t, e.id, km FROM ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.id",
         "Column 'ROWTIME' is ambiguous. Could be E.ROWTIME or P.ROWTIME."),
        ("STREAM made AS SELECT x.* FROM ends e JOIN pays p WITHIN 1 HOUR ON e.id = p.id",
         "'X' is not a valid stream/table name or alias."),
    ],
)  # fmt: skip
def test_a_projection_over_a_join_must_have_its_key_and_unambiguous_names(
    query: str, expected_message: str
) -> None:
    with pytest.raises(SqlError) as caught:
        planned(f"CREATE {query}", STRICT)

    assert expected_message in caught.value.message


def test_types_that_a_format_does_not_support_are_reported_with_the_statement() -> None:
    query = (
        "CREATE STREAM made WITH (key_format='DELIMITED') AS SELECT r.at, km FROM rides r "
        "LEFT JOIN ends e WITHIN (1 HOUR, 2 DAYS) GRACE PERIOD 1 DAY ON r.at = STRUCT(n := e.km)"
    )

    with pytest.raises(SqlError) as caught:
        planned(query)

    assert caught.value.message.splitlines()[-5:] == [
        "  R.AT AT,",
        "  E.KM KM",
        "FROM RIDES R",
        "LEFT OUTER JOIN ENDS E WITHIN (1 HOURS, 2 DAYS) GRACE PERIOD 1 DAYS ON ((R.AT = STRUCT(N:=E.KM)))",
        "EMIT CHANGES",
    ]


def test_errors_of_a_join_are_reported_before_a_schema_is_registered() -> None:
    registry = InProcessRegistry()
    provide("mock://test-joins", registry)
    given = {"ksql.schema.registry.url": "mock://test-joins"}
    declared = "CREATE STREAM a (id INT KEY, text STRING) WITH (kafka_topic='a', format='AVRO'); "
    query = (
        "CREATE STREAM made WITH (format='AVRO') AS SELECT e.id, text FROM ends e JOIN a "
        "WITHIN 1 HOUR ON e.id = "
    )

    with pytest.raises(SqlError, match="types don't match"):
        planned(f"{declared}{query}a.text", given)

    assert registry.rules.subjects() == ("a-key", "a-value")
    planned(f"{declared}{query}a.id", given)
    assert "MADE-value" in registry.rules.subjects()
    withdraw("mock://test-joins")


@pytest.mark.parametrize(
    ("within", "wanted", "eager"),
    [
        ("1 HOUR", JoinWindow(3_600_000, 3_600_000, 79_200_000), True),
        ("(2 HOURS, 1 SECOND)", JoinWindow(7_200_000, 1_000, 72_000_000), True),
        ("13 HOURS", JoinWindow(46_800_000, 46_800_000, 0), True),
        ("1 SECOND GRACE PERIOD 5 SECONDS", JoinWindow(1_000, 1_000, 5_000), False),
    ],
)
def test_within_is_the_join_window_and_grace_defaults_to_a_day(
    within: str, wanted: JoinWindow, *, eager: bool
) -> None:
    query = f"SELECT e.id, km FROM ends e LEFT JOIN pays p WITHIN {within} ON e.id = p.id"  # noqa: S608

    (join,) = (
        node
        for node in planned(f"CREATE STREAM made AS {query}").plan.nodes
        if isinstance(node, StreamJoin)
    )

    assert (join.sides[0].window, join.sides[0].eager) == (wanted, eager)


def test_the_window_of_a_right_join_is_reversed() -> None:
    query = "SELECT e.id, km FROM ends e RIGHT JOIN pays p WITHIN (1 SECOND, 3 SECONDS) GRACE PERIOD 0 SECONDS ON e.id = p.id"

    written = run(
        f"CREATE STREAM made AS {query}",
        ("ends", 1, {"KM": 5}, 10_000),
        ("pays", 1, {"CENTS": 1}, 12_000),
        ("ends", 1, {"KM": 6}, 14_000),
    )

    assert written == [(1, {"KM": 5}, 12_000)]


def test_a_stream_is_repartitioned_only_if_its_key_differs() -> None:
    joined = "SELECT {} FROM rides r JOIN ends e WITHIN 1 HOUR ON {} = e.id"

    by_key = planned("CREATE STREAM made AS " + joined.format("r.id, km", "r.id")).plan
    by_value = planned("CREATE STREAM made AS " + joined.format("driver, km", "r.driver")).plan

    assert not any(isinstance(node, SelectKey) for node in by_key.nodes)
    assert sum(isinstance(node, SelectKey) for node in by_value.nodes) == 1


def test_a_join_keeps_the_columns_in_use_or_all_for_a_star() -> None:
    joined = "FROM rides r JOIN ends e WITHIN 1 HOUR ON r.id = e.id WHERE km > 3"

    some = planned(f"CREATE STREAM made AS SELECT r.id, city {joined}").plan
    every = planned(f"CREATE STREAM made AS SELECT r.*, km {joined}").plan

    def kept(plan: Plan) -> tuple[str, ...]:
        return next(node.schema.names for node in plan.nodes if isinstance(node, StreamJoin))

    assert kept(some) == ("(key) R.ID", "R.ID", "R.CITY", "E.ID", "E.KM")
    assert len(kept(every)) == 1 + 5 + 2


@pytest.mark.parametrize(
    "query",
    [
        "STREAM made AS SELECT r.id, e.km, city FROM rides r JOIN ends e WITHIN 1 HOUR ON r.driver = e.km AND r.id = e.id",
        "STREAM made AS SELECT a.id, b.km FROM ends a LEFT JOIN ends b WITHIN 1 HOUR ON a.id = b.km + 1",
        "TABLE made AS SELECT d.id, lamps FROM drivers d JOIN streets s ON d.home = s.city AND d.id + 1 = s.street",
        "TABLE made AS SELECT d.id, people FROM drivers d JOIN phones p ON d.id = p.id JOIN cities c ON d.home = c.city",
        "TABLE made AS SELECT city, COUNT(*) AS n FROM rides r JOIN ends e WITHIN 1 HOUR ON r.id = e.id GROUP BY city",
    ],
)
def test_joins_can_be_lowered(query: str) -> None:
    spec = lower(find_levels(planned(f"CREATE {query}").plan, 2), "joined", cache_bytes_max=0)

    assert any(node["kind"].endswith("sink") for node in spec["nodes"].values())
