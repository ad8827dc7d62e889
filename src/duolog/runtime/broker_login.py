"""Check that a broker accepts a client's TLS and login, before anything else connects.

librdkafka and Java's clients try a refused login again and again, and a caller learns nothing but
a timeout. This check ends with the first refusal: one attempt, and an error that names the
settings.

Source: librdkafka `RD_KAFKA_RESP_ERR__AUTHENTICATION`, `__SSL`; Kafka
`SaslAuthenticationException`.
"""

import time
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from duolog.core.errors import DuologError
from duolog.runtime.certificate_probe import unverified_hint, why_unverified
from duolog.runtime.errors import BrokerUnavailable, LoginRefused
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import PLAINTEXT, TOKEN_FILE, ClientSecurity

WITHIN_S: Final = 10.0
_ASK_S: Final = 0.25
_ASK_S_MAX: Final = 2.0
_REASON_S: Final = 1.0
_AUTHENTICATION: Final = -169
_SSL: Final = -181
_TRANSPORT: Final = -195
_ALL_BROKERS_DOWN: Final = -187
_DISCONNECTED: Final = "isconnected"
_NO_LOGIN: Final = "not valid in current SASL state"
_NOT_VERIFIED: Final = "certificate verify failed"
# A long pause after a failure: a second attempt with the same settings would fail as well.
_PATIENT: Final = {
    "log_level": 0,
    "reconnect.backoff.ms": 10_000,
    "reconnect.backoff.max.ms": 10_000,
}


def ensure_login(brokers: Brokers, within_s: float = WITHIN_S) -> None:
    """Log in once; return when a broker has answered an authenticated request.

    Does nothing for clients without TLS and login.

    Raises:
        LoginRefused: the broker or the client refuses; the error names the settings.
        BrokerUnavailable: neither happened within `within_s`.
    """
    security = brokers.security
    if security is None or security.protocol == PLAINTEXT:
        return
    failures: list[KafkaError] = []
    admin = AdminClient(brokers.client({**_PATIENT, "error_cb": failures.append}))
    deadline = time.monotonic() + within_s
    ask_s = _ASK_S
    while True:
        try:
            admin.list_topics(timeout=ask_s)
        except KafkaException:
            admin.poll(0)
        else:
            return
        if any(one.code() == _ALL_BROKERS_DOWN for one in failures):
            _await_reason(admin, failures)
        if (refusal := _refusal_among(failures)) is not None:
            raise (
                _unverified(security, brokers.servers, refusal)
                or refused(security, brokers.servers, refusal)
            )
        if time.monotonic() >= deadline:
            raise _silent(security, brokers.servers, failures)
        ask_s = min(2 * ask_s, _ASK_S_MAX)


def _await_reason(admin: AdminClient, failures: list[KafkaError]) -> None:
    """Wait for the reason that all brokers are down, which may come after that."""
    deadline = time.monotonic() + _REASON_S
    while not any(map(_is_refusal, failures)) and time.monotonic() < deadline:
        admin.poll(_ASK_S)


def _refusal_among(failures: list[KafkaError]) -> KafkaError | None:
    """Return the failure that a second attempt would only repeat; None if there is none yet.

    A listener of another protocol closes the connection, of which librdkafka reports no more than
    that all brokers are down. `_PATIENT` lets it not connect again.
    """
    named = next(filter(_is_refusal, failures), None)
    return named or next((one for one in failures if one.code() == _ALL_BROKERS_DOWN), None)


def _is_refusal(error: KafkaError) -> bool:
    # A broker that requires a certificate sends an alert after the handshake.
    return (
        error.code() in {_AUTHENTICATION, _SSL}
        or "SSL alert" in error.str()
        or _DISCONNECTED in error.str()
    )


