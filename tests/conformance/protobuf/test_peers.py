"""The kept answers of Square Wire and protoc are still what the two say."""

from pathlib import Path

import pytest

from conformance.protobuf.corpus import GOLDEN
from conformance.protobuf.peers import fetch, protoc_answers, wire_answers

pytestmark = pytest.mark.deep


def test_wires_answers_are_kept() -> None:
    assert wire_answers(fetch()) == (GOLDEN / "wire.txt").read_bytes().decode()


def test_protocs_answers_are_kept(tmp_path: Path) -> None:
    assert protoc_answers(fetch(), tmp_path) == (GOLDEN / "protoc.txt").read_text(encoding="utf-8")
