"""`duolog schema` as a user calls it, with a registry in this process."""

import json
from pathlib import Path
from typing import Any

import pytest

from duolog.cli.main import main
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
BROKEN = ORDER.replace('"double"}', '"string"}, {"name": "note", "type": "string"}')
CUSTOMER = 'syntax = "proto3";\nmessage Customer { string name = 1; }\n'
SALE = 'syntax = "proto3";\nimport "c.proto";\nmessage Sale { Customer buyer = 1; }\n'


class User:
    """Types commands and reads what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str], home: Path) -> None:
        self._capsys = capsys
        self._home = home

    def write(self, name: str, text: str) -> str:
        path = self._home / name
        path.write_text(text)
        return str(path)

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        status = main(["schema", *words])
        printed = self._capsys.readouterr()
        return status, printed.out, printed.err

    def rows(self, *words: str) -> Any:
        status, out, err = self(*words, "-o", "json")
        assert status == 0, err
        return json.loads(out)


@pytest.fixture
def user(server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> User:
    del server
    return User(capsys, tmp_path)


def test_a_registered_schema_is_listed_and_shown(user: User) -> None:
    order, noted = user.write("order.avsc", ORDER), user.write("noted.avsc", NOTED)

    first = user.rows("register", order, "--subject", "orders-value")
    again = user.rows("register", order, "--subject", "orders-value")
    second = user.rows("register", noted, "--subject", "orders-value")
    listed = user.rows("list")
    status, text, facts = user("show", "orders-value:1")

    assert (first[0]["version"], first[0]["id"], first[0]["new"]) == (1, 1, True)
    assert (again[0]["version"], again[0]["id"], again[0]["new"]) == (1, 1, False)
    assert second[0]["version"] == 2
    assert listed == [
        {
            "subject": "orders-value",
            "versions": [1, 2],
            "id": 2,
            "type": "AVRO",
            "compatibility": "BACKWARD",
            "deleted": [],
        }
    ]
    assert status == 0
    assert json.loads(text) == json.loads(ORDER)
    assert "subject=orders-value version=1 id=1 guid=" in facts


def test_schemas_are_shown_by_id_and_by_guid(user: User) -> None:
    user.rows("register", user.write("a.json", '{"type": "object"}'), "--subject", "a-value")

    (by_id,) = user.rows("show", "--id", "1")
    (by_guid,) = user.rows("show", "--guid", by_id["guid"])

    assert (by_id["type"], by_id["subjects"]) == ("JSON", [{"subject": "a-value", "version": 1}])
    assert by_guid["schema"] == by_id["schema"] == '{"type":"object"}'


def test_references_are_resolved_on_request(user: User) -> None:
    user.rows("register", user.write("c.proto", CUSTOMER), "--subject", "c-value")
    sale = user.write("sale.proto", SALE)
    (done,) = user.rows("register", sale, "--subject", "s-value", "--reference", "c.proto=c-value")

    (shown,) = user.rows("show", "s-value", "--references")
    _, text, facts = user("show", "s-value", "--references")

    assert done["type"] == "PROTOBUF"
    (reference,) = shown["references"]
    assert (reference["name"], reference["subject"], reference["version"]) == (
        "c.proto",
        "c-value",
        1,
    )
    assert "message Customer" in reference["schema"]
    assert "message Sale" in text
    assert "message Customer" in text
    assert 'refers to "c.proto": subject "c-value", version 1' in facts


def test_a_misspelled_subject_is_corrected(user: User) -> None:
    user.rows("register", user.write("order.avsc", ORDER), "--subject", "orders-value")

    status, out, err = user("show", "order-value")

    assert (status, out) == (3, "")
    assert 'error: could not show subject "order-value"' in err
    assert 'Did you mean "orders-value"?' in err


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("show",), 2),
        (("show", "a", "--id", "1"), 2),
        (("show", "--id", "7"), 3),
        (("diff", "unknown"), 3),
        (("delete", "unknown", "--yes"), 3),
        (("config", "a", "--unset", "--mode", "IMPORT"), 2),
        (("config", "--compatibility", "SOME"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_mistakes_have_their_exit_status(user: User, words: tuple[str, ...], status: int) -> None:
    found, _, err = user(*words)

    assert found == status, err
    assert err


def test_check_names_each_incompatibility_and_tells_by_its_status(user: User) -> None:
    user.rows("register", user.write("order.avsc", ORDER), "--subject", "orders-value")
    broken, noted = user.write("broken.avsc", BROKEN), user.write("noted.avsc", NOTED)

    bad, out, err = user("check", broken, "--subject", "orders-value", "-o", "json")
    good, _, verdict = user("check", noted, "--subject", "orders-value")

    assert (bad, good) == (6, 0)
    assert [(row["type"], row["path"]) for row in json.loads(out)] == [
        ("TYPE_MISMATCH", "/fields/1/type"),
        ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/2"),
    ]
    assert 'is not compatible with subject "orders-value" (level BACKWARD)' in err
    assert "is compatible" in verdict
    assert user.rows("list")[0]["versions"] == [1], "check registers nothing"


def test_a_check_says_that_a_misspelled_subject_has_no_versions(user: User) -> None:
    order = user.write("order.avsc", ORDER)
    user.rows("register", order, "--subject", "orders-value")

    status, _, misspelled = user("check", order, "--subject", "order-value")

    assert status == 0
    assert 'subject "order-value" has no versions, and accepts every valid schema' in misspelled


def test_an_invalid_schema_is_refused_although_the_subject_is_new(user: User) -> None:
    status, _, err = user("check", user.write("a.avsc", '{"type": "rec"}'), "--subject", "new")

    assert status == 2
    assert "is not a schema in AVRO" in err


def test_a_refused_registration_says_why_in_words(user: User) -> None:
    user.rows("register", user.write("order.avsc", ORDER), "--subject", "orders-value")

    status, _, err = user("register", user.write("b.avsc", BROKEN), "--subject", "orders-value")

    assert status == 6
    assert "TYPE_MISMATCH The type (path '/fields/1/type')" in err
    assert "oldSchema" not in err
    assert "duolog schema check" in err


def test_diff_shows_the_effect_of_each_field_on_readers(user: User) -> None:
    user.rows("register", user.write("order.avsc", ORDER), "--subject", "orders-value")
    user.rows("register", user.write("noted.avsc", NOTED), "--subject", "orders-value")

    versions = user.rows("diff", "orders-value")
    against_file = user.rows("diff", "orders-value:1", user.write("b.avsc", BROKEN))
    status, text, verdicts = user("diff", "orders-value")

    assert versions == [
        {
            "path": "note",
            "change": "added",
            "old": None,
            "new": "null | string = null",
            "backward": "ok",
            "forward": "ok",
        }
    ]
    assert [(row["path"], row["backward"], row["forward"]) for row in against_file] == [
        ("amount", "TYPE_MISMATCH", "TYPE_MISMATCH"),
        ("note", "READER_FIELD_MISSING_DEFAULT_VALUE", "ok"),
    ]
    assert status == 0
    assert '+      "name": "note",' in text.splitlines()
    assert "a reader with orders-value:2 reads the records of orders-value:1" in verdicts


def test_diff_finds_what_only_one_schema_has(user: User) -> None:
    old = 'syntax = "proto3";\nmessage A { int32 x = 1; message B { int32 y = 1; } }\n'
    new = 'syntax = "proto3";\nmessage A { string x = 1; }\n'
    user.rows("register", user.write("old.proto", old), "--subject", "a-value")

    rows = user.rows("diff", "a-value", user.write("new.proto", new))

    assert [(row["path"], row["change"], row["backward"]) for row in rows] == [
        ("A.x", "changed", "FIELD_SCALAR_KIND_CHANGED"),
        ("A.B", "removed", "MESSAGE_REMOVED"),
        ("A.B.y", "removed", "ok"),
    ]


def test_delete_is_soft_unless_it_is_permanent(user: User) -> None:
    order = user.write("order.avsc", ORDER)
    user.rows("register", order, "--subject", "orders-value")

    planned = user("delete", "orders-value", "--dry-run")
    soft = user("delete", "orders-value:1", "--yes")
    after = user.rows("list"), user.rows("list", "--deleted"), user.rows("show", "--id", "1")
    hard = user("delete", "orders-value", "--permanent", "--yes")
    gone, _, _ = user("show", "--id", "1")

    assert 'would delete version 1 of subject "orders-value"' in planned[2]
    assert 'deleted version 1 of subject "orders-value"' in soft[2]
    assert (after[0], [row["deleted"] for row in after[1]]) == ([], [[1]])
    assert after[2][0]["type"] == "AVRO"
    assert hard[0] == 0, hard[2]
    assert gone == 3


def test_a_permanent_delete_of_a_living_subject_needs_no_second_command(user: User) -> None:
    user.rows("register", user.write("order.avsc", ORDER), "--subject", "orders-value")

    status, _, err = user("delete", "orders-value", "--permanent", "--yes")

    assert status == 0, err
    assert user.rows("list", "--deleted") == []


def test_a_schema_that_others_refer_to_is_not_deleted(user: User) -> None:
    user.rows("register", user.write("c.proto", CUSTOMER), "--subject", "c-value")
    sale = user.write("sale.proto", SALE)
    user.rows("register", sale, "--subject", "s-value", "--reference", "c.proto=c-value:1")

    status, _, err = user("delete", "c-value", "--yes")

    assert status == 6
    assert "Delete the schemas that refer to it first." in err


def test_levels_and_modes_are_set_shown_and_removed(user: User) -> None:
    user.rows("register", user.write("order.avsc", ORDER), "--subject", "orders-value")

    changed = user.rows("config", "orders-value", "-c", "full", "--set", "normalize=true")
    read_only = user.rows("config", "orders-value", "--mode", "readonly")
    refused, _, err = user("register", user.write("n.avsc", NOTED), "--subject", "orders-value")
    removed = user.rows("config", "orders-value", "--unset")
    whole = user.rows("config")

    assert changed == [
        {"setting": "compatibility", "value": "FULL", "source": "subject"},
        {"setting": "normalize", "value": True, "source": "subject"},
        {"setting": "mode", "value": "READWRITE", "source": "global"},
    ]
    assert read_only[-1] == {"setting": "mode", "value": "READONLY", "source": "subject"}
    assert (refused, "read-only mode" in err) == (4, True)
    assert removed == whole
    assert {row["source"] for row in whole} == {"global"}


def test_a_registry_that_is_down_is_named_with_a_hint(user: User, server: Server) -> None:
    server.down = True

    status, _, err = user("list", "-r", "http://ann:secret@registry:8081")

    assert status == 5
    assert "http://registry:8081: Connection refused" in err
    assert "--registry" in err
    assert "secret" not in err


def test_the_password_comes_from_a_file_or_the_environment(
    user: User, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = user.write("password", "from file\nsecond line")

    user("list", "--registry-user", "ann", "--registry-password-file", file)
    monkeypatch.setenv("DUOLOG_REGISTRY_PASSWORD", "from environment")
    user("list", "--registry-user", "ann")
    user("list", "--registry-user", "ann", "-r", "http://bob:x@a:1")

    known = list(dict.fromkeys(server.authorizations))
    assert known == [
        "Basic YW5uOmZyb20gZmlsZQ==",
        "Basic YW5uOmZyb20gZW52aXJvbm1lbnQ=",
        "Basic Ym9iOng=",
    ]
