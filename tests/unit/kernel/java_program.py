"""Small Java programs in the kernel's packages, for what Python cannot reach; without Spark."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyspark

from duolog.engine.jvm.jars import connector_jars, kernel_jar

_SOURCES = Path(__file__).parent / "java"
_OPENS = [f"--add-opens=java.base/java.{part}=ALL-UNNAMED" for part in ("lang", "nio", "util")]
# The second compiler and a collector of many threads cost programs of a second more than they save.
_SHORT: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def run_java(name: str, *arguments: object, timeout_s: int = 120) -> list[str]:
    """Run the program `name`; return the words it prints."""
    done = subprocess.run(
        java_command(name, *arguments),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=True,
    )
    return done.stdout.split()


def java_command(name: str, *arguments: object) -> list[str]:
    """Return what runs the program `name`."""
    program = ["java", *_SHORT, "-Xmx1g", *_OPENS, "-cp", _class_path(_classes().name)]
    return [*program, class_name(name), *map(str, arguments)]


def class_name(name: str) -> str:
    """Return the full name of a program's class: each is in the package of the classes that it tests."""
    source = (_SOURCES / f"{name}.java").read_text()
    package = re.search(r"^package ([\w.]+);", source, re.MULTILINE)
    assert package is not None, f"{name}.java has no package line"
    return f"{package[1]}.{name}"


@cache
def _classes() -> TemporaryDirectory[str]:
    """Compile all programs: one costs nearly as much."""
    directory = TemporaryDirectory(prefix="duolog-java-")
    sources = sorted(str(path) for path in _SOURCES.glob("*.java"))
    compiler = [
        "javac",
        "-proc:none",
        "--release",
        "17",
        "-cp",
        _class_path(),
        "-d",
        directory.name,
    ]
    subprocess.run([*compiler, *sources], check=True, timeout=300)
    return directory


def _class_path(*more: str) -> str:
    jars = [str(jar) for jar in (kernel_jar(), *connector_jars(""))]
    return os.pathsep.join([*jars, f"{Path(pyspark.__file__).parent}/jars/*", *more])
