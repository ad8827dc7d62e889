"""The record cache beyond what it may hold: in Java, without Spark."""

import os
import subprocess
from pathlib import Path

import pyspark
import pytest

from duolog.core.units import GIB
from duolog.engine.jars import kernel_jar

pytestmark = pytest.mark.timeout(120)

PROGRAM = Path(__file__).parent / "java" / "RecordCache.java"
CLASS_PATH = os.pathsep.join([str(kernel_jar()), f"{Path(pyspark.__file__).parent}/jars/*"])
OPENS = [f"--add-opens=java.base/java.{part}=ALL-UNNAMED" for part in ("lang", "nio", "util")]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("classes")
    command = ["javac", "--release", "17", "-cp", CLASS_PATH, "-d", str(directory), str(PROGRAM)]
    subprocess.run(command, check=True, timeout=60)
    return directory


def told(classes: Path, cache_bytes: int, *steps: tuple[int, int]) -> list[int]:
    """Return how many updates were told after each step (keys, bytes of their rows), and at the end."""
    command = ["java", "-Xmx1g", *OPENS, "-cp", os.pathsep.join([str(classes), CLASS_PATH])]
    arguments = [str(part) for step in steps for part in step]
    done = subprocess.run(
        [*command, "org.duolog.kernel.RecordCache", str(cache_bytes), *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return [int(line) for line in done.stdout.split()]


def test_a_record_cache_larger_than_what_is_kept_for_reading_costs_no_more_for_each_key(
    classes: Path,
) -> None:
    """Beyond 64 MiB each new key went through all that were held back: hours for a million keys."""
    assert told(classes, GIB, (400_000, 16)) == [0, 400_000]


def test_a_row_that_grows_while_it_is_held_back_counts_as_large_as_it_is(classes: Path) -> None:
    assert told(classes, 10_000, (2, 16), (2, 4000), (1, 8000)) == [0, 0, 2, 2]


def test_what_was_told_early_no_longer_counts(classes: Path) -> None:
    assert told(classes, 1000, (3, 400), (1, 16), (2, 16)) == [2, 4, 4, 6]
