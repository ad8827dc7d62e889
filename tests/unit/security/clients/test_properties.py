"""Properties by Kafka's and librdkafka's names become one form, or are refused by name."""

import time
from pathlib import Path

import pytest

from duolog.core.errors import ConfigError
from duolog.security.clients.client_security import ClientSecurity
from duolog.security.clients.properties import split_properties

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\ncGxhbnRlZA==\n-----END PRIVATE KEY-----\n"
MODULES = "org.apache.kafka.common.security"
SCRAM = f'{MODULES}.scram.ScramLoginModule required username="ann" password="planted";'
TOKEN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
}


def security_of(given: dict[str, str]) -> ClientSecurity:
    found = split_properties(given).security
    assert found is not None
    return found


def test_the_names_of_java_and_of_librdkafka_mean_the_same(tmp_path: Path) -> None:
    authority = tmp_path / "authority.pem"
    authority.write_text(CERTIFICATE)
    java = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": SCRAM,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority),
    }
    librdkafka = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "ann",
        "sasl.password": "planted",
        "ssl.ca.location": str(authority),
    }

    assert security_of(java) == security_of(librdkafka)
    assert security_of(java).librdkafka() == {
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "ann",
        "sasl.password": "planted",
        "ssl.ca.pem": CERTIFICATE,
        "ssl.endpoint.identification.algorithm": "https",
    }


def test_a_keystore_has_certificates_and_the_key(tmp_path: Path) -> None:
    store = tmp_path / "client.pem"
    store.write_text(f"subject=CN = ann\n{KEY}{CERTIFICATE}{CERTIFICATE}")

    found = security_of({"security.protocol": "SSL", "ssl.keystore.location": str(store)})

    assert (found.key, found.chain.count("BEGIN CERTIFICATE")) == (KEY, 2)
    assert "PRIVATE" not in found.chain


def test_client_credentials_are_read_from_jaas_and_from_properties() -> None:
    jaas = f"{MODULES}.oauthbearer.OAuthBearerLoginModule required clientId=i clientSecret=planted;"

    by_jaas = security_of({**TOKEN, "sasl.jaas.config": jaas})
    by_name = security_of(
        {
            **TOKEN,
            "sasl.oauthbearer.client.id": "i",
            "sasl.oauthbearer.client.secret": "planted",
            "sasl.oauthbearer.method": "oidc",
        }
    )

    assert by_jaas == by_name
    assert by_jaas.librdkafka()["sasl.oauthbearer.client.secret"] == "planted"


