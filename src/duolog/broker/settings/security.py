"""Settings of users, logins and rights, under Kafka's names."""

from typing import Final

from duolog.core.setting_types import Kind, Setting, at_least, between, one_of

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

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
    Setting(
        "sasl.oauthbearer.jwks.endpoint.url",
        default="",
        kind=Kind.STRING,
        doc="The keys of the issuer whose tokens OAUTHBEARER accepts: an https address, or the "
        "absolute path of a file. Needs the expected issuer and audience, too. Empty means that "
        "only tokens of `duolog tokens` are accepted.",
    ),
    Setting(
        "sasl.oauthbearer.expected.issuer",
        default="",
        kind=Kind.STRING,
        doc="The claim iss of accepted tokens.",
    ),
    Setting(
        "sasl.oauthbearer.expected.audience",
        default="",
        kind=Kind.STRING,
        doc="The audiences of accepted tokens, separated by commas: aud must have one of them.",
    ),
    Setting(
        "sasl.oauthbearer.clock.skew.seconds",
        default=30,
        kind=Kind.INT,
        doc="The seconds by which the clocks of broker and issuer may differ.",
        check=between(0, 300),
    ),
    Setting(
        "sasl.oauthbearer.sub.claim.name",
        default="sub",
        kind=Kind.STRING,
        doc="The claim that has the name of the user.",
    ),
    Setting(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        default=3_600_000,
        kind=Kind.LONG,
        doc="How often the keys of the issuer are loaded again.",
        check=at_least(1000),
    ),
    Setting(
        "authorizer.class.name",
        default="",
        kind=Kind.STRING,
        doc="acl, or Kafka's name of its StandardAuthorizer, checks access control lists: what "
        "none allows is denied. Empty means that every client may do everything.",
        check=one_of("", "acl", STANDARD_AUTHORIZER),
    ),
    Setting(
        "super.users",
        default="",
        kind=Kind.STRING,
        doc="The principals that may do everything, as User:NAME separated by semicolons. Members "
        "of Role:administrators may as well.",
    ),
    Setting(
        "audit.log.topic",
        default="",
        kind=Kind.STRING,
        doc="The topic that gets the lines of the audit log, besides the broker's log. It is "
        "created if it is missing. Only super users may write to it, delete or change it. Empty "
        "means none.",
    ),
    Setting(
        "allow.everyone.if.no.acl.found",
        default=False,
        kind=Kind.BOOLEAN,
        doc="Whether every client may do everything with a resource that no access control list "
        "covers.",
    ),
)
