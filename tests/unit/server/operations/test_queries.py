"""Queries with figures over a connection, and what a user without rights sees."""

import asyncio
import json
from dataclasses import replace
from typing import Any

from duolog.core.clock import SystemClock
from duolog.runtime.sql.figures.query_figures import Flow, Lag, QueryFigures
from duolog.runtime.sql.figures.series import Point
from unit.server.memory import MemoryServer, Reply, context
from unit.server.operations.catalog_service import Names, Service
from unit.server.users import ANN, BOB, Rules, access_with_users

LARGE, PAID = "CSAS_LARGE_0", "CSAS_PAID_1"


def figures_of(query_id: str) -> QueryFigures:
    now_ms = SystemClock().now_ms()
    return QueryFigures(
        query_id,
        now_ms - 3_000,
        state="STARTING",
        server="db:8088",
        started_at_ms=now_ms - 60_000,
        restarts=1,
        records_in=Flow(10, 1.5),
        lag=Lag(7, "rising", 2_000, "steady"),
        last_result_at_ms=now_ms - 30_000,
    )


def service() -> Service:
    found = Service()
    found.figures.found = {LARGE: figures_of(LARGE)}
    return found


def ask(
    path: str, authorization: str | None = None, rules: Rules | None = None, of: Any = None
) -> Reply:
    async def run() -> Reply:
        access = None if rules is None else access_with_users(rules)
        server = MemoryServer(context(access, sql=of or service()))
        headers = {} if authorization is None else {"Authorization": authorization}
        return await server.client().ask("GET", path, b"", **headers)

    return asyncio.run(run())


def found(reply: Reply) -> dict[str, Any]:
    assert reply.status == 200, reply
    assert reply.headers["content-type"] == "application/json"
    value: dict[str, Any] = json.loads(reply.body)
    return value


def test_a_query_has_its_statement_and_its_figures() -> None:
    one = found(ask(f"/v1/queries/{LARGE}"))

    assert one["version"] == 1
    assert (one["id"], one["sources"], one["sink"], one["topic"]) == (
        *(LARGE, ["ORDERS"], "LARGE", "LARGE"),
    )
    assert one["statement"].startswith("CREATE STREAM large AS")
    assert one["in"] == {"records": 10, "recordsPerSecond": 1.5, "topics": {}}
    assert one["lag"] == {
        "records": 7,
        "recordsTrend": "rising",
        "ms": 2_000,
        "msTrend": "steady",
        "partitions": [],
    }
    assert (one["server"], one["jvmGroup"], one["restarts"]) == ("db:8088", "default", 1)
    # Ages are those of the answer.
    assert one["ageMs"] >= 3_000
    assert one["uptimeMs"] >= 60_000
    assert one["lastResultAgeMs"] >= 30_000


def test_the_state_is_that_of_now() -> None:
    of = service()
    of.note(LARGE, state="ERROR", error="no disk")

    one = found(ask(f"/v1/queries/{LARGE}", of=of))

    assert (one["state"], one["error"]) == ("ERROR", "no disk")


def test_a_query_without_figures_has_the_same_members() -> None:
    measured, unknown = (found(ask(f"/v1/queries/{name}")) for name in (LARGE, PAID))

    assert measured.keys() == unknown.keys()
    assert (unknown["atMs"], unknown["ageMs"], unknown["uptimeMs"]) == (None, None, None)
    assert (unknown["lag"]["records"], unknown["in"]["recordsPerSecond"]) == (None, None)


def test_all_queries_are_sorted() -> None:
    of = service()
    of.figures.found[PAID] = replace(figures_of(PAID), restarts=9)

    whole = found(ask("/v1/queries", of=of))

    assert whole["version"] == 1
    assert [(one["id"], one["restarts"]) for one in whole["queries"]] == [(LARGE, 1), (PAID, 9)]


def test_names_match_in_any_case_and_a_missing_query_is_not_found() -> None:
    assert found(ask("/v1/queries/csas_large_0"))["id"] == LARGE
    assert ask("/v1/queries/CSAS_OTHER_7").status == 404


