"""A registry at an HTTP address, as serdes and SQL see it."""

from collections.abc import Callable
from urllib.parse import unquote, urlsplit

import pytest

from duolog.core.errors import ConfigError, RegistryError
from duolog.registry.client.requests import (
    USER_VARIABLE,
    Address,
    Answer,
    Requests,
    addresses_of,
)
from duolog.registry.client.source import HttpRegistry
from duolog.registry.errors import RequestError
from duolog.registry.in_process import InProcessRegistry
from duolog.registry.json_text import Json, dump, load
from duolog.registry.rules import RegisterRequest, to_json
from duolog.schemas.registry_users import forget_users, keep_users
from duolog.schemas.schema import Language, Reference
from duolog.schemas.source import RegistryLoginError, SchemaText, UnknownSchemaError

INT = SchemaText(Language.AVRO, '"int"')
POINT = '{"type":"record","name":"Point","fields":[]}'
LINE = '{"type":"record","name":"Line","fields":[{"name":"from","type":"Point"}]}'


class Server:
    """Answers the requests of a client by the rules of a registry, without a network."""

    def __init__(self) -> None:
        self.registry = InProcessRegistry()
        self.asked: list[str] = []

    def send(self, _: Address, method: str, path: str, body: str | None) -> Answer:
        self.asked.append(f"{method} {path}")
        try:
            return Answer(200, load(dump(self._answer(method, path, body))))
        except RequestError as error:
            return Answer(error.status, error.to_json())

    def _answer(self, method: str, path: str, body: str | None) -> Json:
        rules = self.registry.rules
        parts = [unquote(part) for part in urlsplit(path).path.split("/")[1:]]
        match method, *parts:
            case "GET", "schemas", "ids", number:
                return to_json(rules.schema_by_id(int(number)))
            case "GET", "schemas", "guids", guid:
                return to_json(rules.schema_by_guid(guid))
            case "GET", "subjects", subject, "versions", version:
                return to_json(rules.version(subject, version))
            case "POST", "compatibility", "subjects", subject, "versions":
                request = RegisterRequest.from_json(load(body or ""))
                return to_json(rules.compatibility(subject, None, request, verbose=True))
            case "POST", "subjects", subject, "versions":
                request = RegisterRequest.from_json(load(body or ""))
                text = SchemaText(
                    Language(request.schema_type), request.schema or "", request.references
                )
                return {"id": self.registry.register(subject, text)}
            case "POST", "subjects", subject:
                request = RegisterRequest.from_json(load(body or ""))
                return to_json(rules.look_up(subject, request))
            case _:
                raise AssertionError(f"{method} {path}")


@pytest.fixture
def server() -> Server:
    return Server()


def client_of(server: Server) -> HttpRegistry:
    return HttpRegistry("", Requests(addresses_of("http://a:1"), server.send))


def test_schemas_are_registered_and_found(server: Server) -> None:
    client = client_of(server)

    number = client.register("a/b-value", INT)

    latest = client.latest("a/b-value")
    assert number == 1
    assert latest is not None
    assert (latest.number, latest.schema_id, latest.schema) == (1, 1, INT)
    assert client.by_id(1).canonical == '"int"'
    assert client.latest("unknown") is None
    assert "GET /subjects/a%2Fb-value/versions/latest" in server.asked


def test_what_never_changes_is_asked_once(server: Server) -> None:
    client = client_of(server)
    guid = server.registry.rules.version("a", "1").guid if client.register("a", INT) else ""

    for _ in range(3):
        client.register("a", INT)
        client.id_of("a", INT)
        client.by_id(1)
        client.text_of(1)
        client.by_guid(guid)

    assert server.asked == [
        "POST /subjects/a/versions",
        "GET /schemas/ids/1",
        f"GET /schemas/guids/{guid}",
    ]


def test_a_schema_of_another_language_is_resolved_with_its_references(server: Server) -> None:
    client = client_of(server)
    client.register("point", SchemaText(Language.AVRO, POINT))
    line = SchemaText(Language.AVRO, LINE, (Reference("Point", "point", 1),))

    found = client.by_id(client.register("line", line))
    text = client.register("text", SchemaText(Language.JSON, '{"type":"string"}'))

    assert POINT[1:-1] in found.formatted("resolved")
    assert client.by_id(text).language == Language.JSON
    assert client.id_of("line", line) == 2


def test_what_a_registry_does_not_know_or_accept_is_told(server: Server) -> None:
    client = client_of(server)
    client.register("a", INT)
    text = SchemaText(Language.AVRO, '"string"')

    assert client.id_of("a", text) is None
    assert client.check("unknown", text) == ()
    assert client.check("a", INT) == ()
    assert "TYPE_MISMATCH" in client.check("a", text)[0]
    with pytest.raises(UnknownSchemaError, match="no schema of id 7"):
        client.by_id(7)
    with pytest.raises(RegistryError, match="incompatible") as caught:
        client.register("a", text)
    assert "error code 409" in caught.value.detail
    assert "duolog schema diff" in caught.value.hint


