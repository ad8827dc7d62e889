r"""Subjects are written as Java's `X500Principal.getName()` writes them; see the conformance test."""

import pytest
from cryptography import x509
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID

from duolog.security.identity.distinguished_names import rfc2253


def one(oid: x509.ObjectIdentifier, value: str) -> x509.NameAttribute[str]:
    return x509.NameAttribute(oid, value)


def test_the_last_name_of_the_certificate_comes_first() -> None:
    name = x509.Name(
        [
            one(NameOID.COUNTRY_NAME, "DE"),
            one(NameOID.STATE_OR_PROVINCE_NAME, "Bayern"),
            one(NameOID.ORGANIZATION_NAME, "Example"),
            one(NameOID.COMMON_NAME, "alice"),
        ]
    )

    assert rfc2253(name) == "CN=alice,O=Example,ST=Bayern,C=DE"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a,b", r"a\,b"),
        ("a=b", r"a\=b"),
        ("a+b<c>d;e", r"a\+b\<c\>d\;e"),
        ('say "x"', r"say \"x\""),
        ("back\\slash", r"back\\slash"),
        ("#1", r"\#1"),
        ("a#1", r"a\#1"),
        (" a ", r"\ a\ "),
        ("Müller", "Müller"),
        ("a\0b", "a\\00b"),
    ],
)
def test_special_characters_are_escaped(value: str, text: str) -> None:
    assert rfc2253(x509.Name([one(NameOID.COMMON_NAME, value)])) == f"CN={text}"


def test_other_attributes_are_numbers_and_bytes() -> None:
    email = x509.NameAttribute(NameOID.EMAIL_ADDRESS, "a@b.c", _ASN1Type.IA5String)
    long = x509.NameAttribute(NameOID.SERIAL_NUMBER, "x" * 64, _ASN1Type.PrintableString)

    assert rfc2253(x509.Name([email])) == "1.2.840.113549.1.9.1=#16056140622e63"
    assert rfc2253(x509.Name([long])) == "2.5.4.5=#1340" + "78" * 64


def test_names_of_several_attributes_are_joined() -> None:
    rdn = x509.RelativeDistinguishedName([one(NameOID.COMMON_NAME, "a"), one(NameOID.USER_ID, "b")])

    assert set(rfc2253(x509.Name([rdn])).split("+")) == {"CN=a", "UID=b"}