def test_a_user_sees_queries_whose_streams_it_may_describe() -> None:
    rules = Names("ORDERS", "LARGE", "PAID")

    seen = found(ask("/v1/queries", BOB, rules))
    hidden, missing = (ask(f"/v1/queries/{name}", BOB, rules) for name in (PAID, "CSAS_NO_1"))

    assert [one["id"] for one in seen["queries"]] == [LARGE]
    assert (hidden.status, missing.status) == (404, 404)
    assert hidden.body.replace(PAID.encode(), b"CSAS_NO_1") == missing.body
    assert found(ask(f"/v1/queries/{LARGE}", BOB, rules))["id"] == LARGE
    assert [one["id"] for one in found(ask("/v1/queries", ANN, rules))["queries"]] == [LARGE, PAID]
    assert found(ask("/v1/queries", BOB, Names()))["queries"] == []


def test_an_answer_says_whether_the_client_may_change_a_query() -> None:
    rules = Names("ORDERS", "LARGE", "PAID", "SALARIES")

    for path in ("/v1/queries", f"/v1/queries/{LARGE}"):
        mine, theirs = found(ask(path, ANN, rules)), found(ask(path, BOB, rules))
        assert mine.get("queries", [mine])[0]["mayChange"] is True
        assert theirs.get("queries", [theirs])[0]["mayChange"] is False
    assert found(ask("/v1/queries"))["queries"][0]["mayChange"] is True


def with_history() -> Service:
    of = service()
    of.figures.points = {
        LARGE: [
            Point(1_000, 2.5, None, 7, 900, 5, 64),
            Point(2_000, None, None, None, None, 6, None),
        ]
    }
    return of


def test_a_history_has_the_columns_that_are_asked_for() -> None:
    both = found(ask("/v1/queries?history=lagMs,in", of=with_history()))["queries"]

    assert [one["history"] for one in both] == [
        {"stepMs": 10_000, "atMs": [1_000, 2_000], "lagMs": [900, None], "in": [2.5, None]},
        {"stepMs": 10_000, "atMs": [], "lagMs": [], "in": []},
    ]
    assert "history" not in found(ask("/v1/queries", of=with_history()))["queries"][0]


def test_a_history_can_have_all_columns() -> None:
    one = found(ask(f"/v1/queries/{LARGE}?history=all", of=with_history()))

    assert one["history"] == {
        "stepMs": 10_000,
        "atMs": [1_000, 2_000],
        "in": [2.5, None],
        "out": [None, None],
        "lagRecords": [7, None],
        "lagMs": [900, None],
        "errors": [5, 6],
        "stateBytes": [64, None],
    }


def test_a_column_that_does_not_exist_is_refused() -> None:
    for path in ("/v1/queries", f"/v1/queries/{LARGE}"):
        reply = ask(f"{path}?history=lagMs,nope")

        assert reply.status == 400
        assert b"no column 'nope'" in reply.body


def test_a_query_has_the_steps_of_its_plan_and_its_settings() -> None:
    one = found(ask(f"/v1/queries/{LARGE}"))

    names = [step["name"] for step in one["plan"]]
    assert one["plan"][0]["reads"] == []
    assert one["plan"][0]["does"]
    for number, step in enumerate(one["plan"][1:], start=1):
        assert set(step["reads"]) <= set(names[:number])
        assert step["reads"]
    assert one["settings"]["duolog.query.jvm.group"] == "default"
    assert "plan" not in found(ask("/v1/queries"))["queries"][0]


def test_the_stores_of_a_step_are_in_its_plan() -> None:
    of = service()
    of.run("CREATE TABLE counts AS SELECT n, COUNT(*) AS c FROM orders GROUP BY n;")

    steps = found(ask("/v1/queries/CTAS_COUNTS_2", of=of))["plan"]

    assert [one["name"] for one in steps if one["stores"]] == [
        one["name"] for one in steps if "Aggregate" in one["kind"]
    ]
    assert any(one["stores"] for one in steps)
