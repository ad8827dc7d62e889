from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "jvm" / "build.py"


@pytest.fixture(scope="module")
def build() -> Any:
    """The build script, which is no part of a package."""
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


def test_without_the_connector_the_error_tells_how_to_fetch_it(build: Any, tmp_path: Path) -> None:
    with pytest.raises(build.BuildError, match=r"python -m duolog.engine.jars"):
        build.connector_jars(tmp_path)


def test_equal_classes_make_equal_jars(build: Any, tmp_path: Path) -> None:
    jars = []
    for name, order in (("one", "ab"), ("two", "ba")):
        classes = tmp_path / name / "org"
        classes.mkdir(parents=True)
        for letter in order:
            (classes / f"{letter}.class").write_text(letter)
        build.write_jar(tmp_path / name, tmp_path / f"{name}.jar")
        jars.append((tmp_path / f"{name}.jar").read_bytes())

    assert jars[0] == jars[1]