def test_properties_of_something_else_are_left() -> None:
    found = split_properties({"client.id": "a", "bootstrap.servers": "b:1"})

    assert found.security is None
    assert found.others == {"client.id": "a", "bootstrap.servers": "b:1"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sasl.client.callback.handler.class", "com.example.Evil"),
        ("sasl.login.callback.handler.class", "com.example.Evil"),
        ("sasl.login.class", "com.example.Evil"),
        ("ssl.engine.factory.class", "com.example.Evil"),
        ("ssl.engine.location", "evil.so"),
        ("security.providers", "com.example.Evil"),
        ("config.providers", "file"),
        ("config.providers.file.class", "com.example.Evil"),
        ("interceptor.classes", "com.example.Evil"),
        ("metric.reporters", "com.example.Evil"),
        ("plugin.library.paths", "evil.so"),
        ("client.id", "${file:/etc/passwd:root}"),
        ("sasl.mechanism", "${env:HOME}"),
        ("sasl.jaas.config", "${file:/tmp/x:jaas}"),
        ("sasl.kerberos.service.name", "kafka"),
        ("sasl.unknown", "x"),
        ("ssl.truststore.type", "JKS"),
        ("ssl.keystore.password", "planted"),
        ("ssl.endpoint.identification.algorithm", "ldap"),
        ("enable.ssl.certificate.verification", "false"),
        ("enable.sasl.oauthbearer.unsecure.jwt", "true"),
        ("security.protocol", "TLS"),
    ],
)
def test_what_loads_code_reads_files_or_has_no_meaning_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        split_properties({name: value})

    assert name in caught.value.render()
    assert "planted" not in caught.value.render()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}, "GSSAPI"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.username"),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "a",
            },
            "sasl.password",
        ),
        ({"sasl.mechanism": "PLAIN", "sasl.username": "a"}, "security.protocol"),
        ({"security.protocol": "SSL", "sasl.password": "planted"}, "security.protocol"),
        ({"security.protocol": "PLAINTEXT", "ssl.ca.pem": CERTIFICATE}, "security.protocol"),
        ({"security.protocol": "SSL", "ssl.certificate.pem": CERTIFICATE}, "ssl.key.location"),
        ({"security.protocol": "SSL", "ssl.key.pem": KEY}, "ssl.certificate.location"),
        ({"security.protocol": "SSL", "ssl.key.pem": CERTIFICATE}, "ssl.key.pem"),
        (TOKEN, "sasl.oauthbearer.client.id"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(given: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        split_properties(given)

    assert named in caught.value.render()
    assert "planted" not in caught.value.render()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://login.example/token", "login"])
def test_a_token_endpoint_is_not_a_file_and_not_in_clear(url: str) -> None:
    secret = {"sasl.oauthbearer.client.id": "i", "sasl.oauthbearer.client.secret": "planted"}

    with pytest.raises(ConfigError, match=r"token\.endpoint\.url"):
        split_properties({**TOKEN, **secret, "sasl.oauthbearer.token.endpoint.url": url})


def test_a_file_that_is_not_pem_is_named(tmp_path: Path) -> None:
    store = tmp_path / "store.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed")

    with pytest.raises(ConfigError, match=r"store\.jks") as caught:
        split_properties({"security.protocol": "SSL", "ssl.truststore.location": str(store)})

    assert "keytool" in caught.value.hint


def test_no_representation_has_a_secret() -> None:
    found = security_of(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": SCRAM,
            "ssl.certificate.pem": CERTIFICATE,
            "ssl.key.pem": KEY,
            "ssl.key.password": "planted",
        }
    )

    assert "planted" not in repr(found)
    assert "cGxhbnRlZA" not in repr(found)
    assert set(found.secrets) == {"planted", KEY}


def bearer(directory: Path, content: str, **more: str) -> dict[str, str]:
    (directory / "ann.token").write_text(content)
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.location": str(directory / "ann.token"),
        **more,
    }


def test_a_token_is_read_from_a_file_and_given_to_librdkafka(tmp_path: Path) -> None:
    found = security_of(bearer(tmp_path, "planted.abc-1_~+/==\n"))

    settings = found.librdkafka()
    value, until = settings["oauth_cb"]("")
    assert (found.bearer, value) == ("planted.abc-1_~+/==", "planted.abc-1_~+/==")
    assert until > time.time()
    assert "sasl.oauthbearer.method" not in settings
    assert "planted" not in f"{found!r}"
    assert found.secrets == ("planted.abc-1_~+/==",)


@pytest.mark.parametrize(
    "content", ["", " \n", "two planted words", "a\0b", "x" * 20_000, "planteé"]
)
def test_a_file_without_a_token_is_refused_without_its_content(
    tmp_path: Path, content: str
) -> None:
    with pytest.raises(ConfigError, match="has no token") as caught:
        security_of(bearer(tmp_path, content))

    assert "planted" not in caught.value.render()
    assert "duolog tokens create" in caught.value.hint


def test_a_missing_token_file_is_named(tmp_path: Path) -> None:
    given = bearer(tmp_path, "a") | {"sasl.oauthbearer.token.location": str(tmp_path / "none")}

    with pytest.raises(ConfigError, match=r'none" of setting .* cannot be read'):
        security_of(given)


def test_a_token_and_a_token_endpoint_are_refused_together(tmp_path: Path) -> None:
    given = bearer(
        tmp_path, "a", **{"sasl.oauthbearer.token.endpoint.url": "https://login.example/t"}
    )

    with pytest.raises(ConfigError, match="both given"):
        security_of(given)


def test_a_token_without_sasl_has_no_effect_and_is_refused(tmp_path: Path) -> None:
    given = bearer(tmp_path, "a") | {"security.protocol": "SSL"}
    del given["sasl.mechanism"]

    with pytest.raises(ConfigError, match="but security"):
        security_of(given)
