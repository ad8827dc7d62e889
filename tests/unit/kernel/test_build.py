import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "jvm" / "build.py"


@pytest.fixture
def build() -> Any:
    """Load the build script, which is not part of a package."""
    spec = spec_from_file_location("kernel_build", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_a_jdk_the_error_names_the_package(
    build: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    with pytest.raises(build.BuildError, match="openjdk-17-jdk-headless"):
        build.build(tmp_path / "kernel.jar", tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_an_old_jdk_is_refused(build: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    javac = tmp_path / "bin" / "javac"
    javac.parent.mkdir()
    javac.write_text("#!/bin/sh\necho javac 11.0.2\n")
    javac.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(build.BuildError, match="older than Java 17"):
        build.find_javac()


def test_without_the_connector_the_error_says_how_to_fetch_it(build: Any, tmp_path: Path) -> None:
    with pytest.raises(build.BuildError, match=r"python -m duolog.engine.jvm.jars"):
        build.connector_jars(tmp_path)


def test_equal_classes_make_equal_jars(build: Any, tmp_path: Path) -> None:
    jars = []
    for name, order in (("one", "ab"), ("two", "ba")):
        classes = tmp_path / name / "org"
        classes.mkdir(parents=True)
        for letter in order:
            (classes / f"{letter}.class").write_text(letter)
        build.write_jar(tmp_path / name, tmp_path / f"{name}.jar", "the same")
        jars.append((tmp_path / f"{name}.jar").read_bytes())

    assert jars[0] == jars[1]


@pytest.fixture
def jvm(tmp_path: Path) -> Path:
    """A copy of the build script with one source, and no JDK that could compile it."""
    (tmp_path / "jvm" / "src").mkdir(parents=True)
    (tmp_path / "jvm" / "src" / "One.java").write_text("final class One {}")
    (tmp_path / "jvm" / "build.py").write_bytes(SCRIPT.read_bytes())
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-sql-kafka-0-10_2.13-1.jar").write_text("jar")
    return tmp_path / "jvm"


def is_fresh(jvm: Path, jar: Path) -> bool:
    options = ["--check", "--out", str(jar), "--jars", str(jvm.parent / "jars")]
    words = [sys.executable, str(jvm / "build.py"), *options]
    return subprocess.run(words, timeout=60, check=False).returncode == 0


def test_a_jar_is_rebuilt_by_content_and_not_by_time(build: Any, jvm: Path, tmp_path: Path) -> None:
    """A jar that was copied from another clone was taken for fresh, as it was the newer file."""
    build.SOURCES, build.__file__ = jvm / "src", str(jvm / "build.py")
    jar = tmp_path / "kernel.jar"
    (tmp_path / "classes").mkdir()
    made_of = build.digest([build.pyspark_jars(), tmp_path / "jars"])
    build.write_jar(tmp_path / "classes", jar, made_of)
    os.utime(jar, (0, 0))

    assert is_fresh(jvm, jar)

    (jvm / "src" / "One.java").write_text("final class Two {}")
    os.utime(jar)
    assert not is_fresh(jvm, jar)


@pytest.mark.parametrize("half", [None, b"PK half a jar"])
def test_a_missing_or_truncated_jar_is_not_fresh(
    jvm: Path, tmp_path: Path, half: bytes | None
) -> None:
    if half is not None:
        (tmp_path / "kernel.jar").write_bytes(half)

    assert not is_fresh(jvm, tmp_path / "kernel.jar")


def test_the_jar_of_this_installation_is_of_its_sources(build: Any) -> None:
    jar = SCRIPT.parents[1] / "src/duolog/engine/kernel.jar"

    assert build.is_fresh(jar, build.cached_jars())
