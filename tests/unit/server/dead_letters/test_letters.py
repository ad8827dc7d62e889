"""Rights of a client are checked before anything is revealed."""

from collections.abc import Iterable
from typing import Any

import pytest

from duolog.security.authorization.operations import Operation
from duolog.server.access.client import Right
from duolog.server.dead_letters.letters import DeadLetters
from duolog.server.dead_letters.requests import read_replay
from duolog.server.errors import FORBIDDEN, RequestRefused


class ReadOnly:
    """The rights of a client that may read everything, and write nothing."""

    client = "ann"

    def ensure(self, rights: Iterable[Right]) -> None:
        if any(one.operation is Operation.WRITE for one in rights):
            raise RequestRefused("no", FORBIDDEN)


def test_a_target_that_may_not_be_written_is_refused_before_it_is_looked_up() -> None:
    service: Any = None  # It would be asked for the target.
    checks: Any = ReadOnly()
    asked = read_replay(b'{"to": "secret"}')

    with pytest.raises(RequestRefused) as refused:
        DeadLetters(service, checks).replay("wrong", asked)

    assert refused.value.code == FORBIDDEN
