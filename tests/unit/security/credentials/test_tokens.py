"""Tokens: their text, and the digest by which they are found."""

import hashlib

from duolog.security.credentials.tokens import PREFIX, digest_of, id_of, new_token


def test_a_token_is_256_bits_with_a_prefix() -> None:
    assert new_token(bytes(32)) == PREFIX + "A" * 43
    assert len({new_token(bytes([number]) * 32) for number in range(256)}) == 256


def test_the_digest_is_that_of_the_exact_text() -> None:
    text = new_token(bytes(range(32)))

    assert digest_of(text) == hashlib.sha256(text.encode()).hexdigest()
    assert len({digest_of(each) for each in (text, text.lower(), text.upper(), f"{text} ")}) == 4


def test_an_id_shows_a_quarter_of_the_digest() -> None:
    digest = digest_of(new_token(bytes(32)))

    assert id_of(digest) == digest[:16]
