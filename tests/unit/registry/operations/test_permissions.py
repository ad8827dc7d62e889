"""Users see and change their subjects only, and learn nothing about the others."""

from typing import Any

import pytest

from duolog.registry.access.users import ANONYMOUS, Patterns, User
from duolog.registry.errors import RequestError
from duolog.registry.http.gate import Call
from duolog.registry.http.messages import HttpRequest
from duolog.registry.http.parameters import Parameters
from duolog.registry.http.paths import segments, without_context
from duolog.registry.http.routes import Kind, find
from duolog.registry.operations.asked import Asked
from duolog.registry.operations.table import READS, WRITES
from duolog.registry.rules.answers import to_json
from unit.registry.harness import Harness, string_record

TEAM = User("team", Patterns(["team-*", ":.team:*", "shared"]), Patterns(["team-*", ":.team:*"]))
ADMIN = User("admin", Patterns(["*"]), Patterns(["*"]))


def ask(harness: Harness, user: User, method: str, target: str, body: Any = None) -> Any:
    """Return the JSON of an answer; a write is committed."""
    path, _, query = target.encode().partition(b"?")
    moved, parameters = without_context(segments(path), method, Parameters.read(query))
    endpoint, values = find(method, moved)
    request = HttpRequest(method, path, query)
    asked = Asked(
        Call(
            endpoint,
            values,
            parameters,
            body,
            user,
            media_type="application/json",
            forwarded=False,
            request=request,
        ),
        harness.registry,
    )
    if endpoint.kind is Kind.READ:
        return to_json(READS[endpoint.operation](asked))
    return to_json(harness.commit(WRITES[endpoint.operation](asked)))


@pytest.fixture
def harness() -> Harness:
    made = Harness()
    for number, subject in enumerate(("team-a", "team-b", "shared", "secret", ":.team:c"), 1):
        body = {"schema": string_record(f"R{number}", "f")}
        ask(made, ADMIN, "POST", f"/subjects/{subject}/versions", body)
    return made


def code_of(harness: Harness, user: User, method: str, target: str, body: Any = None) -> int:
    with pytest.raises(RequestError) as refused:
        ask(harness, user, method, target, body)
    return refused.value.code


def test_lists_have_only_readable_subjects_and_pages_count_them(harness: Harness) -> None:
    everything = ask(harness, ADMIN, "GET", "/subjects")

    assert ask(harness, TEAM, "GET", "/subjects") == [
        name for name in everything if name != "secret"
    ]
    assert ask(harness, TEAM, "GET", "/subjects?subjectPrefix=s&offset=0&limit=1") == ["shared"]
    assert ask(harness, TEAM, "GET", "/subjects?subjectPrefix=s&offset=1&limit=1") == []
    assert [row["subject"] for row in ask(harness, TEAM, "GET", "/schemas?offset=1&limit=2")] == [
        row["subject"]
        for row in ask(harness, ADMIN, "GET", "/schemas")
        if row["subject"] != "secret"
    ][1:3]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/subjects/{}/versions", None),
        ("GET", "/subjects/{}/versions/1", None),
        ("GET", "/subjects/{}/versions/1/schema", None),
        ("GET", "/subjects/{}/versions/1/referencedby", None),
        ("GET", "/subjects/{}/metadata", None),
        ("POST", "/subjects/{}", {"schema": string_record("R4", "f")}),
        ("GET", "/config/{}", None),
        ("GET", "/mode/{}", None),
        ("GET", "/associations/subjects/{}", None),
        ("POST", "/compatibility/subjects/{}/versions", {"schema": string_record("R4", "f")}),
        ("POST", "/compatibility/subjects/{}/versions/1", {"schema": string_record("R4", "f")}),
    ],
)
def test_a_hidden_subject_is_answered_like_a_missing_one(
    harness: Harness, method: str, path: str, body: Any
) -> None:
    hidden = code_of(harness, TEAM, method, path.format("secret"), body)
    missing = code_of(harness, TEAM, method, path.format("missing"), body)

    assert hidden == missing == 40401


