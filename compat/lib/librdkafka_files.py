"""Files that librdkafka's own tests expect in their environment."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from conformance.kafka.peer import fetch
from lib.users import ADMIN, ADMIN_PASSWORD, certificates, port

_PASSWORD = "store-secret"  # noqa: S105  Of a file that lives as long as a run.
_ACLS = "org.apache.kafka.tools.AclCommand"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def certificate_variables(folder: Path) -> Mapping[str, str]:
    """Write the client's certificate in the forms that test 0097 loads; return its variables."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (certificates() / "client.pem").read_bytes()
    key = load_pem_private_key(text, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    certificate = x509.load_pem_x509_certificate(text)
    authority = x509.load_pem_x509_certificate((certificates() / "ca.pem").read_bytes())
    store = serialize_key_and_certificates(
        b"client", key, certificate, [authority], BestAvailableEncryption(_PASSWORD.encode())
    )
    contents = {
        "SSL_pkcs": store,
        "SSL_pub_der": certificate.public_bytes(Encoding.DER),
        "SSL_pub_pem": certificate.public_bytes(Encoding.PEM),
        "SSL_priv_pem": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        "SSL_ca_der": authority.public_bytes(Encoding.DER),
        "SSL_all_cas_pem": authority.public_bytes(Encoding.PEM),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: str(folder / name) for name in contents} | {"SSL_password": _PASSWORD}


def certificate_settings(variables: Mapping[str, str]) -> Mapping[str, str]:
    """Return the settings of a client with this certificate."""
    return {
        "ssl.key.location": variables["SSL_priv_pem"],
        "ssl.key.password": variables["SSL_password"],
        "ssl.certificate.location": variables["SSL_pub_pem"],
        "ssl.ca.location": variables["SSL_all_cas_pem"],
    }


def kafka_path(folder: Path) -> Path:
    """Write `bin/kafka-acls.sh`, which runs Kafka's program as the super user; return its parent.

    The tests name the address of their own listener, at which the super user cannot log in.
    """
    script = folder / "bin" / "kafka-acls.sh"
    script.parent.mkdir(parents=True, exist_ok=True)
    login = folder / "admin.properties"
    module = f'{_SCRAM} required username="{ADMIN}" password="{ADMIN_PASSWORD}";'
    login.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
        f"sasl.jaas.config={module}\n"
    )
    server = ["--bootstrap-server", f"127.0.0.1:{port('SASL_PLAINTEXT')}"]
    command = ["java", "-Xmx256m", "-cp", f"{fetch()}/*", _ACLS, *server]
    command += ["--command-config", str(login)]
    script.write_text(
        f'#!/bin/sh\n# The first two are the address.\nshift 2\nexec {shlex.join(command)} "$@"\n'
    )
    script.chmod(0o755)
    return folder
