"""Subjects of certificates and mapping rules against Java and Kafka, on random ones."""

import random
import re
import subprocess
from collections.abc import Sequence
from typing import Final

from cryptography import x509
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID

from conformance.kafka.peer import HERE, TOOL_OPTIONS, fetch
from conftest import RequireProgram
from duolog.core.errors import ConfigError
from duolog.security.identity.distinguished_names import rfc2253
from duolog.security.identity.mapping_rules import MappingRules

SEED: Final = 27
COUNT: Final = 1500
_OIDS: Final = (
    *(NameOID.COMMON_NAME, NameOID.LOCALITY_NAME, NameOID.STATE_OR_PROVINCE_NAME),
    *(NameOID.ORGANIZATION_NAME, NameOID.ORGANIZATIONAL_UNIT_NAME, NameOID.STREET_ADDRESS),
    *(NameOID.DOMAIN_COMPONENT, NameOID.USER_ID, NameOID.EMAIL_ADDRESS, NameOID.SERIAL_NUMBER),
    *(NameOID.TITLE, NameOID.GIVEN_NAME, x509.ObjectIdentifier("1.2.3.4.5")),
)
_CHARACTERS: Final = 'abcXYZ019 .,-+=<>#;"\\/@äß€$'
_PATTERNS: Final = (
    *("CN=(.*)", "^CN=(.*?),.*$", "CN=([a-z]+)", ".*", "(.*)", "(.*?)", "CN=(a*?)(b?)", "x", ""),
    *("^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$", r"CN=(\w+)\/(\w+)", "(CN|OU)=(.*)", "(?i)cn=(.*)"),
    *("[", "(a", r"CN=(.*)\,(.*)"),
)
_REPLACEMENTS: Final = ("$1", "$1@$2", "", "x", "$3", "$10", r"\$1", r"a\/b", "$0", "u-$1-$1")


def oracle(lines: Sequence[str]) -> list[str]:
    program = ["java", *TOOL_OPTIONS, "-cp", f"{fetch()}/*", str(HERE / "SubjectsAndRules.java")]
    done = subprocess.run(
        program, input="\n".join(lines), capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.splitlines()


def shown(text: str | None) -> str:
    return "none" if text is None else "=" + text.encode().hex()


def random_name(chance: random.Random) -> x509.Name:
    def attribute() -> x509.NameAttribute[str]:
        oid = chance.choice(_OIDS)
        text = "".join(chance.choices(_CHARACTERS, k=chance.randint(1, 9)))
        kind = chance.choice((_ASN1Type.UTF8String, _ASN1Type.PrintableString))
        if kind is _ASN1Type.PrintableString:
            text = (
                "".join(c for c in text if c.isascii() and (c.isalnum() or c in " .,-+=/")) or "a"
            )
        if oid == NameOID.EMAIL_ADDRESS:
            text, kind = "a@b.c", _ASN1Type.IA5String
        return x509.NameAttribute(oid, text, kind)

    return x509.Name(
        [x509.RelativeDistinguishedName([attribute()]) for _ in range(chance.randint(1, 5))]
    )


def test_subjects_are_written_as_java_writes_them(require_program: RequireProgram) -> None:
    require_program("java", package="openjdk-17-jre-headless")
    chance = random.Random(SEED)  # noqa: S311
    names = [random_name(chance) for _ in range(COUNT)]

    theirs = oracle([f"S {name.public_bytes().hex()}" for name in names])

    assert [shown(rfc2253(name)) for name in names] == theirs


def ours(rules: str, subject: str) -> str:
    try:
        return shown(MappingRules(rules).user(subject))
    except ConfigError:
        return "malformed"


def random_rule(chance: random.Random) -> str:
    pattern, replacement = chance.choice(_PATTERNS), chance.choice(_REPLACEMENTS)
    if "(" not in pattern and re.search(r"(?<!\\)\$[1-9]", replacement):
        # Kafka fails with each client that it matches; ours is refused at the start.
        replacement = "x"
    return f"RULE:{pattern}/{replacement}/{chance.choice(('L', 'U', ''))}"


def test_rules_map_as_kafka_maps(require_program: RequireProgram) -> None:
    require_program("java", package="openjdk-17-jre-headless")
    chance = random.Random(SEED)  # noqa: S311
    cases = []
    for _ in range(COUNT):
        rules = [random_rule(chance) for _ in range(chance.randint(1, 3))]
        if chance.random() < 0.3:
            rules.append(chance.choice(("DEFAULT", "", "deny", "RULE:x")))
        subject = chance.choice(("CN=", "OU=a,CN=", "cn=", "")) + "".join(
            chance.choices("abB,/=$ ", k=chance.randint(0, 6))
        )
        cases.append((chance.choice((",", " , ")).join(rules), subject))

    theirs = oracle(
        [f"R {rules.encode().hex()} {subject.encode().hex()}" for rules, subject in cases]
    )

    different = [
        (rules, subject, ours(rules, subject), answer)
        for (rules, subject), answer in zip(cases, theirs, strict=True)
        if ours(rules, subject) != answer
    ]
    assert different == []
