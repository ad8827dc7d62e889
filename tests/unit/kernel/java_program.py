"""Small Java programs in the kernel's package, for what Python cannot reach; without Spark."""

import os
import subprocess
from pathlib import Path

import pyspark

from duolog.engine.jars import connector_jars, kernel_jar

_SOURCES = Path(__file__).parent / "java"
_OPENS = [f"--add-opens=java.base/java.{part}=ALL-UNNAMED" for part in ("lang", "nio", "util")]


def run_java(name: str, directory: Path, *arguments: object, timeout_s: int = 30) -> list[str]:
    """Run the program `name`, compiled into `directory` by the first call; return the words it prints."""
    jars = [str(jar) for jar in (kernel_jar(), *connector_jars(""))]
    class_path = os.pathsep.join([*jars, f"{Path(pyspark.__file__).parent}/jars/*", str(directory)])
    if not list(directory.rglob(f"{name}.class")):
        source = str(_SOURCES / f"{name}.java")
        compiler = ["javac", "--release", "17", "-cp", class_path, "-d", str(directory), source]
        subprocess.run(compiler, check=True, timeout=60)
    program = ["java", "-Xmx1g", *_OPENS, "-cp", class_path, f"org.duolog.kernel.{name}"]
    done = subprocess.run(
        [*program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=True,
    )
    return done.stdout.split()