@pytest.mark.parametrize("name", ["%3A.%3Asecret", "secret", ":.:secret"])
def test_another_spelling_does_not_help(harness: Harness, name: str) -> None:
    reader = User("reader", Patterns([":.*"]), Patterns([]))

    assert code_of(harness, reader, "GET", f"/subjects/{name}/versions") == 40401


@pytest.mark.parametrize(
    "target",
    [
        "/schemas/ids/4",
        "/schemas/ids/4/schema",
        "/schemas/ids/4/subjects",
        "/schemas/ids/4/versions",
        "/schemas/ids/99",
    ],
)
def test_the_schema_of_a_hidden_subject_is_answered_like_a_missing_one(
    harness: Harness, target: str
) -> None:
    assert code_of(harness, TEAM, "GET", target) == 40403


def test_a_schema_that_a_visible_subject_has_too_is_visible(harness: Harness) -> None:
    body = {"schema": string_record("R4", "f")}
    ask(harness, ADMIN, "POST", "/subjects/team-d/versions", body)

    assert ask(harness, TEAM, "GET", "/schemas/ids/4/subjects") == ["team-d"]
    assert ask(harness, TEAM, "GET", "/schemas/ids/4/versions") == [
        {"subject": "team-d", "version": 1}
    ]


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/subjects/shared/versions", {"schema": string_record("R9", "f")}),
        ("POST", "/subjects/secret/versions", {"schema": string_record("R9", "f")}),
        ("POST", "/subjects/missing/versions", {"schema": string_record("R9", "f")}),
        ("DELETE", "/subjects/shared", None),
        ("DELETE", "/subjects/missing", None),
        ("DELETE", "/subjects/shared/versions/1", None),
        ("PUT", "/config/shared", {"compatibility": "NONE"}),
        ("DELETE", "/config/shared", None),
        ("PUT", "/mode/shared", {"mode": "READONLY"}),
        ("PUT", "/config", {"compatibility": "NONE"}),
        ("DELETE", "/config", None),
        ("PUT", "/mode", {"mode": "READONLY"}),
        ("DELETE", "/mode", None),
        ("DELETE", "/contexts/.other", None),
        ("PUT", "/config/team-a", {"alias": "secret"}),
        ("PUT", "/config/team-a", {"alias": ":.:secret"}),
    ],
)
def test_a_change_that_a_user_may_not_make_is_refused(
    harness: Harness, method: str, target: str, body: Any
) -> None:
    written = len(harness.log)

    assert code_of(harness, TEAM, method, target, body) == 40301
    assert len(harness.log) == written


def test_a_user_changes_the_subjects_of_the_patterns(harness: Harness) -> None:
    body = {"schema": string_record("R9", "f")}

    assert ask(harness, TEAM, "POST", "/subjects/team-new/versions", body)["id"]
    assert ask(harness, TEAM, "POST", "/contexts/.team/subjects/x/versions", body)["id"]
    assert ask(harness, TEAM, "PUT", "/config/team-a", {"alias": "shared"})
    assert ask(harness, TEAM, "DELETE", "/subjects/team-b") == [1]


def test_a_reference_to_a_hidden_subject_is_answered_like_a_missing_one(harness: Harness) -> None:
    def refusal(subject: str) -> str:
        references = [{"name": "R4", "subject": subject, "version": 1}]
        body = {"schema": '"R4"', "references": references}
        with pytest.raises(RequestError) as refused:
            ask(harness, TEAM, "POST", "/subjects/team-x/versions", body)
        assert refused.value.code == 42201
        return refused.value.message.replace(subject, "?")

    assert refusal("secret") == refusal("missing")


def test_without_users_every_client_may_do_everything(harness: Harness) -> None:
    assert "secret" in ask(harness, ANONYMOUS, "GET", "/subjects")
    assert ask(harness, ANONYMOUS, "PUT", "/config", {"compatibility": "NONE"})
    assert ask(harness, ANONYMOUS, "DELETE", "/subjects/secret") == [1]
