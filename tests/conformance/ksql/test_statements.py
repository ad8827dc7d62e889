"""Every statement of ksqlDB's own tests is parsed, except intentionally invalid ones."""

import pytest

from conformance.ksql.query_cases import ABSENT, all_cases
from duolog.cli.sql.layout import formatted
from duolog.ksql.errors import SqlError
from duolog.ksql.session import parse

pytestmark = pytest.mark.skipif(ABSENT is not None, reason=str(ABSENT))


def test_every_statement_is_parsed() -> None:
    unread = []

    for case in all_cases():
        if case.expected_error is not None or "expectedError" in case.spec:
            continue
        for statement in case.statements:
            try:
                parse(statement)
            except SqlError as error:
                unread.append(f"{case.title}: {error.message}")

    assert unread == []


def test_formatting_a_statement_keeps_its_meaning_and_is_idempotent() -> None:
    changed = []

    for statement in dict.fromkeys(one for case in all_cases() for one in case.statements):
        try:
            wanted = parse(statement)
        except SqlError:
            continue
        once = formatted(statement)
        if parse(once) != wanted or formatted(once) != once:
            changed.append(statement)

    assert changed == []
