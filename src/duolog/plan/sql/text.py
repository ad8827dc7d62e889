"""Functions of texts, and of bytes if both have the same function. Positions start at 1."""

from typing import Final

from duolog.plan.sql.signatures import SqlFunction, function

_FAMILY: Final = "STRING"
_MASKS: Final = "upper STRING, lower STRING, digit STRING, other STRING"


def _masking(name: str, what: str) -> SqlFunction:
    return function(
        name,
        _FAMILY,
        f"Masks {what} by a character for each kind: by default X for upper case, x for lower "
        "case, n for digits, - for all others. A kind whose character is null is not masked.",
        "STRING (input STRING, numChars INT)",
        f"STRING (input STRING, numChars INT, {_MASKS})",
    )


_PARTS: Final = (
    function(
        "INSTR",
        _FAMILY,
        "Returns the position of a part in a text, or 0 if it is not found. The search starts at a "
        "position, or backwards at one counted from the end if it is negative, and can return a "
        "later occurrence.",
        "INT (str STRING, substring STRING)",
        "INT (str STRING, substring STRING, position INT)",
        "INT (str STRING, substring STRING, position INT, occurrence INT)",
    ),
    function(
        "SUBSTRING",
        _FAMILY,
        "Returns the part from a position on, up to a length if given. A negative position is "
        "counted from the end.",
        "STRING (str STRING, pos INT)",
        "STRING (str STRING, pos INT, length INT)",
        "BYTES (bytes BYTES, pos INT)",
        "BYTES (bytes BYTES, pos INT, length INT)",
    ),
    function(
        "SPLIT",
        _FAMILY,
        "Returns the parts between delimiters, which may be empty; with an empty delimiter, each "
        "character or byte.",
        "ARRAY<STRING> (string STRING, delimiter STRING)",
        "ARRAY<BYTES> (bytes BYTES, delimiter BYTES)",
    ),
    function(
        "SPLIT_TO_MAP",
        _FAMILY,
        "Returns the entries of a text, each a key and a value separated by a delimiter. "
        "If a key occurs twice, the last value wins; parts without a delimiter are ignored. "
        "Null if a delimiter is empty.",
        "MAP<STRING, STRING> (input STRING, entryDelimiter STRING, kvDelimiter STRING)",
    ),
    function(
        "ELT",
        _FAMILY,
        "Returns the nth of the texts after n; null if there is none.",
        "STRING (n INT, args STRING...)",
    ),
    function(
        "FIELD",
        _FAMILY,
        "Returns the first position of a text among those after it; 0 if there is none, or it is "
        "null.",
        "INT (str STRING, args STRING...)",
    ),
)

_FORMS: Final = (
    function("UCASE", _FAMILY, "Returns a text in upper case.", "STRING (input STRING)"),
    function("LCASE", _FAMILY, "Returns a text in lower case.", "STRING (input STRING)"),
    function(
        "INITCAP",
        _FAMILY,
        "Returns a text with each word's first letter in upper case and the others in lower case.",
        "STRING (str STRING)",
    ),
    function(
        "TRIM",
        _FAMILY,
        "Removes the blanks and control characters at both ends of a text.",
        "STRING (input STRING)",
    ),
    function(
        "LPAD",
        _FAMILY,
        "Returns a text, or bytes, of the given length, truncated or padded at the start. "
        "Null if the padding is empty or the length negative.",
        "STRING (input STRING, targetLen INT, padding STRING)",
        "BYTES (input BYTES, targetLen INT, padding BYTES)",
    ),
    function(
        "RPAD",
        _FAMILY,
        "Returns a text, or bytes, of the given length, truncated or padded at the end. "
        "Null if the padding is empty or the length negative.",
        "STRING (input STRING, targetLen INT, padding STRING)",
        "BYTES (input BYTES, targetLen INT, padding BYTES)",
    ),
    function(
        "REPLACE",
        _FAMILY,
        "Replaces each occurrence of a part in a text by another.",
        "STRING (str STRING, oldStr STRING, newStr STRING)",
    ),
    function(
        "MASK",
        _FAMILY,
        "Masks the characters of a text by one for each kind: by default X for upper case, x for "
        "lower case, n for digits, - for all others. A kind whose character is null is not masked.",
        "STRING (input STRING)",
        f"STRING (input STRING, {_MASKS})",
    ),
    _masking("MASK_LEFT", "the first characters of a text"),
    _masking("MASK_RIGHT", "the last characters of a text"),
    _masking("MASK_KEEP_LEFT", "all but the first characters of a text"),
    _masking("MASK_KEEP_RIGHT", "all but the last characters of a text"),
)

_JOINED: Final = (
    function(
        "LEN",
        _FAMILY,
        "Returns the number of characters of a text, or of bytes.",
        "INT (input STRING)",
        "INT (input BYTES)",
    ),
    function(
        "CONCAT",
        _FAMILY,
        "Joins texts, or bytes; nulls are ignored.",
        "STRING (inputs STRING...)",
        "BYTES (inputs BYTES...)",
    ),
    function(
        "CONCAT_WS",
        _FAMILY,
        "Joins texts, or bytes, with a separator; nulls are ignored. Null if the separator is "
        "null.",
        "STRING (separator STRING, inputs STRING...)",
        "BYTES (separator BYTES, inputs BYTES...)",
    ),
)

_CODES: Final = (
    function(
        "CHR",
        _FAMILY,
        "Returns the character of a code point, given as a number or as an escape like \\u0041; "
        "null if there is none.",
        "STRING (utfCode INT)",
        "STRING (utfCode STRING)",
    ),
    function(
        "ENCODE",
        _FAMILY,
        "Converts a text from one encoding to another: hex, utf8, ascii or base64.",
        "STRING (str STRING, inputEncoding STRING, outputEncoding STRING)",
    ),
    function(
        "TO_BYTES",
        _FAMILY,
        "Returns the bytes of a text in an encoding: hex, utf8, ascii or base64.",
        "BYTES (value STRING, encoding STRING)",
    ),
    function(
        "FROM_BYTES",
        _FAMILY,
        "Returns bytes as a text, in an encoding: hex, utf8, ascii or base64.",
        "STRING (value BYTES, encoding STRING)",
    ),
    function(
        "MD5",
        _FAMILY,
        "Returns the MD5 checksum of a text, as hexadecimal digits.",
        "STRING (str STRING)",
    ),
    function(
        "UUID",
        _FAMILY,
        "Returns a UUID: a random one (version 4), or that of 16 bytes; null for any other number "
        "of bytes.",
        "STRING ()",
        "STRING (bytes BYTES)",
    ),
)

TEXT_FUNCTIONS: Final = (*_PARTS, *_FORMS, *_JOINED, *_CODES)
