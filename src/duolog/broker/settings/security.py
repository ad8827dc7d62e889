"""Settings of users, logins and rights, under Kafka's names."""

from dataclasses import replace
from typing import Final

from duolog.core.setting_types import Kind, Setting, at_least
from duolog.security.logins.setting_rows import AUTHORIZER_ROWS, ISSUER_ROWS

SECURITY_ROWS: Final = (
    Setting(
        "sasl.enabled.mechanisms",
        default="SCRAM-SHA-256,SCRAM-SHA-512",
        kind=Kind.STRING,
        doc="The SASL mechanisms that clients may log in with: PLAIN, SCRAM-SHA-256, "
        "SCRAM-SHA-512, OAUTHBEARER. GSSAPI is not supported. listener.name.NAME.… sets it for one "
        "listener.",
    ),
    Setting(
        "connections.max.reauth.ms",
        default=0,
        kind=Kind.LONG,
        doc="The time after which clients must log in again; others are disconnected. 0 means "
        "that only the expiry of a token ends a session. listener.name.NAME.… sets it for one "
        "listener.",
        check=at_least(0),
    ),
    Setting(
        "connection.failed.authentication.delay.ms",
        default=100,
        kind=Kind.INT,
        doc="The delay before a failed login is answered and its connection is closed.",
        check=at_least(0),
    ),
    *(
        replace(row, doc=f"{row.doc} listener.name.NAME.… sets it for one listener.")
        for row in ISSUER_ROWS
    ),
    *AUTHORIZER_ROWS,
    Setting(
        "audit.log.topic",
        default="",
        kind=Kind.STRING,
        doc="The topic that gets the lines of the audit log, besides the broker's log. It is "
        "created if it is missing. Only super users may write to it, delete or change it. Empty "
        "means none.",
    ),
)
