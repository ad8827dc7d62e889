"""Groups over a connection, and what users without rights see."""

import asyncio
import json
from collections.abc import Collection
from typing import Any

import pytest

from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode
from duolog.runtime.consumer_groups.groups import CONSUMER, SHARE, Listed
from duolog.runtime.consumer_groups.lags import measure
from duolog.runtime.consumer_groups.watch import GroupWatch
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import Identity
from duolog.testing.clock import FakeClock
from unit.runtime.consumer_groups.cluster import FakeGroups, FakePositions, listed, member
from unit.server.memory import MemoryServer, Reply, context
from unit.server.users import ANN, BOB, Rules, access_with_users

A, B, C = ("orders", 0), ("orders", 1), ("salaries", 0)


class Monitor:
    """The groups of a cluster in memory."""

    servers = "127.0.0.1:9092"

    def __init__(self) -> None:
        groups = [
            listed("billing", "Stable"),
            listed("audit"),
            listed("backup/nightly"),
            listed("pay", "Stable", CONSUMER),
            listed("shared", "Empty", SHARE),
        ]
        self.groups = FakeGroups(
            groups,
            {
                "billing": {A: 40, B: 67},
                "audit": {A: 10, C: 3},
                "pay": {C: 9},
            },
        )
        self.groups.members = {"billing": (member("app", A, B),), "pay": (member("p", C),)}
        self.positions = FakePositions({A: 50, B: 70, C: 9})
        self.watch = GroupWatch(self._measure, FakeClock())
        self.watch.close()  # No thread samples.

    def _measure(self, groups: Collection[Listed], now_ms: int) -> Any:
        return measure(groups, self.groups, self.positions, now_ms)