def refused(security: ClientSecurity, servers: str, error: KafkaError) -> DuologError:
    """Return the error for a refused connection, with the settings that it is about."""
    text = error.str()
    detail = f"{reason(text)}."
    message, hint = _about_tls(security, text)
    if error.code() == _AUTHENTICATION:
        message, hint = _about_login(security, text)
    elif error.code() == _ALL_BROKERS_DOWN:
        message, hint = _about_closing(security)
        detail = "It gives no reason; its log may have one."
    elif error.code() == _TRANSPORT and _DISCONNECTED in text and "handshake" not in text:
        message, hint = _about_closing(security)
    return LoginRefused(message.format(f"the broker at {servers}"), detail=detail, hint=hint)


def _unverified(security: ClientSecurity, servers: str, error: KafkaError) -> LoginRefused | None:
    """Return the error about a certificate, with OpenSSL's reason; None if it is accepted.

    librdkafka has no reason, or reports only that all brokers are down.
    """
    about_tls = error.code() == _ALL_BROKERS_DOWN or _NOT_VERIFIED in error.str()
    if not (security.encrypts and about_tls):
        return None
    why = why_unverified(security, servers)
    if not why:
        return None
    return LoginRefused(
        f"the certificate of the broker at {servers} cannot be verified",
        detail=f"{why}.",
        hint=unverified_hint(security, why),
    )


def _about_login(security: ClientSecurity, text: str) -> tuple[str, str]:
    if "nsupported SASL mechanism" in text:
        return (
            f"{{}} does not offer SASL mechanism {security.mechanism}",
            f"Set sasl.mechanism{security.where} to one of the broker's.",
        )
    if _NO_LOGIN in text:
        protocol = f"it is {security.protocol}"
        hint = f"Set security.protocol{security.where} to that of its listener; {protocol}."
        return "{} takes no login at this listener", hint
    if security.bearer:
        return "{} refuses the token of the login", f"Check {TOKEN_FILE}{security.where}."
    names = "sasl.username and sasl.password (or sasl.jaas.config)"
    user = security.username
    if security.token is not None:
        names = "sasl.oauthbearer.client.id, …client.secret and …token.endpoint.url"
        user = security.token.client_id
    return f'{{}} refuses the login of user "{user}"', f"Check {names}{security.where}."


def _about_closing(security: ClientSecurity) -> tuple[str, str]:
    return (
        f"{{}} closes the connection of a client of security protocol {security.protocol}",
        (
            f"Set security.protocol{security.where} to that of its listener: SSL and SASL_SSL "
            "encrypt, SASL_PLAINTEXT and SASL_SSL log in."
        ),
    )


def _about_tls(security: ClientSecurity, text: str) -> tuple[str, str]:
    where = security.where
    if "Disconnected" in text:
        return (
            "{} does not speak TLS",
            f"Set security.protocol{where} to that of its listener; it is {security.protocol}.",
        )
    if _NOT_VERIFIED in text:
        return "the certificate of {} cannot be verified", unverified_hint(security, text)
    hint = (
        f"Check ssl.keystore.location (ssl.certificate.location and ssl.key.location){where}: the "
        "broker may require a client certificate that it trusts."
    )
    return "{} refuses the TLS connection", hint


def _silent(security: ClientSecurity, servers: str, seen: list[KafkaError]) -> BrokerUnavailable:
    told = "; ".join(dict.fromkeys(reason(error.str()) for error in seen))
    return BrokerUnavailable(
        f"the broker at {servers} does not complete a connection",
        detail=f"{told or 'It accepts connections, but answers no request'}.",
        hint=f"Check security.protocol{security.where}, which is {security.protocol}, against the "
        "listener at this address; and the broker's log.",
    )


def reason(text: str) -> str:
    """Return an error's text without the address and the state at its ends.

    Example:
        >>> reason("sasl_ssl://a:1/bootstrap: Authentication failed (after 3ms in state X)")
        'Authentication failed'
    """
    _, colon, rest = text.partition("/bootstrap: ")
    return (rest if colon else text).partition(" (after ")[0].rstrip(".")
