"""The files of the console as the server answers with them: encodings, caches, policy."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from duolog.server.console.bundle import Bundle
from duolog.server.operations import console
from unit.server.memory import MemoryServer, Reply, context

INDEX = '<link href="{{base}}/console/assets/main-1.js"><script nonce="{{nonce}}"></script>'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build with one script in three encodings and one picture, served by the operations."""
    files = {
        "main-1.js": {"type": "text/javascript; charset=utf-8", "encodings": ["br", "gzip"]},
        "icon-2.svg": {"type": "image/svg+xml", "encodings": []},
    }
    manifest = {"main": "main-1.js", "files": files}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "index.html").write_text(INDEX)
    for name, content in (
        *(("main-1.js", "plain"), ("main-1.js.br", "br"), ("main-1.js.gz", "gz")),
        *(("icon-2.svg", "<svg/>"), ("secret.txt", "secret")),
    ):
        (tmp_path / name).write_text(content)
    bundle = Bundle(tmp_path)
    monkeypatch.setattr(console, "_bundle", lambda: bundle)
    return tmp_path


def ask(target: str, base_path: str = "", method: str = "GET", **headers: str) -> Reply:
    async def run() -> Reply:
        server = MemoryServer(context(base_path=base_path))
        return await server.client().ask(method, target, b"", **headers)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("accepted", "body", "encoding"),
    [
        ("gzip, deflate, br", b"br", "br"),
        ("gzip", b"gz", "gzip"),
        ("br;q=0, gzip;q=0.5", b"gz", "gzip"),
        ("identity", b"plain", None),
        ("brotli, x-gzip", b"plain", None),
        ("", b"plain", None),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_file_has_the_best_encoding_that_the_client_accepts_and_is_cached_for_ever(
    accepted: str, body: bytes, encoding: str | None
) -> None:
    reply = ask("/console/assets/main-1.js", Accept_Encoding=accepted)

    assert (reply.status, reply.body) == (200, body)
    assert reply.headers.get("content-encoding") == encoding
    assert reply.headers["content-type"] == "text/javascript; charset=utf-8"
    assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert reply.headers["vary"] == "Accept-Encoding"
    assert reply.headers["x-content-type-options"] == "nosniff"


@pytest.mark.usefixtures("folder")
def test_a_file_without_compressed_forms_is_sent_as_it_is() -> None:
    reply = ask("/console/assets/icon-2.svg", Accept_Encoding="br, gzip")

    assert (reply.body, reply.headers["content-type"]) == (b"<svg/>", "image/svg+xml")
    assert "content-encoding" not in reply.headers


@pytest.mark.parametrize(
    "name",
    ["secret.txt", "manifest.json", "main-1.js.br", "nope.js", "..%2fmanifest.json", "%2e%2e", ""],
)
@pytest.mark.usefixtures("folder")
def test_only_files_of_the_build_are_answered(name: str) -> None:
    reply = ask(f"/console/assets/{name}")

    assert reply.status == 404 or reply.headers["content-type"].startswith("text/html")
    assert b"secret" not in reply.body
    assert b'"files"' not in reply.body


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/topics/a%2Fb", "/console/x/y"])
@pytest.mark.usefixtures("folder")
def test_every_path_of_a_screen_has_the_page_which_is_not_cached(path: str) -> None:
    reply = ask(path)

    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert reply.headers["cache-control"] == "no-cache"
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert b'href="/console/assets/main-1.js"' in reply.body


@pytest.mark.usefixtures("folder")
def test_the_policy_permits_files_of_this_server_and_styles_with_the_nonce_of_this_response() -> (
    None
):
    replies = [ask("/console"), ask("/console")]

    nonces = set()
    for reply in replies:
        policy = dict(
            part.strip().split(" ", 1)
            for part in reply.headers["content-security-policy"].split(";")
        )
        (nonce,) = re.findall(r'nonce="([^"]+)"', reply.body.decode())
        nonces.add(nonce)
        assert policy["default-src"] == policy["script-src"] == "'self'"
        assert policy["style-src"] == f"'self' 'nonce-{nonce}'"
        assert policy["frame-ancestors"] == policy["object-src"] == "'none'"
        assert policy["base-uri"] == policy["form-action"] == "'none'"
        assert not re.search(r"unsafe|\*|http", reply.headers["content-security-policy"])
    assert len(nonces) == 2


@pytest.mark.usefixtures("folder")
def test_addresses_in_the_page_are_below_the_base_path() -> None:
    reply = ask("/sql/console/topics", base_path="/sql")

    assert b'href="/sql/console/assets/main-1.js"' in reply.body
    assert ask("/sql/console/assets/main-1.js", base_path="/sql").status == 200
    assert ask("/console", base_path="/sql").status == 404


def test_an_installation_without_the_files_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(console, "_bundle", lambda: None)

    reply = ask("/console")

    assert reply.status == 404
    assert b"scripts/install" in reply.body
    assert reply.headers["content-type"].startswith("text/html")
    assert ask("/console/assets/main-1.js").status == 404
    assert ask("/info").status == 200


@pytest.mark.usefixtures("folder")
def test_head_has_the_headers_without_the_body() -> None:
    reply = ask("/console/assets/main-1.js", method="HEAD", Accept_Encoding="br")

    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["content-length"] == "2"
