"""Pass the security of Kafka clients to the JVM, which keeps the secrets in memory only.

    settings of clients     security.protocol, sasl.mechanism, classes of the kernel, a name
    ClientSecrets (JVM)     name ─▶ user, password, certificates, key

Settings of clients are in Spark's plans, tasks and logs, so they have a name in place of secrets.
The classes of the kernel, called by Kafka's clients, look the name up. Secrets reach the JVM
through py4j's connection, not as arguments of a process, and executors as a property of the
query's jobs: see `ClientSecrets` of the kernel.

Source: Kafka `SaslConfigs`, `SslConfigs`; KIP-86, KIP-519 for the classes.
"""

import json
import uuid
from threading import Lock
from typing import Final

from duolog.engine.kernel_classes import kernel_class_name
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.session import Session
from duolog.security.clients.client_security import OAUTHBEARER, TOKEN_ENDPOINT, ClientSecurity

_NAME: Final = "duolog.security"
"""As in `ClientSecrets` of the kernel."""
_MODULES: Final = "org.apache.kafka.common.security."
_LOGIN_MODULES: Final = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
    OAUTHBEARER: "oauthbearer.OAuthBearerLoginModule",
}
_lock: Final = Lock()
_names: Final[dict[ClientSecurity, str]] = {}


def jvm_security(security: ClientSecurity | None) -> dict[str, str]:
    """Return the security settings of Kafka's clients in the JVM; none is a secret."""
    if security is None:
        return {}
    name = _name_of(security)
    found = {"security.protocol": security.protocol, _NAME: name}
    if security.encrypts:
        found["ssl.engine.factory.class"] = kernel_class_name("SecretTls")
        found["ssl.endpoint.identification.algorithm"] = "https" if security.verifies_host else ""
    if security.has_login:
        module = f"{_MODULES}{_LOGIN_MODULES[security.mechanism]}"
        found["sasl.mechanism"] = security.mechanism
        # The name distinguishes logins in Kafka's cache.
        found["sasl.jaas.config"] = f'{module} required duolog="{name}";'
        if security.mechanism != OAUTHBEARER:
            found["sasl.client.callback.handler.class"] = kernel_class_name("SecretLogin")
        else:
            found["sasl.login.callback.handler.class"] = kernel_class_name("SecretTokens")
            if security.token is not None:
                found[TOKEN_ENDPOINT] = security.token.url
    return found


def tell_client_secrets(session: Session, config: EngineConfig) -> None:
    """Pass the secrets of an application's clients to the JVM, before it creates a client.

    Queries that the calling thread starts pass them to their tasks.
    """
    security = config.security
    if security is not None:
        java = session.spark._jsparkSession  # noqa: SLF001 - PySpark has no public access to Java
        secrets = json.dumps({_name_of(security): _fields(security)})
        session.kernel("ClientSecrets").tell(java, secrets)


def _fields(security: ClientSecurity) -> dict[str, str]:
    """Return the fields that classes of the kernel read."""
    fields = {
        "username": security.username,
        "password": security.password,
        "bearer": security.bearer,
        "authorities": security.authorities,
        "chain": security.chain,
        "key": security.key,
        "key_password": security.key_password,
    }
    if security.token is not None:
        fields |= {
            TOKEN_ENDPOINT: security.token.url,
            "clientId": security.token.client_id,
            "clientSecret": security.token.client_secret,
            "scope": security.token.scope,
        }
    return {name: text for name, text in fields.items() if text}


def _name_of(security: ClientSecurity) -> str:
    """Return the name of these secrets in this process: random, since a hash could be guessed."""
    with _lock:
        return _names.setdefault(security, uuid.uuid4().hex)
