"""`duolog schema plan` and `apply` as a user calls them, with a registry in this process."""

import json
from pathlib import Path
from typing import Any

import pytest

from duolog.cli.main import main
from duolog.registry.records.values import Mode
from unit.cli.registry.server import Server

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "amount", "type": "double"}],
    }
)
NOTED = ORDER.replace(
    '"double"}', '"double"}, {"name": "note", "type": ["null", "string"], "default": null}'
)
BROKEN = ORDER.replace('"double"}', '"double"}, {"name": "note", "type": "string"}')
CUSTOMER = 'syntax = "proto3";\nmessage Customer { string name = 1; }\n'
SALE = 'syntax = "proto3";\nimport "c.proto";\nmessage Sale { Customer buyer = 1; }\n'
REFERENCE = '[subjects."a-sales"]\nreferences = { "c.proto" = "customers" }\n'


class User:
    """Keeps schemas in a directory, and plans and applies them."""

    def __init__(self, capsys: pytest.CaptureFixture[str], home: Path, server: Server) -> None:
        self._capsys = capsys
        self.home = home
        self.server = server

    def write(self, name: str, text: str) -> None:
        (self.home / name).write_text(text)

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        status = main(["schema", words[0], str(self.home), *words[1:]])
        printed = self._capsys.readouterr()
        return status, printed.out, printed.err

    def actions(self, *words: str) -> dict[str, str]:
        """Return the planned action for each subject."""
        _, out, _ = self("plan", "-o", "json", *words)
        return {row["subject"]: row["action"] for row in json.loads(out)}

    def apply(self, *words: str) -> int:
        return self("apply", "--yes", *words)[0]

    @property
    def writes(self) -> list[str]:
        """The requests that could change the registry."""
        return [
            one
            for one in self.server.asked
            if one.startswith(("PUT", "DELETE"))
            or (one.startswith("POST") and one.endswith("/versions?"))
        ]

    def versions(self, subject: str) -> Any:
        return self.server.harness.registry.versions(subject)


