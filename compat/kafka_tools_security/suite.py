"""Apache Kafka's own programs with logins over TLS: kafka-acls, kafka-configs, clients, Streams."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from uuid import uuid4

from lib.java import run_java
from lib.outcomes import Outcome
from lib.users import ADMIN, ADMIN_PASSWORD, add_users, certificates, port, token

ACLS = "org.apache.kafka.tools.AclCommand"
CONFIGS = "kafka.admin.ConfigCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
PRODUCER = "org.apache.kafka.tools.VerifiableProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
USER, PASSWORD = "jane", "janes-secret"
LOGINS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "mTLS")
WRONG = "wrong-secret"
RECORDS = 200
_MODULES = "org.apache.kafka.common.security"
_TIMEOUT_S = 90


class Tools:
    """Runs programs, each with the properties of a login in a file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._token = folder / "token"

    def properties(self, login: str, user: str, password: str) -> Path:
        found = {"ssl.truststore.type": "PEM"}
        found["ssl.truststore.location"] = str(certificates() / "ca.pem")
        if login == "mTLS":
            found |= {"security.protocol": "SSL", "ssl.keystore.type": "PEM"}
            found["ssl.keystore.location"] = str(certificates() / "client.pem")
        else:
            found |= {"security.protocol": "SASL_SSL", "sasl.mechanism": login}
            found["sasl.jaas.config"] = self._jaas(login, user, password)
        if login == "OAUTHBEARER":
            self._token.write_text(token(USER))
            found["sasl.oauthbearer.token.endpoint.url"] = self._token.as_uri()
            found["sasl.login.callback.handler.class"] = (
                f"{_MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler"
            )
        path = self._folder / f"{uuid4()}.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in found.items()))
        return path

    @staticmethod
    def _jaas(login: str, user: str, password: str) -> str:
        if login == "OAUTHBEARER":
            return f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;"
        module = "plain.Plain" if login == "PLAIN" else "scram.Scram"
        return f'{_MODULES}.{module}LoginModule required username="{user}" password="{password}";'

    def run(
        self, program: str, option: str, *arguments: str, login: str = "SCRAM-SHA-512",
        user: str = ADMIN, password: str = ADMIN_PASSWORD,
    ) -> tuple[int | None, str]:  # fmt: skip
        """Return the status and the output of a program."""
        servers = f"127.0.0.1:{port('SSL' if login == 'mTLS' else 'SASL_SSL')}"
        file = str(self.properties(login, user, password))
        log = self._folder / f"{program.rpartition('.')[2]}-{uuid4()}.txt"
        words = ("--bootstrap-server", servers, option, file, *arguments)
        # Java reads a token of a file only if the file is allowed by name.
        allowed = (
            f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self._token.as_uri()}",
            f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.files={self._token}",
        )
        return run_java(log, program, *words, timeout_s=_TIMEOUT_S, jvm_options=allowed)

    def done(self, *arguments: str, **more: str) -> str:
        """Return the output of a program.

        Raises:
            AssertionError: it has failed.
        """
        status, output = self.run(*arguments, **more)
        assert status == 0, output
        return output

    def topic(self) -> str:
        name = f"secured-{uuid4()}"
        self.done(TOPICS, "--command-config", "--create", "--topic", name)
        return name


def round_trip(tools: Tools, login: str) -> None:
    """Write and read with one login; a certificate names its own user."""
    topic = tools.topic()
    who = {"login": login, "user": USER, "password": PASSWORD}
    words = ("--topic", topic, "--max-messages", str(RECORDS))
    assert f'"acked":{RECORDS}' in tools.done(PRODUCER, "--producer.config", *words, **who)
    read = tools.done(
        CONSUMER, "--consumer.config", "--topic", topic, "--from-beginning",
        "--max-messages", str(RECORDS), **who,
    )  # fmt: skip
    assert re.findall(r"^\d+$", read, re.MULTILINE) == [str(n) for n in range(RECORDS)]


def refused(tools: Tools, login: str) -> None:
    """A wrong password is Java's SaslAuthenticationException, and in no text."""
    _, output = tools.run(
        ACLS, "--command-config", "--list", login=login, user=USER, password=WRONG
    )
    assert "SaslAuthenticationException" in output
    assert WRONG not in output


