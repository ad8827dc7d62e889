"""The entries of changelogs, and the generations that decide which of them count: both sides."""

import json
from typing import Final

import pytest

from duolog.engine.checkpoint.generations import begun, committed_json, first_log
from unit.kernel.formats.golden_files import content, sections
from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)

GOLDEN: Final = sections("changelog")


def test_the_kernel_writes_and_reads_the_golden_entries() -> None:
    of_task, of_bucket = GOLDEN["key of the task"], GOLDEN["key of a bucket"]

    reported = run_java("ChangelogFormats", of_task.hex(), of_bucket.hex())

    assert [bytes.fromhex(word) for word in reported[:4]] == list(GOLDEN.values())
    assert reported[4:] == ["task", "0102", "bucket", "0102"]


def test_python_writes_the_golden_generations() -> None:
    log = first_log("")
    for last in (None, 40, 48):
        log = begun(log, last)

    assert committed_json(log["generations"]).encode() == content("generations.json")


def test_the_kernel_reads_the_golden_generations() -> None:
    reported = run_java("GenerationFormats", content("generations.json").decode())

    golden = json.loads(content("generations.json"))["generations"]
    assert reported == [f"{generation}:{last}" for generation, last in golden]
