"""Connection settings from files, profiles and the environment."""

import logging
from pathlib import Path

import pytest

from duolog.core.errors import ConfigError
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.profiles import brokers_of, client_profile, profiles_file

LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "ann",
    "sasl.password": "planted",
}
PROFILES = """
[production]
"bootstrap.servers" = "kafka.example:9093"
"client.properties" = "production.properties"
"client.id" = "mine"

[nested]
bootstrap.servers = "b:1"
security.protocol = "SSL"
ssl.ca.location = "authority.pem"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("DUOLOG_CLIENT_PROPERTIES", raising=False)
    monkeypatch.delenv("DUOLOG_PROFILE", raising=False)
    profiles_file().parent.mkdir()
    profiles_file().write_text(PROFILES)
    write(profiles_file().parent / "production.properties", LOGIN)
    return profiles_file().parent


def write(path: Path, properties: dict[str, str]) -> Path:
    path.touch(mode=0o600)
    path.write_text("".join(f"{name} = {value}\n" for name, value in properties.items()))
    return path


def test_a_file_of_properties_is_read(tmp_path: Path) -> None:
    found = client_profile(write(tmp_path / "a.properties", LOGIN))

    assert found.security is not None
    assert found.security.password == LOGIN["sasl.password"]


def test_a_profile_names_brokers_and_a_file_next_to_it() -> None:
    brokers = brokers_of("other:1", None, "production")
    found = client_profile(None, "production")

    assert found.brokers().servers == "kafka.example:9093"
    assert brokers.servers == "other:1"
    assert brokers.security is not None
    assert brokers.client()["sasl.password"] == LOGIN["sasl.password"]
    assert brokers.client()["client.id"] == "mine"


def test_names_of_a_profile_need_no_quotes_and_paths_are_relative_to_it(home: Path) -> None:
    (home / "authority.pem").write_text(
        "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
    )

    found = client_profile(None, "nested")

    assert found.security is not None
    assert found.security.authorities


def test_a_file_overrides_the_profile_and_single_properties_override_both(tmp_path: Path) -> None:
    file = write(tmp_path / "b.properties", {"sasl.username": "bob", "sasl.password": "second"})

    found = client_profile(file, "production", {"sasl.username": "carl"})

    assert found.security is not None
    assert (found.security.username, found.security.password) == ("carl", "second")


def test_the_environment_counts_only_if_nothing_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUOLOG_CLIENT_PROPERTIES", str(write(tmp_path / "c.properties", LOGIN)))

    assert client_profile().security is not None
    assert client_profile({}).security is None
    assert brokers_of(Brokers("a:1")).security is None
    assert brokers_of("a:1").security is not None


def test_an_unknown_profile_is_reported_with_a_similar_one() -> None:
    with pytest.raises(ConfigError, match='profile "prodution"') as caught:
        client_profile(None, "prodution")

    assert "production" in caught.value.hint


def test_an_application_refuses_properties_that_only_one_client_has(tmp_path: Path) -> None:
    file = write(tmp_path / "d.properties", {**LOGIN, "fetch.max.bytes": "1"})

    with pytest.raises(ConfigError, match=r"fetch\.max\.bytes"):
        brokers_of("a:1", file)


@pytest.mark.parametrize("content", [b"sasl.password=planted\xff\n", b"\xff\xfeplanted"])
def test_no_error_about_a_file_repeats_its_contents(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "e.properties"
    file.write_bytes(content)

    with pytest.raises(ConfigError) as caught:
        client_profile(file)

    assert "planted" not in caught.value.render()
    assert caught.value.__cause__ is None


def test_a_damaged_profile_file_is_not_repeated() -> None:
    profiles_file().write_text('[a]\n"sasl.password" = planted\n')

    with pytest.raises(ConfigError, match="not TOML") as caught:
        client_profile(None, "a")

    assert "planted" not in caught.value.render()


@pytest.mark.parametrize(("mode", "warns"), [(0o600, False), (0o644, True), (0o640, True)])
def test_a_file_of_secrets_that_others_can_read_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, *, warns: bool
) -> None:
    file = write(tmp_path / "f.properties", LOGIN)
    file.chmod(mode)

    with caplog.at_level(logging.WARNING):
        client_profile(file)

    assert ("chmod 600" in caplog.text) is warns
    assert "planted" not in caplog.text


def test_brokers_as_text_and_representation_have_no_secret(tmp_path: Path) -> None:
    file = write(tmp_path / "g.properties", LOGIN)
    brokers = client_profile(file).brokers("a")

    assert str(brokers) == "a:9092"
    assert "planted" not in repr(brokers) + repr(client_profile(file))
    assert brokers.client({"security.protocol": "plaintext"})["security.protocol"] != "plaintext"
