"""Avro's Java library is the judge: generated schemas, its answers and ours.

The differences that we want are in `REASONS`; each has a test of its own. Run with --deep for
thirty times as many schemas.
"""

import json
import re
from collections import Counter
from typing import Any, Final

import pytest

from conftest import RequireProgram
from duolog.schemas.avro.equality import equal
from duolog.schemas.avro.parsing import Parser
from duolog.schemas.avro.resolution import incompatibilities
from duolog.schemas.avro.texts import canonical_text, fingerprint, parsing_form
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.schema import Incompatibility
from unit.schemas.avro.generated import Generator, text_of
from unit.schemas.avro.java_judge import ask_java

Answer = dict[str, Any]

# What Java's parser refuses and ours accepts, by a part of Java's error.
_EARLY_DEFAULT: Final = "default of a type named before its definition"
_LARGE_INTEGER: Final = "integer of more than 64 bits in an unknown attribute"
REASONS: Final = {
    "Invalid default for field": _EARLY_DEFAULT,
    "Schema fields not set yet": _EARLY_DEFAULT,
    "Can't set a property to null": _LARGE_INTEGER,
    'because "datum" is null': _LARGE_INTEGER,
}


@pytest.fixture(autouse=True)
def _java(require_program: RequireProgram) -> None:
    require_program("javac", package="openjdk-17-jdk-headless")


def test_generated_schemas_are_parsed_and_written_as_by_java() -> None:
    _compare_parsers(range(700))


@pytest.mark.deep
def test_many_generated_schemas_are_parsed_and_written_as_by_java() -> None:
    _compare_parsers(range(1_000, 25_000))


def test_generated_pairs_are_compatible_as_by_java() -> None:
    _compare_pairs(range(700))


@pytest.mark.deep
def test_many_generated_pairs_are_compatible_as_by_java() -> None:
    _compare_pairs(range(1_000, 25_000))


def _compare_parsers(seeds: range) -> None:
    questions = [_question(seed) for seed in seeds]
    differences = []
    counts: Counter[str] = Counter()
    for question, java in zip(questions, ask_java(questions), strict=True):
        outcome = _outcome(question, java, *_our_parser(question))
        counts[outcome] += 1
        if outcome == "difference":
            differences.append((question, java, _our_parser(question)[0]))

    assert differences == []
    # Both kinds of schemas must occur, and wanted differences must be exceptions.
    assert counts["both refuse"] > len(questions) / 10
    assert counts["both accept"] > len(questions) / 3
    assert 0 < counts[_LARGE_INTEGER] + counts[_EARLY_DEFAULT] < len(questions) / 50


def _question(seed: int) -> Answer:
    """Return a schema: alone, after one that it may refer to, or broken in one place."""
    generator = Generator(seed)
    references = [generator.schema()] if seed % 4 == 0 else []
    schema = generator.schema(after_another=bool(references))
    if seed % 3 == 0:
        schema = generator.broken(schema)
    return {
        "strict": seed % 2 == 0,
        "references": [text_of(reference, seed) for reference in references],
        "schema": text_of(schema, seed),
    }


def _our_parser(question: Answer) -> tuple[Answer, Parser]:
    parser = Parser(strict=question["strict"])
    try:
        known = [parser.parse(text).full_name for text in question["references"]]
        root = parser.parse(question["schema"])
    except InvalidSchemaError as error:
        return {"error": error.render()}, parser
    return {
        "canonical": canonical_text(root, known),
        "resolved": canonical_text(root),
        "form": parsing_form(root),
        "fingerprint": str(fingerprint(root)),
    }, parser


def _outcome(question: Answer, java: Answer, ours: Answer, parser: Parser) -> str:
    if "error" in java and "error" in ours:
        return "both refuse"
    if java == ours:
        return "both accept"
    return _reason(java, question, reordered=parser.reordered) or "difference"


def _reason(java: Answer, question: Answer, *, reordered: bool) -> str | None:
    """Return why we accept what Java refuses, if that is wanted and the schema is such a one."""
    for part, reason in REASONS.items():
        occurs = reordered if reason == _EARLY_DEFAULT else str(10**20) in json.dumps(question)
        if part in java.get("error", "") and occurs:
            return reason
    return None


def _compare_pairs(seeds: range) -> None:
    questions = [_pair(seed) for seed in seeds]
    differences = []
    counts: Counter[str] = Counter()
    for question, java in zip(questions, ask_java(questions), strict=True):
        ours = _our_comparison(question)
        both_refuse = "error" in java and "error" in ours
        if java != ours and not both_refuse and not _reason(java, question, reordered=False):
            differences.append((question, java, ours))
        counts.update(kind for kind, _, _ in ours.get("reasons", []))
        counts["compatible" if ours.get("reasons") == [] else "other"] += 1

    assert differences == []
    assert counts["compatible"] > len(questions) / 10
    kinds = {
        "FIXED_SIZE_MISMATCH", "TYPE_MISMATCH", "NAME_MISMATCH", "MISSING_ENUM_SYMBOLS",
        "MISSING_UNION_BRANCH", "READER_FIELD_MISSING_DEFAULT_VALUE",
    }  # fmt: skip
    assert kinds <= set(counts)


def _pair(seed: int) -> Answer:
    generator = Generator(seed)
    schema = generator.schema()
    reader = generator.evolved(schema)
    writer = generator.evolved(schema) if seed % 3 else schema
    if seed % 10 == 0:
        writer = generator.schema()
    return {"reader": json.dumps(reader), "writer": json.dumps(writer)}


def _our_comparison(question: Answer) -> Answer:
    try:
        reader = Parser(strict=False).parse(question["reader"])
        writer = Parser(strict=False).parse(question["writer"])
    except InvalidSchemaError as error:
        return {"error": error.render()}
    reasons = incompatibilities(reader, writer)
    if [reason.kind for reason in reasons] == ["AMBIGUOUS_FIELD_ALIAS"]:
        return {"error": reasons[0].description}
    return {
        "equal": equal(reader, writer),
        "reasons": [[reason.kind, _path(reason), reason.info] for reason in reasons],
    }


def _path(reason: Incompatibility) -> str:
    found = re.search(r"path '([^']*)'", reason.description)
    assert found is not None
    return found[1]