def acls(tools: Tools) -> None:
    """kafka-acls adds, lists and removes rules, which the broker obeys."""
    topic = tools.topic()
    rule = ("--topic", topic, "--deny-principal", f"User:{USER}", "--operation", "Write")
    everything = ("--topic", topic, "--allow-principal", "User:*", "--operation", "All")
    prefixed = ("--topic", "pre", "--resource-pattern-type", "prefixed", "--producer")
    prefixed += ("--allow-principal", "User:other")
    config = (ACLS, "--command-config")
    for words in (rule, everything, prefixed):
        tools.done(*config, "--add", *words)
    listed = tools.done(*config, "--list", "--topic", topic)
    assert f"principal=User:{USER}, host=*, operation=WRITE, permissionType=DENY" in listed
    assert "PREFIXED" in tools.done(*config, "--list", "--principal", "User:other")
    words = (PRODUCER, "--producer.config", "--topic", topic, "--max-messages", "1")
    who = {"user": USER, "password": PASSWORD}
    assert "TopicAuthorizationException" in tools.run(*words, **who)[1]
    tools.done(*config, "--remove", "--force", *rule)
    assert '"acked":1' in tools.done(*words, **who)
    for words in (everything, prefixed):
        tools.done(*config, "--remove", "--force", *words)
    assert "principal=" not in tools.done(*config, "--list")


def users(tools: Tools) -> None:
    """kafka-configs adds, describes and deletes the SCRAM credentials of a user."""
    config = (CONFIGS, "--command-config")
    who = ("--entity-type", "users", "--entity-name", "kim")
    both = "SCRAM-SHA-256=[iterations=8192,password=kims]", "SCRAM-SHA-512=[password=kims]"
    # Both in one request are refused, as Kafka refuses them.
    assert "altered twice" in tools.run(*config, "--alter", *who, "--add-config", ",".join(both))[1]
    for secret in both:
        tools.done(*config, "--alter", *who, "--add-config", secret)
    described = tools.done(*config, "--describe", *who)
    assert "SCRAM-SHA-256=iterations=8192" in described
    assert "SCRAM-SHA-512=iterations=4096" in described
    login = {"user": "kim", "password": "kims", "login": "SCRAM-SHA-256"}
    assert tools.run(TOPICS, "--command-config", "--list", **login)[0] == 0
    tools.done(*config, "--alter", *who, "--delete-config", "SCRAM-SHA-256")
    described = tools.done(*config, "--describe", *who)
    assert "SCRAM-SHA-256" not in described
    assert "SCRAM-SHA-512" in described
    # TopicCommand prints the message without its class.
    _, output = tools.run(ACLS, "--command-config", "--list", **login)
    assert "SaslAuthenticationException" in output
    tools.done(*config, "--alter", *who, "--delete-config", "SCRAM-SHA-512")


def quotas(tools: Tools) -> None:
    """kafka-configs sets, describes and removes a quota of a user."""
    config = (CONFIGS, "--command-config")
    who = ("--entity-type", "users", "--entity-name", USER)
    tools.done(*config, "--alter", *who, "--add-config", "producer_byte_rate=1048576")
    assert "producer_byte_rate=1048576" in tools.done(*config, "--describe", *who)
    tools.done(*config, "--alter", *who, "--delete-config", "producer_byte_rate")
    assert "producer_byte_rate" not in tools.done(*config, "--describe", *who)


CHECKS: Mapping[str, Callable[[Tools], None]] = MappingProxyType(
    {
        "kafka-acls: rules are added, listed, obeyed and removed": acls,
        "kafka-configs: SCRAM users are added, described and deleted": users,
        "kafka-configs: quotas of a user are set and removed": quotas,
        **{
            f"producer and consumer with {login} over TLS": lambda tools, login=login: round_trip(
                tools, login
            )
            for login in LOGINS
        },
        **{
            f"a wrong password is a failed login with {login}": lambda tools, login=login: refused(
                tools, login
            )
            for login in LOGINS[:3]
        },
    }
)


class KafkaToolsSecurity:
    """The checks above."""

    client = "Java clients 4.1.2"
    settings: Mapping[str, str] = MappingProxyType({})
    secured = True

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers
        add_users({USER: PASSWORD})
        tools = Tools(cache / "logs")
        outcomes = {}
        with (cache / "log.txt").open("w") as log:
            for name, check in CHECKS.items():
                if selection and name not in selection:
                    continue
                try:
                    check(tools)
                    outcomes[name] = Outcome.PASSED
                except Exception as error:  # noqa: BLE001  Whatever it was, the check failed.
                    outcomes[name] = Outcome.FAILED
                    log.write(f"{name}: {type(error).__name__}: {error}\n")
        return outcomes


SUITE = KafkaToolsSecurity()
