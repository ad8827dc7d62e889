"""Records on their path: the terms in which a checkpoint describes its columns."""

from duolog.engine.lowering.stores.traced_records import TracedRecord, united

RECORD = TracedRecord(("flights.id",), ("flights.delay", "flights.carrier"))


def test_columns_are_replaced_by_their_terms_but_not_inside_literals_and_names() -> None:
    expressions = ["v0 + k0", "concat(v1, 'v0')", "`v0`", "r0 = x0", "vv0"]

    terms = RECORD.terms(expressions, table=["airlines.name"], arrays=["items"])

    assert terms == (
        "flights.delay + flights.id",
        "concat(flights.carrier, 'v0')",
        "`v0`",
        "airlines.name = items",
        "vv0",
    )


def test_records_of_two_paths_become_one_with_the_filters_of_either() -> None:
    late, early = RECORD.filtered("late"), RECORD.filtered("early").filtered("big")

    assert united(late, early).filters == ("late, or early and big",)
    assert united(late, late) == late
