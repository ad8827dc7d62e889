"""Results of joins, record by record."""

from duolog.plan.nodes import ForeignJoin, TableJoin
from unit.ksql.join_queries import Given, planned, run


def test_columns_of_a_missing_side_are_null_including_its_key() -> None:
    query = "SELECT ROWKEY_1 AS k, e.id, p.id, km, cents FROM ends e FULL JOIN pays p WITHIN 1 SECOND ON e.id = p.id"

    written = run(
        f"CREATE STREAM made AS {query}",
        ("ends", 1, {"KM": 5}, 0),
        ("pays", 2, {"CENTS": 7}, 10),
        ("pays", 1, {"CENTS": 8}, 20),
    )

    assert written == [
        (1, {"E_ID": 1, "P_ID": None, "KM": 5, "CENTS": None}, 0),
        (2, {"E_ID": None, "P_ID": 2, "KM": None, "CENTS": 7}, 10),
        (1, {"E_ID": 1, "P_ID": 1, "KM": 5, "CENTS": 8}, 20),
    ]


def test_a_record_of_a_stream_sees_the_row_of_what_it_is_matched_by_and_both_times() -> None:
    query = (
        "SELECT driver, r.id, name, r.ROWTIME AS ridden, d.ROWTIME AS known "
        "FROM rides r LEFT JOIN drivers d ON r.driver = d.id"
    )

    written = run(
        f"CREATE STREAM made AS {query}",
        ("drivers", 7, {"NAME": "Ada"}, 100),
        ("rides", 1, {"DRIVER": 7}, 200),
        ("drivers", 7, None, 300),
        ("rides", 2, {"DRIVER": 7}, 400),
        ("rides", 3, None, 500),
    )

    assert written == [
        (7, {"R_ID": 1, "NAME": "Ada", "RIDDEN": 200, "KNOWN": 100}, 200),
        (7, {"R_ID": 2, "NAME": None, "RIDDEN": 400, "KNOWN": None}, 400),
    ]


def test_a_right_join_of_tables_has_a_row_for_each_of_the_right_one() -> None:
    query = "SELECT p.id, name, number FROM drivers d RIGHT JOIN phones p ON d.id = p.id"

    written = run(
        f"CREATE TABLE made AS {query}",
        ("drivers", 1, {"NAME": "Ada"}, 0),
        ("phones", 2, {"NUMBER": "22"}, 5),
        ("phones", 1, {"NUMBER": "11"}, 4),
        ("drivers", 1, None, 6),
    )

    assert written == [
        (2, {"NAME": None, "NUMBER": "22"}, 5),
        (1, {"NAME": "Ada", "NUMBER": "11"}, 4),
        (1, {"NAME": None, "NUMBER": "11"}, 6),
    ]


def test_a_foreign_key_join_reacts_to_changes_of_both_sides() -> None:
    query = "SELECT id, city, people FROM drivers LEFT JOIN cities ON home = city"

    written = run(
        f"CREATE TABLE made AS {query}",
        ("drivers", 1, {"HOME": "Bonn"}, 0),
        ("cities", "Bonn", {"PEOPLE": 9}, 10),
        ("cities", "Bonn", None, 20),
        ("drivers", 1, None, 30),
    )

    assert written == [
        (1, {"CITY": None, "PEOPLE": None}, 0),
        (1, {"CITY": "Bonn", "PEOPLE": 9}, 10),
        (1, {"CITY": None, "PEOPLE": None}, 20),
        (1, None, 30),
    ]


def test_a_null_of_a_missing_side_matches_nothing_in_the_next_join() -> None:
    query = (
        "SELECT e.id, p.id, km, name FROM ends e LEFT JOIN pays p WITHIN 1 HOUR GRACE PERIOD 0 SECONDS ON e.id = p.id "
        "{} JOIN drivers d ON {} = d.id"
    )
    given: tuple[Given, ...] = (
        ("drivers", 1, {"NAME": "Ada"}, 0),
        ("ends", 1, {"KM": 5}, 1),
        ("ends", 2, {"KM": 5}, 7_200_002),
    )

    by_left = run("CREATE STREAM made AS " + query.format("", "e.id"), *given)
    by_right = run("CREATE STREAM made AS " + query.format("", "p.id"), *given)

    assert by_left == [(1, {"P_ID": None, "KM": 5, "NAME": "Ada"}, 1)]
    assert by_right == []