@pytest.mark.parametrize("answer", [None, [], {"schema": 1}, {"schema": "", "schemaType": "X"}])
def test_an_answer_of_another_form_is_an_error_with_a_hint(answer: Json) -> None:
    client = HttpRegistry("", Requests(addresses_of("http://a"), lambda *_: Answer(200, answer)))

    with pytest.raises(RegistryError, match="another form than expected"):
        client.by_id(1)


def failing(*statuses: int | OSError) -> tuple[list[str], Callable[..., Answer]]:
    """Return the addresses that are asked, and a sender that fails in these ways, then answers."""
    asked: list[str] = []
    left = list(statuses)

    def send(address: Address, *_: object) -> Answer:
        asked.append(address.shown)
        status = left.pop(0) if left else 200
        if isinstance(status, OSError):
            raise status
        return Answer(status, {"id": 1})

    return asked, send


def test_the_next_address_is_asked_if_one_does_not_answer() -> None:
    asked, send = failing(OSError("refused"), 503, 429)
    pauses: list[float] = []
    requests = Requests(addresses_of("http://a,https://b:2/x/"), send, pauses.append)

    assert requests.get("/") == {"id": 1}
    assert asked == ["http://a", "https://b:2/x", "http://a", "https://b:2/x"]
    assert pauses == [0.2]
    # The one that answered is asked first from now on.
    requests.get("/")
    assert asked[-1] == "https://b:2/x"


def test_a_registry_that_never_answers_is_an_error_that_names_its_addresses() -> None:
    asked, send = failing(*[OSError("refused")] * 6)
    pauses: list[float] = []

    with pytest.raises(RegistryError, match="does not answer") as caught:
        Requests(addresses_of("http://u:secret@a,http://b"), send, pauses.append).get("/")

    assert caught.value.detail == "http://a: refused; http://b: refused"
    assert len(asked) == 6
    assert pauses == [0.2, 0.4]


def test_users_are_in_a_header_and_never_shown() -> None:
    (address,) = addresses_of("https://us%40er:p%3Aw@host:8081/base")

    assert address.authorization == "Basic dXNAZXI6cDp3"
    assert address.shown == "https://host:8081/base"
    assert "us@er" not in repr(address)


def test_the_environment_has_the_user_of_addresses_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(USER_VARIABLE, "us@er:p:w")
    own, other = addresses_of("http://a:b@a,http://b")

    assert own.authorization == "Basic YTpi"
    assert other.authorization == "Basic dXNAZXI6cDp3"


def test_a_user_that_is_set_later_is_sent_with_the_next_request() -> None:
    (address,) = addresses_of("http://later:1/")
    assert address.authorization == ""

    keep_users("http://a:b@later:1")
    try:
        assert address.authorization == "Basic YTpi"
    finally:
        forget_users("http://later:1")


def test_an_error_of_an_address_with_a_user_does_not_repeat_it() -> None:
    with pytest.raises(ConfigError) as caught:
        addresses_of("ftp://ann:secret@host")

    assert 'the address "ftp://host"' in caught.value.message
    assert "secret" not in caught.value.render()


@pytest.mark.parametrize("status", [401, 403])
def test_a_registry_that_refuses_the_user_is_an_error_with_a_hint(status: int) -> None:
    requests = Requests(addresses_of("http://a"), lambda *_: Answer(status, None))

    with pytest.raises(RegistryError, match=f"answers {status}") as caught:
        requests.get("/subjects")

    assert isinstance(caught.value, RegistryLoginError)
    assert "ksql.schema.registry.basic.auth.user.info" in caught.value.hint


def test_a_404_of_another_server_does_not_mean_that_a_schema_is_unknown() -> None:
    client = HttpRegistry("", Requests(addresses_of("http://a"), lambda *_: Answer(404, None)))

    with pytest.raises(RegistryError, match="another form than expected") as caught:
        client.by_id(1)

    assert not isinstance(caught.value, UnknownSchemaError)


def test_a_reference_that_is_gone_makes_a_schema_unknown() -> None:
    def send(_: Address, __: str, path: str, ___: str | None) -> Answer:
        if path != "/schemas/ids/1":
            return Answer(404, {"error_code": 40402, "message": "no such version"})
        reference: Json = {"name": "Point", "subject": "point", "version": 1}
        return Answer(200, {"schema": LINE, "references": [reference]})

    client = HttpRegistry("", Requests(addresses_of("http://a"), send))

    with pytest.raises(UnknownSchemaError, match='reference "Point"'):
        client.by_id(1)


@pytest.mark.parametrize("text", ["", "ftp://a", "http://", "a:8081", "http://a:port"])
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not an HTTP address"):
        addresses_of(text)
