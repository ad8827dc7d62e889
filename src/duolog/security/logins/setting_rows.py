"""Settings of issuers of tokens and of rights, which several servers have, under Kafka's names."""

from typing import Final

from duolog.core.setting_types import Kind, Setting, at_least, between, one_of

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

ISSUER_ROWS: Final = (
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
)

AUTHORIZER_ROWS: Final = (
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
        "allow.everyone.if.no.acl.found",
        default=False,
        kind=Kind.BOOLEAN,
        doc="Whether every client may do everything with a resource that no access control list "
        "covers.",
    ),
)
