import hashlib

from duolog.registry.contracts import Metadata, Rule, RuleSet
from duolog.registry.contracts.guid import content_hash, guid_bytes, guid_text
from duolog.registry.contracts.rule_set import EnableAt, RuleKind, RuleMode
from duolog.schemas.schema import Reference


def test_the_guid_of_a_plain_schema_is_the_md5_of_its_text() -> None:
    content = content_hash('"ä"', (), None, None)

    assert content == hashlib.md5('"ä"'.encode(), usedforsecurity=False).digest()


def test_references_metadata_and_rules_are_hashed_after_the_text() -> None:
    references = (Reference("n", "s", -1), Reference("m", "t", 258))
    metadata = Metadata(tags={"b": ("x", "y")}, properties={"p": "1", "q": "2"}, sensitive=("q",))
    rule = Rule(
        "r",
        doc="d",
        kind=RuleKind.CONDITION,
        mode=RuleMode.WRITE,
        type="CEL",
        tags=("PII",),
        params={"k": "v"},
        expr="e",
        on_success="NONE",
        on_failure="DLQ",
        disabled=True,
    )
    rules = RuleSet((), (rule,), (), EnableAt.CLIENT)

    content = content_hash("text", references, metadata, rules)

    pieces = (
        b"text" + b"ns\xff\xff\xff\xff" + b"mt\x00\x00\x01\x02"
        b"\x01" + b"bxy" + b"p1q2" + b"q"
        b"\x01" + b"rdCONDITIONWRITECELPIIkveNONEDLQ\x01" + b"CLIENT"
    )
    assert content == hashlib.md5(pieces, usedforsecurity=False).digest()


def test_empty_metadata_differ_from_none() -> None:
    assert content_hash("a", (), Metadata(), None) != content_hash("a", (), None, None)


def test_a_guid_is_read_with_and_without_dashes() -> None:
    content = content_hash("a", (), None, None)

    assert guid_bytes(guid_text(content)) == content
    assert guid_bytes(content.hex()) == content
    assert guid_bytes("no guid") is None
