"""Kafka's kafka-configs, kafka-acls and producer against a broker with logins and rights.

Java's clients log in by PLAIN and SCRAM, and again before a session expires.
"""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.kafka.peer import TOOL_OPTIONS, fetch
from conftest import RequireProgram
from duolog.runtime.broker_process import BrokerProcess

TIMEOUT_S = 60
SECRET, ALICES = "first-secret", "alices-secret"
CONFIGS = "kafka.admin.ConfigCommand"
ACLS = "org.apache.kafka.tools.AclCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
PRODUCER = "org.apache.kafka.tools.VerifiableProducer"

Tool = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    directory = tmp_path_factory.mktemp("security-tools")
    password = directory / "password"
    password.write_text(SECRET)
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "connections.max.reauth.ms": "3000",
    }
    listen = "SASL_PLAINTEXT://127.0.0.1:0"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUOLOG_ADMIN_PASSWORD_FILE", str(password))
        with BrokerProcess(directory / "data", listen, settings=settings) as process:
            yield process


@pytest.fixture(scope="module")
def tool(
    broker: BrokerProcess,
    require_program: RequireProgram,
    tmp_path_factory: pytest.TempPathFactory,
) -> Tool:
    """Run a tool as a user; the option of its properties comes first."""
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    directory = tmp_path_factory.mktemp("properties")

    def run(
        name: str, option: str, *arguments: str, user: str = "admin", typed: str = SECRET,
        how: str = "SCRAM-SHA-512",
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        kind = "plain.Plain" if how == "PLAIN" else "scram.Scram"
        path = directory / f"{user}-{how}.properties"
        path.write_text(
            "security.protocol=SASL_PLAINTEXT\n"
            f"sasl.mechanism={how}\n"
            f"sasl.jaas.config=org.apache.kafka.common.security.{kind}LoginModule required "
            f'username="{user}" password="{typed}";\n'
        )
        return subprocess.run(
            ["java", *TOOL_OPTIONS, "-cp", f"{fetch()}/*", name, "--bootstrap-server",
             broker.bootstrap_servers, option, str(path), *arguments],
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip

    return run


def output(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_kafkas_tools_manage_users_and_rules(tool: Tool, tmp_path: Path) -> None:
    del tmp_path
    configs, acls = (CONFIGS, "--command-config"), (ACLS, "--command-config")
    alice = ("--entity-type", "users", "--entity-name", "alice")
    secrets = (
        f"SCRAM-SHA-256=[iterations=4096,password={ALICES}]",
        f"SCRAM-SHA-512=[password={ALICES}]",
    )

    for secret in secrets:
        output(tool(*configs, "--alter", *alice, "--add-config", secret))
    described = output(tool(*configs, "--describe", *alice, how="PLAIN"))
    assert "SCRAM-SHA-256=iterations=4096" in described
    assert "SCRAM-SHA-512=iterations=4096" in described
    assert ALICES not in described

    output(tool(TOPICS, "--command-config", "--create", "--topic", "orders"))
    rule = ("--allow-principal", "User:alice", "--producer", "--topic", "orders")
    output(tool(*acls, "--add", *rule))
    listed = output(tool(*acls, "--list", how="SCRAM-SHA-256"))
    assert "principal=User:alice, host=*, operation=WRITE, permissionType=ALLOW" in listed
    assert "name=orders" in listed

    produced = tool(
        PRODUCER, "--producer.config", "--topic", "orders", "--max-messages", "10",
        user="alice", typed=ALICES, how="SCRAM-SHA-256",
    )  # fmt: skip
    assert '"acked":10' in output(produced)

    output(tool(*acls, "--remove", *rule, "--force"))
    assert "User:alice" not in output(tool(*acls, "--list"))


def test_a_java_producer_logs_in_again_while_it_sends(broker: BrokerProcess, tool: Tool) -> None:
    """KIP-368: 80 records at 10 per second outlive two sessions of three seconds."""
    output(tool(TOPICS, "--command-config", "--create", "--topic", "long"))

    produced = tool(
        PRODUCER, "--producer.config", "--topic", "long", "--max-messages", "80", "--throughput", "10"
    )  # fmt: skip

    assert '"acked":80' in output(produced)
    logins = [line for line in broker.log_path.read_text().splitlines() if '"success"' in line]
    assert len(logins) >= 5


@pytest.mark.parametrize("how", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_java_reports_a_wrong_password_as_a_failed_login(tool: Tool, how: str) -> None:
    done = tool(ACLS, "--command-config", "--list", typed="wrong-secret", how=how)

    assert "SaslAuthenticationException" in done.stdout + done.stderr
    assert "wrong-secret" not in done.stdout + done.stderr


def test_a_user_without_rights_sees_no_rules(tool: Tool) -> None:
    secret = f"SCRAM-SHA-512=[password={ALICES}]"
    output(
        tool(CONFIGS, "--command-config", "--alter", "--entity-type", "users", "--entity-name",
             "eve", "--add-config", secret)
    )  # fmt: skip

    done = tool(ACLS, "--command-config", "--list", user="eve", typed=ALICES)

    assert "ClusterAuthorizationException" in done.stdout + done.stderr
