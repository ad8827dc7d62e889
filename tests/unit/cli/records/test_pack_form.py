import struct

import pytest

from duolog.cli.records.pack_form import form_of_pack
from duolog.core.errors import SerdeError


@pytest.mark.parametrize(
    ("pack", "data", "shown"),
    [
        ("q", struct.pack(">q", -1), -1),
        (">q$", struct.pack(">q", 5), 5),
        ("<i", struct.pack("<i", 5), 5),
        ("Q", struct.pack(">Q", 2**64 - 1), 2**64 - 1),
        ("<ih>H", struct.pack("<ih", 1, 2) + struct.pack(">H", 3), "1 2 3"),
        ("cb", b"a\x05", "a 5"),
        ("cbc", b" \x05 ", "  5  "),
        ("c", b" ", " "),
        ("cs", b"  x", "   x"),
        ("s", b"a b ", "a b "),
        ("is", struct.pack(">i", 5), "5 "),
        ("cs", "é".encode("latin-1") + "ü".encode(), "é ü"),
        ("is", struct.pack(">i", 5) + b"a b", "5 a b"),
    ],
)
def test_pack_strings_are_kcats_and_go_both_ways(pack: str, data: bytes, shown: object) -> None:
    form = form_of_pack(pack)

    assert form.decode(data) == shown
    assert form.encode(str(shown)) == data


@pytest.mark.parametrize("pack", ["", "x", "<", "sq", "q$q", "avro"])
def test_a_pack_string_of_other_letters_is_refused(pack: str) -> None:
    with pytest.raises(ValueError, match="is not a pack string"):
        form_of_pack(pack)


@pytest.mark.parametrize(("pack", "data"), [("q", b"abc"), ("i$", bytes(8))])
def test_bytes_of_another_length_do_not_have_the_form(pack: str, data: bytes) -> None:
    with pytest.raises(ValueError, match=f'for the pack string "{pack[0]}'):
        form_of_pack(pack).decode(data)


def test_bytes_that_are_no_text_do_not_have_the_form_of_text() -> None:
    """Such bytes used to be shown as `\\xff`, and written back as four letters."""
    with pytest.raises(ValueError, match="is not UTF-8"):
        form_of_pack("is").decode(struct.pack(">i", 5) + b"\xff")


@pytest.mark.parametrize(
    ("pack", "text"),
    [("ib", "5"), ("ib", "5 "), ("ib", "5 6 7"), ("cc", "ab"), ("cb", "ab 1"), ("c", ""), ("c", "€"), ("is", "5")],
)  # fmt: skip
def test_a_text_of_another_number_of_parts_is_refused(pack: str, text: str) -> None:
    with pytest.raises(SerdeError):
        form_of_pack(pack).encode(text)
