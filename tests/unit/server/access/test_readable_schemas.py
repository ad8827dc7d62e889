"""Records that name a schema which a client may not read are not decoded for it."""

import json
from collections.abc import Iterable
from typing import Any, cast

import pytest

from duolog.ksql import settings
from duolog.ksql.session import SqlSession
from duolog.ksql.session import parse as parse_sql
from duolog.registry.client.subjects import HttpSubjects
from duolog.runtime.browsing.record import Part
from duolog.runtime.sql.reply import printing
from duolog.runtime.sql.reply.printing import guessed_by_schema
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import UnknownSchemaError, provide, withdraw
from duolog.schemas.subjects import SchemaKey
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.guarded_session import GuardedSession
from duolog.server.access.readable_schemas import ReadableSchemas
from duolog.server.dead_letters.guesses import guess_of
from duolog.server.topics.browsing import decoder_of
from duolog.server.topics.selections import Filters

ADDRESS = "http://registry-of-test:8081"
GUID = "89791762-2336-4186-9674-299b90a802e2"
SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "salary", "type": "string"}]}
FRAMED = b"\0\0\0\0\7" + b"\x06abc"
"""A record of schema 7, as everyone who may write a topic can write it."""


class Source:
    """Has one schema of two names."""

    def by_id(self, schema_id: int) -> Schema:
        assert schema_id == 7
        return parse(Language.AVRO, json.dumps(SCHEMA), {}, strict=False)

    def by_guid(self, guid: str) -> Schema:
        assert guid == GUID
        return self.by_id(7)


class Owners:
    """Knows the subjects of the schema, and notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[SchemaKey] = []

    def subjects_of(self, key: SchemaKey) -> frozenset[str]:
        self.asked.append(key)
        return frozenset({"hidden-value", ":.:payroll-value"})


class Rights:
    """A client that may read some subjects."""

    decide = True

    def __init__(self, *subjects: str, decide: bool = True) -> None:
        self._subjects = subjects
        self.decide = decide

    def allowed(
        self, operation: Operation, resource: ResourceType, names: Iterable[str]
    ) -> frozenset[str]:
        assert (operation, resource) == (Operation.READ, ResourceType.SUBJECT)
        return frozenset(name for name in names if name in self._subjects)


def schemas(owners: Owners, *subjects: str) -> ReadableSchemas:
    checks: Any = Rights(*subjects)
    return ReadableSchemas(Source(), owners, checks)


@pytest.mark.parametrize("subjects", [(), ("orders-value",)])
def test_a_schema_of_subjects_that_may_not_be_read_is_unknown(subjects: tuple[str, ...]) -> None:
    owners = Owners()
    found = schemas(owners, *subjects)

    for _ in range(3):
        with pytest.raises(UnknownSchemaError, match="no schema of id 7"):
            found.by_id(7)
        with pytest.raises(UnknownSchemaError, match="no schema of GUID"):
            found.by_guid(GUID)

    assert owners.asked == [7, GUID]


def test_a_schema_of_one_readable_subject_is_known() -> None:
    owners = Owners()
    found = schemas(owners, "payroll-value")

    assert found.by_id(7).language is Language.AVRO
    assert found.by_guid(GUID) == found.by_id(7)
    assert owners.asked == [7, GUID]


class Service:
    """A service with a registry."""

    def session(self) -> Any:
        state = type("State", (), {"settings": {settings.REGISTRY: ADDRESS}})()
        return type("Session", (), {"state": state})()


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> Any:
    source: Any = Source()
    provide(ADDRESS, source)
    monkeypatch.setattr(
        HttpSubjects, "subjects_of", lambda _, key: frozenset({"payroll-value"} if key else ())
    )
    yield
    withdraw(ADDRESS)


@pytest.mark.parametrize(
    ("checks", "is_shown"),
    [(Rights(), False), (Rights("payroll-value"), True), (Rights(decide=False), True)],
)
def test_records_show_fields_of_readable_schemas_only(checks: Any, *, is_shown: bool) -> None:
    service: Any = Service()

    decoded = decoder_of(service, checks, Filters()).decoded("value", Part(FRAMED, 9), ())
    named = decoder_of(service, checks, Filters(value_format="AVRO"))
    by_name = named.decoded("value", Part(FRAMED, 9), ())
    guessed, _ = guess_of(service, checks)(FRAMED)

    assert [("salary" in one) for one in (decoded.text, by_name.text, guessed)] == [is_shown] * 3
    assert (decoded.schema == 7) is is_shown


class PrintedSession:
    """Prints what PRINT would show of the record."""

    session: Any = None

    def sandbox(self) -> Any:
        return SqlSession()

    def printed(self, node: object) -> Any:
        return guessed_by_schema(printing.schema_reader(ADDRESS), FRAMED)


@pytest.mark.parametrize(
    ("checks", "is_shown"),
    [(Rights(), False), (Rights("payroll-value"), True), (Rights(decide=False), True)],
)
def test_print_shows_fields_of_readable_schemas_only(
    checks: Any, *, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rights, "ensure", lambda *_: None, raising=False)
    session: Any = PrintedSession()
    (node,) = parse_sql("PRINT 'mine';")

    text, _ = cast("Any", GuardedSession(session, "s", checks).printed(cast("Any", node)))

    assert ("salary" in text) is is_shown
