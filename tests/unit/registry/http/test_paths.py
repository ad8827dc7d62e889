"""Paths are split before they are decoded, and contexts move to the subject."""

import pytest

from duolog.registry.http.parameters import Parameters
from duolog.registry.http.paths import MalformedPath, segments, without_context


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (b"/", ()),
        (b"/subjects", ("subjects",)),
        (b"/subjects/", ("subjects",)),
        (b"/subjects/a%2Fb/versions", ("subjects", "a/b", "versions")),
        (b"/subjects/a%2fb%20c+d/versions", ("subjects", "a/b c+d", "versions")),
        (b"/subjects/%3A.ctx%3Aa", ("subjects", ":.ctx:a")),
        (b"/subjects/:.ctx:a", ("subjects", ":.ctx:a")),
        (b"/subjects/%C3%A9", ("subjects", "é")),
        (b"/subjects//versions", ("subjects", "", "versions")),
        (b"/subjects/%00", ("subjects", "\0")),
        (b"/subjects/..%2Fx", ("subjects", "../x")),
    ],
)
def test_segments_are_decoded_one_by_one(path: bytes, expected: tuple[str, ...]) -> None:
    assert segments(path) == expected


@pytest.mark.parametrize("path", [b"/subjects/%FF", b"/subjects/\xff", b"/subjects/%ED%A0%80"])
def test_a_segment_that_is_not_utf_8_is_malformed(path: bytes) -> None:
    with pytest.raises(MalformedPath):
        segments(path)


def _moved(
    path: str, method: str = "GET", query: bytes = b""
) -> tuple[tuple[str, ...], Parameters]:
    return without_context(segments(path.encode()), method, Parameters.read(query))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/subjects/a/versions", "subjects/a/versions"),
        ("/contexts", "contexts"),
        ("/contexts/.c/subjects/a/versions", "subjects/:.c:a/versions"),
        ("/contexts/c/subjects/a/versions", "subjects/:.c:a/versions"),
        ("/contexts/:.c:/subjects/a/versions", "subjects/:.c:a/versions"),
        ("/contexts/./subjects/a/versions", "subjects/a/versions"),
        ("/contexts/.c/subjects/:.d:a/versions", "subjects/:.d:a/versions"),
        (
            "/contexts/.c/compatibility/subjects/a/versions/1",
            "compatibility/subjects/:.c:a/versions/1",
        ),
        ("/contexts/.c/config", "config/:.c:"),
        ("/contexts/.c/config/a", "config/:.c:a"),
        ("/contexts/./config", "config"),
        ("/contexts/.c/mode", "mode/:.c:"),
        ("/contexts/.c/mode/a", "mode/:.c:a"),
        ("/contexts/.c/subjects/config/versions", "subjects/:.c:config/versions"),
        ("/contexts/.c/subjects/a/versions/config/schema", "subjects/:.c:a/versions/config/schema"),
        ("/contexts/.c", "contexts/:.c:"),
    ],
)
def test_the_context_of_a_path_becomes_part_of_the_subject(path: str, expected: str) -> None:
    assert "/".join(_moved(path)[0]) == expected


@pytest.mark.parametrize(
    ("path", "method", "query", "name", "expected"),
    [
        ("/contexts/.c/schemas/ids/1", "GET", b"", "subject", (":.c:",)),
        ("/contexts/.c/schemas/ids/1", "GET", b"subject=a", "subject", (":.c:a",)),
        ("/contexts/.c/schemas/ids/1", "GET", b"subject=:.d:a", "subject", (":.d:a",)),
        ("/contexts/.c/subjects", "GET", b"", "subjectPrefix", (":.c:",)),
        ("/contexts/.c/subjects", "GET", b"subjectPrefix=a", "subjectPrefix", (":.c:a",)),
        ("/contexts/.c/subjects", "GET", b"subjectPrefix=:*:a", "subjectPrefix", (":*:a",)),
        ("/contexts/.c/schemas", "GET", b"", "subjectPrefix", (":.c:",)),
        ("/contexts/.c/associations", "POST", b"", "context", (":.c:",)),
        ("/contexts/.c/associations:batchMutate", "POST", b"", "context", (":.c:",)),
        ("/contexts/.c/associations/resources/1", "DELETE", b"", "context", ()),
    ],
)
def test_the_context_of_a_path_becomes_a_parameter(
    path: str, method: str, query: bytes, name: str, expected: tuple[str, ...]
) -> None:
    assert _moved(path, method, query)[1].texts(name) == expected


def test_a_context_with_a_colon_inside_is_malformed() -> None:
    with pytest.raises(MalformedPath, match="colon"):
        _moved("/contexts/a:b/subjects/c/versions")