class Some(Rules):
    """Ann may do everything, bob what is given."""

    def __init__(self, *given: tuple[Operation, ResourceType, str]) -> None:
        super().__init__()
        self._given = given

    def allows(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        return client.principal.name == "ann" or (operation, resource, name) in self._given


GROUP, TOPIC = ResourceType.GROUP, ResourceType.TOPIC
SEE, READ, DELETE = Operation.DESCRIBE, Operation.READ, Operation.DELETE


@pytest.fixture
def monitor() -> Monitor:
    return Monitor()


def ask(
    monitor: Monitor,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    *,
    user: str | None = None,
    rules: Rules | None = None,
) -> Reply:
    async def run() -> Reply:
        access = None if rules is None else access_with_users(rules)
        server = MemoryServer(context(access, groups=monitor))
        headers = {"Origin": "http://127.0.0.1:8088"}
        if user is not None:
            headers["Authorization"] = user
        data = b"" if body is None else json.dumps(body).encode()
        return await server.client().ask(method, path, data, **headers)

    return asyncio.run(run())


def found(reply: Reply) -> Any:
    assert reply.status == 200, reply
    assert reply.headers["content-type"] == "application/json"
    return json.loads(reply.body)


def names(answer: Any) -> list[str]:
    return [one["group"] for one in answer["groups"]]


def test_groups_of_all_protocols_are_listed_with_members_and_lag(monitor: Monitor) -> None:
    answer = found(ask(monitor, "GET", "/v1/groups"))

    assert names(answer) == ["audit", "backup/nightly", "billing", "pay", "shared"]
    assert (answer["total"], answer["matching"], answer["next"]) == (5, 5, None)
    assert answer["states"] == {"Empty": 3, "Stable": 2}
    billing = answer["groups"][2]
    assert (billing["state"], billing["protocol"], billing["members"]) == ("Stable", "classic", 1)
    assert billing["topics"] == ["orders"]
    assert billing["lag"]["records"] == "13"
    assert billing["lag"]["complete"] is True
    assert [value for _, value in billing["lag"]["history"]["records"]] == ["13"]
    assert answer["groups"][4]["lag"] is None


def test_groups_are_searched_filtered_and_paged(monitor: Monitor) -> None:
    def listed_by(query: str) -> list[str]:
        return names(found(ask(monitor, "GET", f"/v1/groups?{query}")))

    assert listed_by("search=BILL") == ["billing"]
    assert listed_by("state=stable") == ["billing", "pay"]
    assert listed_by("protocol=share,consumer") == ["pay", "shared"]
    first = found(ask(monitor, "GET", "/v1/groups?max=2"))
    assert (names(first), first["next"], first["matching"]) == (
        *(["audit", "backup/nightly"], "backup/nightly", 5),
    )
    assert listed_by("max=3&after=backup%2Fnightly") == ["billing", "pay", "shared"]


def test_names_are_listed_without_a_measurement(monitor: Monitor) -> None:
    answer = found(ask(monitor, "GET", "/v1/groups?lag=false"))

    assert names(answer) == ["audit", "backup/nightly", "billing", "pay", "shared"]
    assert {one["lag"] for one in answer["groups"]} == {None}
    assert monitor.watch.history("billing").records == []


def test_a_coordinator_that_does_not_answer_is_named(monitor: Monitor) -> None:
    monitor.groups.problems.append("no broker answers at b2:9092")

    assert found(ask(monitor, "GET", "/v1/groups"))["problems"] == ["no broker answers at b2:9092"]


@pytest.mark.parametrize("fails", ["described", "committed"])
def test_groups_of_other_coordinators_are_shown_if_one_ends_after_its_list(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    pay = monitor.groups.groups["pay"]
    monitor.groups.groups["pay"] = pay._replace(coordinator="b2:9092")
    answer = getattr(monitor.groups, fails)

    def asked(groups: Collection[Listed]) -> Any:
        if any(one.coordinator == "b2:9092" for one in groups):
            raise KafkaError("no answer from b2:9092", code=ErrorCode.REQUEST_TIMED_OUT)
        return answer(groups)

    monkeypatch.setattr(monitor.groups, fails, asked)

    page = found(ask(monitor, "GET", "/v1/groups"))

    assert page["problems"] == ["no answer from b2:9092"]
    assert names(page) == ["audit", "backup/nightly", "billing", "pay", "shared"]
    lags = {one["group"]: one["lag"] for one in page["groups"]}
    assert lags["billing"]["records"] == "13"
    assert lags["pay"] is None
    readers = found(ask(monitor, "GET", "/v1/topics/orders/readers"))
    assert readers["problems"] == ["no answer from b2:9092"]
    assert {"audit", "billing"} <= set(names(readers))


def test_a_group_has_its_members_and_partitions(monitor: Monitor) -> None:
    answer = found(ask(monitor, "GET", "/v1/groups/billing"))

    assert [(one["clientId"], one["host"], one["assigned"]) for one in answer["memberList"]] == [
        ("app", "10.0.0.7", [["orders", 0], ["orders", 1]])
    ]
    first = answer["partitions"][0]
    assert (first["committed"], first["end"], first["lag"], first["member"]) == (
        *("40", "50", "10", "app"),
    )
    assert first["history"][0][1] == "10"
    assert (answer["hidden"], answer["partitionsTotal"]) == (0, 2)
    assert answer["may"] == {"reset": True, "delete": True}
    assert answer["resetRefusal"].startswith('Group "billing" has 1 member: app on 10.0.0.7')


def test_partitions_are_paged(monitor: Monitor) -> None:
    answer = found(ask(monitor, "GET", "/v1/groups/billing?skip=1&max=1"))

    assert [one["partition"] for one in answer["partitions"]] == [1]
    assert answer["partitionsTotal"] == 2


def test_the_name_of_a_group_may_have_slashes(monitor: Monitor) -> None:
    assert found(ask(monitor, "GET", "/v1/groups/backup/nightly"))["group"] == "backup/nightly"
    assert found(ask(monitor, "GET", "/v1/groups/backup%2Fnightly"))["group"] == "backup/nightly"
    ask(monitor, "DELETE", "/v1/groups/backup%2Fnightly")

    assert monitor.groups.changes == [("delete", "backup/nightly")]


def test_a_missing_group_is_not_found(monitor: Monitor) -> None:
    reply = ask(monitor, "GET", "/v1/groups/nope")

    assert reply.status == 404
    assert 'Group \\"nope\\" does not exist' in reply.body.decode()


def test_a_preview_shows_offsets_and_the_command_and_changes_nothing(monitor: Monitor) -> None:
    body = {"preview": True, "to": "shift", "by": -5, "topics": [{"topic": "orders"}]}

    answer = found(ask(monitor, "POST", "/v1/groups/audit/reset", body))

    assert answer["partitions"] == [
        {
            "topic": "orders",
            "partition": 0,
            "old": "10",
            "new": "5",
            "end": "50",
            "records": "45",
            "limited": False,
        }
    ]
    assert answer["unchanged"] == [["orders", 1]]
    assert answer["command"] == (
        "duolog groups reset audit -b 127.0.0.1:9092 --topic orders --shift-by -5"
    )
    assert (answer["refusal"], monitor.groups.changes) == (None, [])


def test_a_reset_commits_all_topics_without_a_scope(monitor: Monitor) -> None:
    answer = found(ask(monitor, "POST", "/v1/groups/audit/reset", {"to": "latest"}))

    assert answer["preview"] is False
    assert monitor.groups.changes == [("audit", {A: 50, C: 9})]


def test_a_reset_with_members_is_refused_and_its_preview_says_so(monitor: Monitor) -> None:
    reply = ask(monitor, "POST", "/v1/groups/billing/reset", {"to": "earliest"})
    answer = found(
        ask(monitor, "POST", "/v1/groups/billing/reset", {"to": "earliest", "preview": True})
    )

    assert reply.status == 409
    assert "Stop them first" in reply.body.decode()
    assert "has 1 member" in answer["refusal"]
    assert [one["new"] for one in answer["partitions"]] == ["0", "0"]
    assert monitor.groups.changes == []


def test_offsets_of_share_groups_are_not_reset(monitor: Monitor) -> None:
    body = {"to": "latest", "topics": [{"topic": "orders"}]}

    assert ask(monitor, "POST", "/v1/groups/shared/reset", body).status == 409
    assert monitor.groups.changes == []


@pytest.mark.parametrize(
    "topics", [[{"topic": "nope"}], [{"topic": "orders", "partitions": [0, 9]}]]
)
def test_a_reset_of_what_does_not_exist_is_refused(monitor: Monitor, topics: list[Any]) -> None:
    reply = ask(monitor, "POST", "/v1/groups/audit/reset", {"to": "latest", "topics": topics})

    assert reply.status == 404
    assert monitor.groups.changes == []


def test_offsets_of_topics_are_deleted(monitor: Monitor) -> None:
    path, body = "/v1/groups/audit/offsets", {"topics": [{"topic": "orders"}]}

    assert found(ask(monitor, "DELETE", path, body))["deleted"] == [["orders", 0]]
    assert monitor.groups.changes == [("delete offsets", "audit", [A])]
    assert ask(monitor, "DELETE", path, {"topics": [{"topic": "x"}]}).status == 404


def test_a_broker_that_refuses_is_quoted(monitor: Monitor) -> None:
    def refuse(group: Listed) -> None:
        del group
        raise KafkaError("could not delete it", code=ErrorCode.NON_EMPTY_GROUP, detail="NON_EMPTY")

    monitor.groups.delete = refuse  # type: ignore[method-assign]
    reply = ask(monitor, "DELETE", "/v1/groups/audit")

    assert reply.status == 409
    assert "could not delete it\\nNON_EMPTY\\nStop its members first." in reply.body.decode()


def test_a_user_sees_the_groups_and_topics_that_it_may_describe(monitor: Monitor) -> None:
    rules = Some((SEE, GROUP, "audit"), (SEE, GROUP, "pay"), (SEE, TOPIC, "orders"))

    answer = found(ask(monitor, "GET", "/v1/groups", user=BOB, rules=rules))
    one = found(ask(monitor, "GET", "/v1/groups/audit", user=BOB, rules=rules))

    assert (names(answer), answer["total"]) == (["audit", "pay"], 2)
    audit, pay = answer["groups"]
    assert (audit["topics"], audit["lag"]["records"]) == (["orders"], "40")
    # The samples are those of all topics.
    assert audit["lag"]["history"] is None
    assert (pay["topics"], pay["lag"]) == ([], None)
    assert [part["topic"] for part in one["partitions"]] == ["orders"]
    assert (one["lag"]["records"], one["lag"]["history"]) == ("40", None)
    assert (one["hidden"], one["may"]) == (1, {"reset": False, "delete": False})
    assert ask(monitor, "GET", "/v1/groups/billing", user=BOB, rules=rules).status == 404


def test_who_may_describe_the_cluster_sees_names_and_states_only(monitor: Monitor) -> None:
    rules = Some((SEE, ResourceType.CLUSTER, "kafka-cluster"), (SEE, TOPIC, "orders"))

    answer = found(ask(monitor, "GET", "/v1/groups", user=BOB, rules=rules))

    assert answer["total"] == 5
    assert [(one["members"], one["lag"]) for one in answer["groups"]] == [(None, None)] * 5


@pytest.mark.parametrize(
    "given",
    [
        (),
        ((SEE, GROUP, "audit"), (SEE, TOPIC, "orders")),
        ((READ, GROUP, "audit"), (SEE, GROUP, "audit")),
        ((READ, TOPIC, "orders"), (SEE, GROUP, "audit")),
    ],
)
def test_a_reset_needs_the_rights_of_a_commit(monitor: Monitor, given: tuple[Any, ...]) -> None:
    body = {"to": "latest", "topics": [{"topic": "orders"}]}

    reply = ask(monitor, "POST", "/v1/groups/audit/reset", body, user=BOB, rules=Some(*given))

    assert reply.status == 403
    assert monitor.groups.changes == []


def test_a_reset_of_all_topics_leaves_out_those_that_a_user_may_not_read(monitor: Monitor) -> None:
    rules = Some((READ, GROUP, "audit"), (SEE, GROUP, "audit"), (READ, TOPIC, "orders"))

    found(ask(monitor, "POST", "/v1/groups/audit/reset", {"to": "latest"}, user=BOB, rules=rules))

    assert monitor.groups.changes == [("audit", {A: 50})]


@pytest.mark.parametrize("path", ["/v1/groups/audit", "/v1/groups/audit/offsets"])
def test_a_deletion_needs_its_right(monitor: Monitor, path: str) -> None:
    body = {"topics": [{"topic": "orders"}]} if path.endswith("offsets") else None
    rules = Some((READ, GROUP, "audit"), (SEE, GROUP, "audit"), (READ, TOPIC, "orders"))

    assert ask(monitor, "DELETE", path, body, user=BOB, rules=rules).status == 403
    assert monitor.groups.changes == []
    assert ask(monitor, "DELETE", path, body, user=ANN, rules=rules).status == 200


def test_readers_of_a_topic_have_their_lag_in_it_only(monitor: Monitor) -> None:
    # A member of `pay` has no committed offset in the topic yet.
    monitor.groups.members["pay"] = (member("p", C, B), member("q", C))
    answer = found(ask(monitor, "GET", "/v1/topics/orders/readers"))

    assert [(one["group"], one["lag"] and one["lag"]["records"]) for one in answer["groups"]] == [
        *(("audit", "40"), ("billing", "13"), ("pay", None)),
    ]
    assert [(one["members"], one["assigned"]) for one in answer["groups"]] == [
        (0, 0),
        (1, 1),
        (2, 1),
    ]
    # `audit` reads salaries, too: the samples are those of both.
    assert [(one["lag"] or {}).get("history") is None for one in answer["groups"]] == [
        *(True, False, True),
    ]
    assert (answer["topic"], answer["total"], answer["problems"]) == ("orders", 3, [])


def test_readers_need_the_rights_to_see_topic_and_groups(monitor: Monitor) -> None:
    def ask_bob(*given: tuple[Operation, ResourceType, str]) -> Reply:
        path = "/v1/topics/orders/readers"
        return ask(monitor, "GET", path, user=BOB, rules=Some(*given))

    assert ask_bob((SEE, GROUP, "audit")).status == 403
    seen = found(ask_bob((SEE, GROUP, "audit"), (SEE, TOPIC, "orders")))
    assert (names(seen), seen["total"]) == (["audit"], 1)


def test_a_preview_names_the_time_that_a_duration_means(monitor: Monitor) -> None:
    body = {"preview": True, "to": "duration", "durationMs": 1_000}
    earliest = 1_000 * (10**9)

    answer = found(ask(monitor, "POST", "/v1/groups/audit/reset", body))
    again = {"preview": True, "to": "time", "timeMs": answer["timeMs"]}

    assert answer["timeMs"] > earliest
    assert (
        found(ask(monitor, "POST", "/v1/groups/audit/reset", again))["timeMs"] == answer["timeMs"]
    )
    first = {"preview": True, "to": "earliest"}
    assert found(ask(monitor, "POST", "/v1/groups/audit/reset", first))["timeMs"] is None
