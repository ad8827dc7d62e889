"""A client that may write a subject and not read it learns nothing of its earlier schemas."""

import json
from typing import Any, Final

import pytest

from duolog.registry.access.users import Patterns, User
from duolog.registry.errors import CONCEALED, IncompatibleSchema
from duolog.security.authorization.operations import Operation
from unit.registry.harness import Harness
from unit.registry.operations.test_permissions import ADMIN, ask

SUBJECT: Final = ":.-:orders-value"
SECRET: Final = "salary_of_the_board"  # noqa: S105
OLD: Final = json.dumps(
    {"type": "record", "name": "R", "doc": SECRET, "fields": [{"name": "f", "type": "int"}]}
)
NEW: Final = '{"type":"record","name":"R","fields":[{"name":"g","type":"int"}]}'


class Writer(User):
    """A user of a cluster with WRITE on all subjects, and nothing else."""

    def may(self, operation: Operation, subject: str | None) -> bool:
        del subject
        return operation is Operation.WRITE

    @property
    def reads_everything(self) -> bool:
        return False


WRITER: Final = Writer("writer", Patterns([]), Patterns([]))


@pytest.fixture
def harness() -> Harness:
    made = Harness()
    ask(made, ADMIN, "POST", "/associations", association(OLD))
    return made


def association(schema: str) -> dict[str, Any]:
    item = {"subject": SUBJECT, "associationType": "value", "schema": {"schema": schema}}
    return {
        "resourceName": "orders",
        "resourceNamespace": "-",
        "resourceId": "id-1",
        "resourceType": "topic",
        "associations": [item],
    }


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", f"/subjects/{SUBJECT}/versions", {"schema": NEW}),
        ("PUT", "/associations/resources/id-1", association(NEW)),
    ],
)
def test_a_refusal_shows_an_earlier_schema_only_to_its_readers(
    harness: Harness, method: str, target: str, body: dict[str, Any]
) -> None:
    """The message had the text of the earlier version for every client."""
    with pytest.raises(IncompatibleSchema) as shown:
        ask(harness, ADMIN, method, target, body)
    with pytest.raises(IncompatibleSchema) as hidden:
        ask(harness, WRITER, method, target, body)

    assert SECRET in shown.value.message
    assert CONCEALED in hidden.value.message
    assert SECRET not in hidden.value.message
    assert "READER_FIELD" not in hidden.value.message
    assert hidden.value.code == shown.value.code


def test_a_batch_shows_an_earlier_schema_only_to_its_readers(harness: Harness) -> None:
    body = association(NEW)
    body["associations"][0]["opType"] = "UPSERT"
    batch = {"requests": [body]}

    shown = ask(harness, ADMIN, "POST", "/associations:batchMutate", batch)
    hidden = ask(harness, WRITER, "POST", "/associations:batchMutate", batch)

    assert SECRET in str(shown)
    assert SECRET not in str(hidden)
    assert CONCEALED in str(hidden)


def test_a_compatible_schema_is_registered_by_a_writer(harness: Harness) -> None:
    schema = OLD.replace("[", '[{"name": "g", "type": "int", "default": 0}, ')

    answer = ask(harness, WRITER, "POST", f"/subjects/{SUBJECT}/versions", {"schema": schema})

    assert answer["id"] == 2
