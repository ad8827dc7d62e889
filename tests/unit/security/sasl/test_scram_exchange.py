"""SCRAM exchanges: the vectors of the RFCs, tampering, and replay."""

import base64
import hashlib
import hmac

import pytest

from duolog.security.credentials.scram import (
    ScramCredential,
    ScramMechanism,
    credential,
    salted_password,
)
from duolog.security.identity.principal import Principal
from duolog.security.sasl.decoys import Form, decoy
from duolog.security.sasl.exchange import Challenge, Failure, Success
from duolog.security.sasl.scram_exchange import ScramExchange

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
RIGHT = "pencil"
CLIENT_NONCE = "rOprNGfwEbeRWgbNEkqO"


def credential_of(password: str, mechanism: ScramMechanism = SHA_256) -> ScramCredential:
    salted = salted_password(mechanism, password, SALT, 4096)
    return credential(mechanism, salted, SALT, 4096)


def find(user: str) -> tuple[ScramCredential, bool]:
    """One user named `user`, with the password of the RFC; and one with commas in its name."""
    known = user in ("user", "a,b=c")
    return (
        credential_of("pencil") if known else decoy(b"s" * 32, SHA_256, user, Form(4096))
    ), known


def begun(first: str = f"n,,n=user,r={CLIENT_NONCE}") -> tuple[ScramExchange, str]:
    exchange = ScramExchange(SHA_256, find, SERVER_NONCE)
    answer = exchange.step(first.encode())
    assert isinstance(answer, Challenge), answer
    return exchange, answer.data.decode()


def final(
    server_first: str,
    *,
    typed: str = RIGHT,
    bare: str = f"n=user,r={CLIENT_NONCE}",
    header: str = "n,,",
    nonce: str | None = None,
    mechanism: ScramMechanism = SHA_256,
) -> str:
    """Return the last message of an honest client, except for what is changed on purpose."""
    fields = dict(part.split("=", 1) for part in server_first.split(","))
    salted = salted_password(mechanism, typed, base64.b64decode(fields["s"]), int(fields["i"]))
    binding = base64.b64encode(header.encode()).decode()
    unproved = f"c={binding},r={nonce or fields['r']}"
    client_key = hmac.digest(salted, b"Client Key", mechanism.digest)
    stored_key = hashlib.new(mechanism.digest, client_key).digest()
    signature = hmac.digest(
        stored_key, f"{bare},{server_first},{unproved}".encode(), mechanism.digest
    )
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return f"{unproved},p={base64.b64encode(proof).decode()}"


