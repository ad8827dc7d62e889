r"""The subject of a certificate as text, exactly as Java writes it.

    CN=alice,OU=Payments\, EU,O=Example,C=DE          the last name of the certificate comes first

RFC 2253 has keywords for nine attributes; others are written by their number with the bytes of
their value: `1.2.840.113549.1.9.1=#160d…` is an e-mail address. So ACLs and mapping rules made for
Apache Kafka work unchanged.

Source: RFC 2253; Java `X500Principal.getName()`, `AVA.toRFC2253String`.
"""

from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID

from duolog.core.units import SECOND_MS

_KEYWORDS: Final = {
    NameOID.COMMON_NAME: "CN",
    NameOID.COUNTRY_NAME: "C",
    NameOID.LOCALITY_NAME: "L",
    NameOID.STATE_OR_PROVINCE_NAME: "ST",
    NameOID.ORGANIZATION_NAME: "O",
    NameOID.ORGANIZATIONAL_UNIT_NAME: "OU",
    NameOID.STREET_ADDRESS: "STREET",
    NameOID.DOMAIN_COMPONENT: "DC",
    NameOID.USER_ID: "UID",
}
_AS_TEXT: Final = {
    _ASN1Type.PrintableString,
    _ASN1Type.T61String,
    _ASN1Type.IA5String,
    _ASN1Type.BMPString,
    _ASN1Type.UTF8String,
}
_ESCAPED: Final = frozenset(',=+<>#;"\\')
_BLANKS: Final = " \r"


def subject_of(certificate: bytes) -> str:
    """Return the subject of a certificate in DER.

    Raises:
        ValueError: the certificate cannot be read.
    """
    try:
        return rfc2253(x509.load_der_x509_certificate(certificate).subject)
    except (TypeError, KeyError, x509.InvalidVersion, UnsupportedAlgorithm) as error:
        # As for an attribute of the type BIT STRING, or version 4: OpenSSL lets both pass.
        raise ValueError(f"{type(error).__name__}: {error}") from error


def is_valid_at(certificate: bytes, time_ms: int) -> bool:
    """Return whether a certificate in DER is valid at a time in milliseconds since 1970.

    Raises:
        ValueError: the certificate cannot be read.
    """
    read = x509.load_der_x509_certificate(certificate)
    at = datetime.fromtimestamp(time_ms / SECOND_MS, UTC)
    return read.not_valid_before_utc <= at <= read.not_valid_after_utc


def rfc2253(name: x509.Name) -> str:
    r"""Return a distinguished name as Java's `X500Principal.getName()`.

    Example:
        >>> rfc2253(x509.Name.from_rfc4514_string(r"CN=a\,b,O=Example"))
        'CN=a\\,b,O=Example'
    """
    return ",".join("+".join(_attribute(one) for one in rdn) for rdn in reversed(name.rdns))


def _attribute(attribute: x509.NameAttribute[str | bytes]) -> str:
    keyword = _KEYWORDS.get(attribute.oid)
    if keyword is None or attribute._type not in _AS_TEXT:  # noqa: SLF001
        return f"{keyword or attribute.oid.dotted_string}=#{_der(attribute).hex()}"
    value = attribute.value
    assert isinstance(value, str)
    return f"{keyword}={_escaped(value)}"


def _escaped(value: str) -> str:
    text = [_character(character) for character in value]
    whole = "".join(text)
    lead = len(whole) - len(whole.lstrip(_BLANKS))
    trail = len(whole.rstrip(_BLANKS))
    return "".join(
        "\\" + character if place < lead or place >= trail else character
        for place, character in enumerate(whole)
    )


def _character(character: str) -> str:
    if character in _ESCAPED:
        return "\\" + character
    return "\\00" if character == "\0" else character


def _der(attribute: x509.NameAttribute[str | bytes]) -> bytes:
    """Return the value as it is encoded in the certificate, with its type and length."""
    value = attribute.value
    kind = attribute._type  # noqa: SLF001
    if isinstance(value, bytes):
        data = value
    elif kind is _ASN1Type.BMPString:
        data = value.encode("utf-16-be")
    elif kind is _ASN1Type.UniversalString:
        data = value.encode("utf-32-be")
    else:
        data = value.encode()
    size = len(data)
    if size < 0x80:
        length = bytes([size])
    else:
        digits = size.to_bytes((size.bit_length() + 7) // 8)
        length = bytes([0x80 | len(digits)]) + digits
    return bytes([kind.value]) + length + data
