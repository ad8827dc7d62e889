import codecs
from pathlib import Path

import pytest

from duolog.core.errors import EncodingError
from duolog.core.text_files import decode_lines, decode_text, read_text_file


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_bytes(codecs.BOM_UTF8 + "SHOW 'grün';\r\nSHOW;\rx".encode())

    assert read_text_file(file) == "SHOW 'grün';\nSHOW;\nx"


def test_only_the_first_line_may_have_a_byte_order_mark() -> None:
    assert decode_text(b"a\n" + codecs.BOM_UTF8 + b"b", "f") == "a\n\ufeffb"


def test_another_encoding_is_refused_with_file_line_and_byte() -> None:
    with pytest.raises(EncodingError) as caught:
        decode_text("SHOW;\n-- grün\n".encode("latin-1"), "a.sql")

    assert caught.value.message == 'file "a.sql", line 2, is not UTF-8: it contains the byte 0xfc'
    assert "Save a.sql as UTF-8. Line 2 begins: -- gr" in caught.value.hint


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_named(encoding: str) -> None:
    data = "\ufeffSHOW;".encode(encoding)

    with pytest.raises(EncodingError, match=r'file "a\.sql" is UTF-16, not UTF-8'):
        decode_text(data, "a.sql")


def test_lines_before_the_one_that_is_not_utf_8_are_yielded() -> None:
    lines = decode_lines([b"a\r\n", b"\xff\n"], "<stdin>")

    assert next(lines) == "a\n"
    with pytest.raises(EncodingError, match='file "<stdin>", line 2'):
        next(lines)


def test_control_bytes_of_a_wrong_line_do_not_reach_the_hint() -> None:
    with pytest.raises(EncodingError) as caught:
        decode_text(b"\x1b[2J\xff", "f")

    assert caught.value.hint.isprintable()