@pytest.fixture
def user(server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> User:
    return User(capsys, tmp_path, server)


def test_a_new_schema_is_planned_and_applied_once(user: User) -> None:
    user.write("orders-value.avsc", ORDER)
    user.write("README.md", "not a schema")

    planned = user.actions()
    before = list(user.writes)
    status, _, told = user("apply", "--yes")
    again = user.actions()
    second, _, silent = user("apply", "--yes")

    assert planned == {"orders-value": "register"}
    assert before == []
    assert status == 0
    assert "registered version 1 of orders-value with id 1" in told
    assert again == {"orders-value": "unchanged"}
    assert second == 0
    assert "registered" not in silent
    assert list(user.versions("orders-value")) == [1]


def test_a_changed_schema_is_shown_field_by_field(user: User) -> None:
    user.write("orders-value.avsc", ORDER)
    user.apply()
    user.write("orders-value.avsc", NOTED)

    _, out, _ = user("plan", "-o", "json")
    _, table, summary = user("plan")

    (row,) = json.loads(out)
    assert (row["action"], row["version"], row["file"]) == ("change", 1, "orders-value.avsc")
    assert row["differences"] == [
        {
            "path": "note",
            "change": "added",
            "old": None,
            "new": "null | string = null",
            "backward": "ok",
            "forward": "ok",
        }
    ]
    assert "added note" in table
    assert "orders-value, version 1 and orders-value.avsc:" in table
    assert summary == "plan: 1 change\n"


def test_nothing_is_applied_if_a_schema_is_incompatible(user: User) -> None:
    user.write("orders-value.avsc", ORDER)
    user.apply()
    user.write("orders-value.avsc", BROKEN)
    user.write("a-value.avsc", ORDER)
    before = list(user.writes)

    planned, (status, out, _) = user.actions(), user("apply", "--yes")

    assert planned == {"a-value": "register", "orders-value": "incompatible"}
    assert status == 6
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in out
    assert user.writes == before


def test_a_level_in_the_file_decides_before_it_is_set(user: User) -> None:
    user.write("orders-value.avsc", ORDER)
    user.apply()
    user.write("orders-value.avsc", BROKEN)
    user.write("schemas.toml", '[subjects."orders-value"]\ncompatibility = "NONE"\n')

    status, out, _ = user("plan", "-o", "json")
    applied = user.apply()

    assert status == 0
    assert [(row["action"], row["detail"]) for row in json.loads(out)] == [
        ("level", "not set → NONE"),
        ("change", "added note"),
    ]
    assert applied == 0
    assert list(user.versions("orders-value")) == [1, 2]


@pytest.mark.parametrize(("level", "action"), [("FORWARD", "change"), ("FULL", "incompatible")])
def test_a_stricter_level_refuses_what_the_old_one_accepts(
    user: User, level: str, action: str
) -> None:
    user.write("orders-value.avsc", ORDER)
    user.apply()
    user.write("orders-value.avsc", BROKEN)
    user.write("schemas.toml", f'compatibility = "{level}"\n')

    assert user.actions() == {"(global)": "level", "orders-value": action}


def test_a_reason_names_the_schema_that_lacks_a_default(user: User) -> None:
    user.write("orders-value.avsc", ORDER)
    user.apply()
    user.write("orders-value.avsc", ORDER.replace('"id"', '"number"'))
    user.write("schemas.toml", 'compatibility = "FULL"\n')

    _, out, _ = user("plan", "-o", "json")

    (_, change) = json.loads(out)
    assert "'number' at path '/fields/0' in the new schema has no default" in change["detail"]
    assert "'id' at path '/fields/0' in the old schema has no default" in change["detail"]


def test_schemas_are_registered_after_those_that_they_refer_to(user: User) -> None:
    user.write("a-sales.proto", SALE)
    user.write("customers.proto", CUSTOMER)
    user.write("schemas.toml", REFERENCE)

    planned = user.actions()
    status = user.apply()

    assert list(planned) == ["customers", "a-sales"]
    assert status == 0
    assert user.actions() == {"customers": "unchanged", "a-sales": "unchanged"}


def test_a_change_of_a_referenced_schema_changes_those_that_refer_to_it(user: User) -> None:
    user.write("a-sales.proto", SALE)
    user.write("customers.proto", CUSTOMER)
    user.write("schemas.toml", REFERENCE)
    user.apply()
    user.write("customers.proto", CUSTOMER.replace("1; }", "1; string city = 2; }"))

    planned = user.actions()
    user.apply()

    assert planned == {"customers": "change", "a-sales": "change"}
    assert list(user.versions("a-sales")) == [1, 2]
    assert user.actions() == {"customers": "unchanged", "a-sales": "unchanged"}


def test_an_interrupted_run_is_continued_by_the_next(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    user.write("a-value.avsc", ORDER)
    user.write("b-value.avsc", ORDER)
    send = user.server.send

    def send_until_b(address: Any, method: str, target: str, body: str | None, **more: Any) -> Any:
        if method == "POST" and target.startswith("/subjects/b-value/versions"):
            raise ConnectionRefusedError(111, "Connection refused")
        return send(address, method, target, body, **more)

    with monkeypatch.context() as patched:
        patched.setattr("duolog.cli.registry.options.send", send_until_b)
        patched.setattr("duolog.registry.client.requests.time.sleep", lambda _s: None)
        failed, _, told = user("apply", "--yes")
    left = user.actions()

    assert failed == 5
    assert "1 of 2 changes are done" in told
    assert left == {"a-value": "unchanged", "b-value": "register"}
    assert user.apply() == 0


def test_subjects_without_a_file_are_deleted_only_with_prune(user: User) -> None:
    user.write("a-sales.proto", SALE)
    user.write("customers.proto", CUSTOMER)
    user.write("schemas.toml", REFERENCE)
    user.apply()
    for name in ("a-sales.proto", "customers.proto", "schemas.toml"):
        (user.home / name).unlink()

    kept = user.actions()
    user.apply()
    after_apply = user.actions()
    pruned = user.actions("--prune")
    status = user.apply("--prune")

    assert kept == after_apply == {"a-sales": "unmanaged", "customers": "unmanaged"}
    assert pruned == {"a-sales": "delete", "customers": "delete"}
    assert status == 0
    assert user.actions() == {}


def test_a_mode_is_set_after_the_last_version(user: User) -> None:
    user.write("orders-value.avsc", ORDER)
    user.write("schemas.toml", '[subjects."orders-value"]\nmode = "readonly"\n')

    planned = user.apply()

    assert planned == 0
    assert user.actions() == {"orders-value": "unchanged"}
    assert user.server.harness.registry.mode("orders-value").mode is Mode.READONLY


def test_a_schema_that_is_an_earlier_version_changes_nothing(user: User) -> None:
    user.write("orders-value.avsc", ORDER)
    user.apply()
    user.write("orders-value.avsc", NOTED)
    user.apply()
    user.write("orders-value.avsc", ORDER)

    status, out, _ = user("plan", "-o", "json", "--detailed-exitcode")

    (row,) = json.loads(out)
    assert (row["action"], row["detail"]) == ("older", "is version 1, not the latest one")
    assert status == 0


def test_a_version_that_would_be_refused_today_is_unchanged(user: User) -> None:
    """Other registries accept, for example, a default that is not of its type."""
    schema = '{"type":"record","name":"O","fields":[{"name":"a","type":"int","default":"x"}]}'
    user.server.harness.append(
        b'{"keytype":"SCHEMA","subject":"old-value","version":1,"magic":1}',
        json.dumps({"subject": "old-value", "version": 1, "id": 1, "schema": schema}).encode(),
    )
    user.write("old-value.avsc", schema)

    assert user.actions() == {"old-value": "unchanged"}
    user.write("old-value.avsc", schema.replace('"x"', '"y"'))
    status, _, told = user("plan")
    assert status != 0
    assert 'old-value.avsc: default of field "a"' in told


def test_the_exit_status_tells_changes_only_if_asked(user: User) -> None:
    user.write("orders-value.avsc", ORDER)

    found = [
        user("plan")[0],
        user("plan", "--detailed-exitcode")[0],
        user("apply", "--yes", "--detailed-exitcode")[0],
        user("plan", "--detailed-exitcode")[0],
    ]
    user.write("orders-value.avsc", BROKEN)
    incompatible = user("plan", "--detailed-exitcode")[0]
    user.write("orders-value.avsc", "{")
    invalid = user("plan", "--detailed-exitcode")[0]

    assert found == [0, 2, 2, 0]
    assert incompatible == 1
    assert invalid == 1


def test_apply_asks_before_it_changes_anything(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.write("orders-value.avsc", ORDER)
    asked: list[str] = []

    def refuse(question: str) -> None:
        asked.append(question)
        raise KeyboardInterrupt

    monkeypatch.setattr("duolog.cli.commands.schema_plan.confirm", refuse)

    user("apply")

    assert asked == ["Make 1 change in http://127.0.0.1:8081?"]
    assert user.writes == []


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.avsc": ORDER, "a.json": "{}"}, 'two files have the schema of subject "a"'),
        ({"schemas.toml": "compatibility = 1"}, '"compatibility" in'),
        ({"schemas.toml": "levels = 1"}, 'unknown setting "levels"'),
        ({"schemas.toml": "= 1"}, "is not TOML"),
        ({"schemas.toml": f"compatibility = {'[' * 10_000}"}, "is nested too deep"),
        ({"%FF.avsc": ORDER}, "the name of the file '%FF.avsc' is not UTF-8"),
        ({"\udcff.avsc": ORDER}, "is not UTF-8"),
        ({"a%00.avsc": ORDER}, "the name of the file 'a%00.avsc' is not that of a subject"),
        ({"%2E%2E.avsc": ORDER}, "is not that of a subject"),
        (
            {"schemas.toml": '[subjects.a]\nreferences = { x = "b" }'},
            'references of subject "a", which has no file',
        ),
        (
            {
                "a.proto": SALE,
                "b.proto": SALE,
                "schemas.toml": '[subjects.a]\nreferences = { x = "b" }\n'
                '[subjects.b]\nreferences = { x = "a" }',
            },
            "refer to each other in a circle",
        ),
    ],
)
def test_a_directory_with_mistakes_is_refused(
    user: User, files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        user.write(name, text)

    status, _, told = user("plan")

    assert status != 0
    assert message in told


def test_a_subject_with_a_slash_has_a_file(user: User) -> None:
    user.write("shop%2Forders-value.avsc", ORDER)

    assert user.actions() == {"shop/orders-value": "register"}


def test_the_case_of_a_suffix_does_not_let_prune_delete_a_subject(user: User) -> None:
    user.write("orders-value.avsc", ORDER)
    user.apply()

    (user.home / "orders-value.avsc").rename(user.home / "orders-value.AVSC")

    assert user.actions("--prune") == {"orders-value": "unchanged"}
