"""The users of schema registries on their way to the JVM."""

import json
from typing import Any

import pytest

from duolog.engine.registry_users import tell_registry_users
from duolog.schemas.registry_users import forget_users, keep_users


class Session:
    """A session whose kernel keeps what it is given."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object, str]] = []
        self.spark: Any = self
        self._jsparkSession = "the session of Java"  # PySpark's name
        self._class = ""

    def kernel(self, name: str) -> "Session":
        self._class = name
        return self

    def tell(self, spark: object, users: str) -> None:
        self.calls.append((self._class, spark, users))


def test_the_jvm_gets_the_users_by_address() -> None:
    session: Any = Session()
    keep_users("http://ann:o%22ne@a:1/")

    try:
        tell_registry_users(session)
    finally:
        forget_users("http://a:1/")

    ((name, spark, users),) = session.calls
    assert (name, spark) == ("RegistryUsers", "the session of Java")
    assert json.loads(users)["http://a:1"] == 'ann:o"ne'


def test_the_jvm_gets_nothing_if_there_are_no_users(monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = Session()
    monkeypatch.setattr("duolog.engine.registry_users.known_users", dict)

    tell_registry_users(session)

    assert session.calls == []
