"""Ask Avro's Java library: many questions in one run of `java/AvroJudge.java`."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyspark

_PROGRAM: Final = Path(__file__).parent / "java" / "AvroJudge.java"
_JARS: Final = Path(pyspark.__file__).parent / "jars"
_LIBRARIES: Final = ("avro-[0-9]*", "jackson-core-[0-9]*", "jackson-databind-*", "jackson-annotations-*", "slf4j-api-*")  # fmt: skip


def ask_java(questions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return Java's answer to each question; see the program for their form."""
    jars = [str(jar) for pattern in _LIBRARIES for jar in sorted(_JARS.glob(f"{pattern}.jar"))]
    assert len(jars) == len(_LIBRARIES), jars
    command = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"]
    done = subprocess.run(
        [*command, "-cp", os.pathsep.join(jars), str(_PROGRAM)],
        input="".join(f"{json.dumps(question)}\n" for question in questions),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Not splitlines: docs contain other ends of lines, such as U+2028.
    return [json.loads(line) for line in done.stdout.split("\n") if line]