def test_the_exchange_of_rfc_7677_succeeds_byte_for_byte() -> None:
    exchange, server_first = begun()

    assert server_first == (
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    answer = exchange.step(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert answer == Success(
        b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", Principal("User", "user")
    )


def test_sha_512_proves_the_password_as_well() -> None:
    stored = credential_of("pencil", SHA_512)
    exchange = ScramExchange(SHA_512, lambda _: (stored, True), SERVER_NONCE)
    first = exchange.step(b"n,,n=user,r=" + CLIENT_NONCE.encode())
    assert isinstance(first, Challenge)

    answer = exchange.step(final(first.data.decode(), mechanism=SHA_512).encode())

    assert isinstance(answer, Success)
    assert len(base64.b64decode(answer.data[2:])) == 64


def test_a_wrong_password_and_an_unknown_user_fail_with_one_reason() -> None:
    exchange, server_first = begun()
    wrong = exchange.step(final(server_first, typed="Pencil").encode())

    bare = f"n=nobody,r={CLIENT_NONCE}"
    exchange, server_first = begun(f"n,,{bare}")
    unknown = exchange.step(final(server_first, bare=bare).encode())

    assert isinstance(wrong, Failure)
    assert isinstance(unknown, Failure)
    assert wrong.reason == unknown.reason


def test_even_the_right_keys_of_a_decoy_do_not_authenticate() -> None:
    exchange = ScramExchange(SHA_256, lambda _: (credential_of("pencil"), False), SERVER_NONCE)
    first = exchange.step(f"n,,n=user,r={CLIENT_NONCE}".encode())
    assert isinstance(first, Challenge)

    assert isinstance(exchange.step(final(first.data.decode()).encode()), Failure)


def test_the_first_answer_to_an_unknown_user_has_the_form_of_a_known_one() -> None:
    _, known = begun()
    _, unknown = begun(f"n,,n=nobody,r={CLIENT_NONCE}")
    _, again = begun(f"n,,n=nobody,r={CLIENT_NONCE}")
    _, other = begun(f"n,,n=somebody,r={CLIENT_NONCE}")

    assert unknown == again
    assert unknown != other
    assert known.split(",")[2] == unknown.split(",")[2]
    assert unknown.startswith(f"r={CLIENT_NONCE}{SERVER_NONCE},s=")


def test_a_recorded_proof_is_refused_in_the_next_exchange() -> None:
    """CVE-2024-56128: the nonce of the last message must be the server's."""
    _, server_first = begun()
    recorded = final(server_first)
    exchange = ScramExchange(SHA_256, find, "another-server-nonce")
    exchange.step(f"n,,n=user,r={CLIENT_NONCE}".encode())

    answer = exchange.step(recorded.encode())

    assert answer == Failure("nonce differs from the server's", "user")


@pytest.mark.parametrize(
    "nonce", [CLIENT_NONCE, CLIENT_NONCE + SERVER_NONCE[:-1], CLIENT_NONCE + SERVER_NONCE + "x"]
)
def test_a_valid_proof_over_another_nonce_is_refused(nonce: str) -> None:
    exchange, server_first = begun()

    answer = exchange.step(final(server_first, nonce=nonce).encode())

    assert answer == Failure("nonce differs from the server's", "user")


def test_a_changed_header_is_refused_although_its_proof_is_valid() -> None:
    """A proxy that removes channel binding changes the header of the first message."""
    exchange, server_first = begun()

    answer = exchange.step(final(server_first, header="y,,").encode())

    assert answer == Failure("channel binding differs from the first message", "user")


def test_every_changed_byte_of_the_last_message_is_refused() -> None:
    _, server_first = begun()
    honest = final(server_first)
    for place in range(len(honest)):
        changed = honest[:place] + chr(ord(honest[place]) ^ 1) + honest[place + 1 :]
        exchange, _ = begun()

        assert isinstance(exchange.step(changed.encode()), Failure), changed


@pytest.mark.parametrize("changed", ["{}=", "{}====", "={}", "{}AAAA"])
def test_a_proof_has_one_form(changed: str) -> None:
    exchange, server_first = begun()
    unproved, _, proof = final(server_first).rpartition(",p=")

    answer = exchange.step(f"{unproved},p={changed.format(proof)}".encode())

    assert isinstance(answer, Failure)


@pytest.mark.parametrize("size", [0, 1, 16, 31, 33, 64])
def test_a_proof_of_another_size_is_refused(size: int) -> None:
    exchange, server_first = begun()
    unproved = final(server_first).rpartition(",")[0]
    proof = base64.b64encode(bytes(size)).decode()

    assert isinstance(exchange.step(f"{unproved},p={proof}".encode()), Failure)


@pytest.mark.parametrize(
    "first",
    [
        "",
        "n=user,r=abc",
        "p=tls-unique,,n=user,r=abc",
        "n,,n=,r=abc",
        "n,,n=user,r=",
        "n,,m=ext,n=user,r=abc",
        "n,,n=us=er,r=abc",
        "n,,n=user,r=a\x01b",
        "n,a=root,n=user,r=abc",
        "n,,n=user,r=abc,tokenauth=true",
        "n,,n=us\0er,r=abc",
    ],
)
def test_a_malformed_first_message_is_refused(first: str) -> None:
    assert isinstance(ScramExchange(SHA_256, find, SERVER_NONCE).step(first.encode()), Failure)


def test_bytes_that_are_not_text_and_long_messages_are_refused() -> None:
    assert isinstance(ScramExchange(SHA_256, find, "x").step(b"\xff\xfe"), Failure)
    long = b"n,,n=user,r=" + b"a" * 10_000
    assert isinstance(ScramExchange(SHA_256, find, "x").step(long), Failure)


def test_escaped_names_and_the_own_authorization_id_are_accepted() -> None:
    bare = f"n=a=2Cb=3Dc,r={CLIENT_NONCE}"
    exchange, server_first = begun(f"y,a=a=2Cb=3Dc,{bare}")

    answer = exchange.step(final(server_first, bare=bare, header="y,a=a=2Cb=3Dc,").encode())

    assert isinstance(answer, Success)
    assert answer.principal == Principal("User", "a,b=c")


def test_extensions_are_ignored_and_covered_by_the_proof() -> None:
    bare = f"n=user,r={CLIENT_NONCE},x=1"
    exchange, server_first = begun(f"n,,{bare}")

    assert isinstance(exchange.step(final(server_first, bare=bare).encode()), Success)


def test_a_credential_shows_no_key_in_its_representation() -> None:
    stored = credential_of("pencil")

    assert stored.stored_key.hex() not in repr(stored)
    assert repr(stored.stored_key) not in repr(stored)