# Beyond ksqlDB.


def test_streams_are_joined_by_several_columns() -> None:
    query = "SELECT r.id, e.km, city FROM rides r JOIN ends e WITHIN 1 HOUR ON r.driver = e.km AND r.id = e.id"

    written = run(
        f"CREATE STREAM made AS {query}",
        ("rides", 1, {"DRIVER": 7, "CITY": "Bonn"}, 0),
        ("ends", 1, {"KM": 6}, 1),
        ("ends", 1, {"KM": 7}, 2),
        ("ends", 2, {"KM": 7}, 3),
    )

    assert written == [({"KM": 7, "R_ID": 1}, {"CITY": "Bonn"}, 2)]


def test_a_table_with_several_key_columns_is_joined_by_all_of_them_in_any_order() -> None:
    query = "SELECT r.city, street, r.id, lamps FROM rides r JOIN streets s ON driver = s.street AND r.city = s.city"

    written = run(
        f"CREATE STREAM made AS {query}",
        ("streets", {"CITY": "Bonn", "STREET": 3}, {"LAMPS": 40}, 0),
        ("rides", 1, {"DRIVER": 3, "CITY": "Bonn"}, 1),
        ("rides", 2, {"DRIVER": 4, "CITY": "Bonn"}, 2),
    )

    assert written == [({"R_CITY": "Bonn", "STREET": 3}, {"ID": 1, "LAMPS": 40}, 1)]


def test_a_stream_is_joined_with_itself_under_two_names() -> None:
    query = "SELECT a.id, a.km, b.km FROM ends a JOIN ends b WITHIN (0 SECONDS, 1 SECOND) ON a.id = b.id"

    written = run(
        f"CREATE STREAM made AS {query}",
        ("ends", 1, {"KM": 5}, 0),
        ("ends", 1, {"KM": 6}, 500),
    )

    assert written == [
        (1, {"A_KM": 5, "B_KM": 5}, 0),
        (1, {"A_KM": 5, "B_KM": 6}, 500),
        (1, {"A_KM": 6, "B_KM": 6}, 500),
    ]


def test_a_table_is_joined_with_itself_by_a_foreign_key() -> None:
    query = "SELECT c.id, c.name, b.name FROM crew c LEFT JOIN crew b ON c.boss = b.id"

    written = run(
        f"CREATE TABLE made AS {query}",
        ("crew", 1, {"NAME": "Ada"}, 0),
        ("crew", 2, {"NAME": "Bob", "BOSS": 1}, 1),
        ("crew", 1, {"NAME": "Eve"}, 2),
        ("crew", 1, None, 3),
    )

    # A self-join emits a row in both roles, one after the other.
    assert sorted(written, key=lambda row: (row[2], str(row[0]))) == [
        (1, {"C_NAME": "Ada", "B_NAME": None}, 0),
        (2, {"C_NAME": "Bob", "B_NAME": "Ada"}, 1),
        (1, {"C_NAME": "Eve", "B_NAME": None}, 2),
        (2, {"C_NAME": "Bob", "B_NAME": "Eve"}, 2),
        (1, None, 3),
        (2, {"C_NAME": "Bob", "B_NAME": None}, 3),
    ]


def test_a_foreign_key_may_be_of_tables_that_are_joined_already() -> None:
    query = (
        "SELECT d.id, number, people FROM drivers d JOIN phones p ON d.id = p.id "
        "LEFT JOIN cities c ON d.home = c.city"
    )
    plan = planned(f"CREATE TABLE made AS {query}").plan

    written = run(
        f"CREATE TABLE made AS {query}",
        ("drivers", 1, {"HOME": "Bonn"}, 0),
        ("phones", 1, {"NUMBER": "11"}, 1),
        ("cities", "Bonn", {"PEOPLE": 9}, 2),
    )

    assert [type(node) for node in plan.nodes if isinstance(node, TableJoin | ForeignJoin)] == [
        TableJoin,
        ForeignJoin,
    ]
    assert written == [
        (1, {"NUMBER": "11", "PEOPLE": None}, 1),
        (1, {"NUMBER": "11", "PEOPLE": 9}, 2),
    ]
