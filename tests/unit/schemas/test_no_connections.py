"""A schema with an address in it makes no process connect there (server-side request forgery)."""

import json
import socket
from collections.abc import Callable

import pytest

from duolog.core.errors import DuologError
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language

_REMOTE = "http://127.0.0.1:1/orders"
_CASES = [
    (Language.JSON, json.dumps({"$ref": f"{_REMOTE}.json"})),
    (Language.JSON, json.dumps({"properties": {"a": {"$ref": f"{_REMOTE}.json#/definitions/x"}}})),
    (Language.JSON, json.dumps({"$id": f"{_REMOTE}.json", "items": {"$ref": "other.json"}})),
    (Language.JSON, json.dumps({"$schema": f"{_REMOTE}-schema", "type": "object"})),
    (Language.JSON, json.dumps({"$ref": "file:///etc/passwd"})),
    (Language.AVRO, json.dumps(_REMOTE)),
    (Language.AVRO, json.dumps({"type": "array", "items": _REMOTE})),
    (Language.PROTOBUF, f'syntax = "proto3"; import "{_REMOTE}.proto"; message A {{}}'),
    (Language.PROTOBUF, 'syntax = "proto3"; import "/etc/passwd"; message A {}'),
]


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts that the process looked up or connected to."""
    found: list[str] = []

    def note(name: str) -> Callable[..., None]:
        def refuse(*arguments: object, **_: object) -> None:
            found.append(f"{name}{arguments}")
            raise OSError("no network here")

        return refuse

    monkeypatch.setattr(socket, "getaddrinfo", note("getaddrinfo"))
    monkeypatch.setattr(socket, "create_connection", note("create_connection"))
    monkeypatch.setattr(socket.socket, "connect", note("connect"))
    return found


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("language", "text"), _CASES)
def test_a_remote_reference_is_not_followed(
    touched: list[str], language: Language, text: str, *, strict: bool
) -> None:
    for language_ in Language:  # Its package is loaded before files are watched.
        with pytest.raises(DuologError):
            parse(language_, "{", {})
    opened: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.open", lambda path, *_, **__: opened.append(str(path)))
        try:
            schema = parse(language, text, {}, strict=strict)
        except DuologError:
            pass
        else:
            assert schema.canonical

    assert touched == []
    assert opened == []
