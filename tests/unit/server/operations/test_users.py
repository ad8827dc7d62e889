"""Users over HTTP: passwords are never answered, and only those with rights on the cluster may ask."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duolog.core.errors import KafkaError
from duolog.security.authorization.operations import Operation
from duolog.security.clients.client_security import ClientSecurity
from duolog.security.credentials.scram import ScramMechanism, password_matches
from duolog.security.identity.principal import USER, Principal
from duolog.security.records.records import RoleMemberChange
from duolog.security.state.security_state import ADMINISTRATORS, SecurityState
from unit.broker.conftest import Harness
from unit.server.administered import access_by, administration, asker, cluster, rule

ACL = {"authorizer.class.name": "acl"}
EVERYTHING = access_by(rule("ann", Operation.ALTER), rule("bob", Operation.DESCRIBE))
PASSWORD = "correct-horse"  # noqa: S105 - of a test
LOGIN = ClientSecurity("SASL_PLAINTEXT", mechanism="PLAIN", username="server", password="s")  # noqa: S106


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Harness]:
    with cluster(tmp_path, **ACL) as harness:
        yield harness


def test_a_user_is_added_and_shown_without_secrets(broker: Harness) -> None:
    ask = asker(EVERYTHING, administration=administration(broker))

    added = ask("POST", "/v1/users", {"user": "eve/x y", "password": PASSWORD})
    listed = ask("GET", "/v1/users")

    assert (added.status, added.json) == (201, {"user": "eve/x y"})
    assert listed.json == {
        "users": [
            {
                "user": "eve/x y",
                "mechanisms": [
                    {"mechanism": "SCRAM-SHA-256", "iterations": 8192},
                    {"mechanism": "SCRAM-SHA-512", "iterations": 8192},
                ],
                "roles": [],
            }
        ],
        "total": 1,
        "hasRules": True,
        "mayChange": True,
    }
    stored = broker.broker.security.state.users["eve/x y"]
    assert all(password_matches(one, stored[one], PASSWORD) for one in ScramMechanism)
    assert stored[ScramMechanism.SCRAM_SHA_256].salt != stored[ScramMechanism.SCRAM_SHA_512].salt


def test_a_password_is_changed_for_both_mechanisms(broker: Harness) -> None:
    ask = asker(EVERYTHING, administration=administration(broker))
    ask("POST", "/v1/users", {"user": "eve", "password": PASSWORD})

    changed = ask("POST", "/v1/users/password", {"user": "eve", "password": "another-one"})

    assert changed.status == 200
    stored = broker.broker.security.state.users["eve"]
    assert all(password_matches(one, stored[one], "another-one") for one in ScramMechanism)
    assert not any(password_matches(one, stored[one], PASSWORD) for one in ScramMechanism)


def test_a_removed_user_has_no_credential_left(broker: Harness) -> None:
    ask = asker(EVERYTHING, administration=administration(broker))
    ask("POST", "/v1/users", {"user": "eve", "password": PASSWORD})

    assert ask("DELETE", "/v1/users?user=eve").status == 200
    assert broker.broker.security.state.users == {}
    assert ask("DELETE", "/v1/users?user=eve").status == 404


def test_the_last_administrator_is_removed_by_force_only(broker: Harness) -> None:
    ask = asker(EVERYTHING, administration=administration(broker))
    ask("POST", "/v1/users", {"user": "root", "password": PASSWORD})
    member = Principal(USER, "root")
    state = broker.broker.security.state
    state.apply(RoleMemberChange(ADMINISTRATORS, member, present=True))

    refused = ask("DELETE", "/v1/users?user=root")
    assert (refused.status, "last administrator" in refused.message) == (409, True)
    assert ask("GET", "/v1/users").json["users"][0]["roles"] == ["administrators"]
    assert ask("DELETE", "/v1/users?user=root&force=true").status == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"user": "eve"}, 400),
        ({"user": "", "password": PASSWORD}, 400),
        ({"user": "eve", "password": "short"}, 400),
        ({"user": "eve", "password": "with\nline"}, 400),
        ({"user": "e" * 256, "password": PASSWORD}, 400),
        ({"user": "eve", "password": PASSWORD, "admin": True}, 400),
        ({"user": "taken", "password": PASSWORD}, 409),
        ([], 400),
    ],
)
def test_a_user_that_cannot_be_added_is_refused(broker: Harness, body: Any, status: int) -> None:
    ask = asker(EVERYTHING, administration=administration(broker))
    ask("POST", "/v1/users", {"user": "taken", "password": PASSWORD})

    answer = ask("POST", "/v1/users", body)

    assert (answer.status, PASSWORD in answer.text) == (status, False)
    assert list(broker.broker.security.state.users) == ["taken"]


def test_users_with_other_rights_see_less_and_change_nothing(broker: Harness) -> None:
    ask = asker(EVERYTHING, administration=administration(broker))
    ask("POST", "/v1/users", {"user": "eve", "password": PASSWORD})

    listed = ask("GET", "/v1/users", user="bob")
    assert (listed.status, listed.json["mayChange"]) == (200, False)
    new = {"user": "mallory", "password": PASSWORD}
    assert ask("POST", "/v1/users", new, user="bob").status == 403
    assert ask("POST", "/v1/users/password", {**new, "user": "eve"}, user="bob").status == 403
    assert ask("DELETE", "/v1/users?user=eve", user="bob").status == 403
    assert list(broker.broker.security.state.users) == ["eve"]
    stranger = asker(access_by(), administration=administration(broker))
    assert stranger("GET", "/v1/users").status == 403


def test_lists_are_searched_and_paged(broker: Harness) -> None:
    ask = asker(EVERYTHING, administration=administration(broker))
    for name in ("anna", "hanna", "otto"):
        ask("POST", "/v1/users", {"user": name, "password": PASSWORD})

    found = ask("GET", "/v1/users?search=ANN&offset=1&limit=1").json

    assert ([one["user"] for one in found["users"]], found["total"]) == (["hanna"], 2)
    assert ask("GET", "/v1/users?limit=0").status == 400
    assert ask("GET", "/v1/users?limit=1001").status == 400


def test_a_server_without_users_does_not_pass_on_its_login(broker: Harness) -> None:
    ask = asker(None, administration=administration(broker, LOGIN))

    assert ask("GET", "/v1/users").status == 403
    assert ask("GET", "/v1/acls").status == 403
    refused = ask("POST", "/v1/users", {"user": "eve", "password": PASSWORD})
    assert (refused.status, "--cluster-users" in refused.message) == (403, True)
    changes = {"of": "broker", "name": "", "changes": {"log.retention.ms": "1000"}}
    assert ask("POST", "/v1/settings", changes).status == 403
    assert broker.broker.security.state.users == {}


def test_a_server_without_users_and_login_administers_an_open_broker(tmp_path: Path) -> None:
    with cluster(tmp_path) as broker:
        cluster_of_broker = administration(broker)
        cluster_of_broker._state = unreadable  # noqa: SLF001 - in place of the topic
        ask = asker(None, administration=cluster_of_broker)

        assert ask("POST", "/v1/users", {"user": "eve", "password": PASSWORD}).status == 201
        listed = ask("GET", "/v1/users").json
        assert ([one["user"] for one in listed["users"]], listed["hasRules"]) == (["eve"], False)
        assert listed["users"][0]["roles"] is None
        assert ask("GET", "/v1/acls").json["enabled"] is False
        assert ask("DELETE", "/v1/users?user=eve").status == 200


def unreadable() -> SecurityState:
    """As a broker without an authorizer, whose topic of users no client may read."""
    raise KafkaError("no answer about the topic", code=-185)
