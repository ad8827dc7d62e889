"""The cache of jars: no network and no JVM; a file in the cache stands for the repository."""

import hashlib
from pathlib import Path

import pytest

from duolog.core.errors import ConfigError
from duolog.engine.errors import ConnectorMissing
from duolog.engine.jvm import jars
from duolog.engine.jvm.artifacts import SERVED, Artifact, parse_artifacts
from duolog.engine.jvm.jars import connector_jars, fetch_jars, installed_jar_dirs

CONTENT = b"a jar"
ARTIFACT = Artifact("org.example", "thing", "1.0", hashlib.sha256(CONTENT).hexdigest())
SELECTION = f"{ARTIFACT.coordinate}@{ARTIFACT.sha256}"


def install(directory: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a data package with the jar, and return the jar."""
    package = directory / "jars_of_a_test"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / ARTIFACT.file_name).write_bytes(content)
    monkeypatch.syspath_prepend(str(directory))
    monkeypatch.setattr(jars, "_JAR_PACKAGE", package.name)
    return package / ARTIFACT.file_name


def serve(content: bytes | None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the resolver deliver `content`, or nothing; return the coordinates it was asked for."""
    asked: list[str] = []

    def resolve(artifacts: list[Artifact], scratch: Path) -> str:
        asked.extend(artifact.coordinate for artifact in artifacts)
        if content is None:
            return "unresolved dependency"
        (scratch / "jars").mkdir()
        (scratch / "jars" / "org.example_thing-1.0.jar").write_bytes(content)
        return ""

    monkeypatch.setattr(jars, "_resolve_in_a_process", resolve)
    return asked


def test_a_jar_is_fetched_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = serve(CONTENT, monkeypatch)

    first = connector_jars(SELECTION, cache_dir=tmp_path / "jars")
    second = connector_jars(SELECTION, cache_dir=tmp_path / "jars")

    assert first == second == (tmp_path / "jars" / "thing-1.0.jar",)
    assert first[0].read_bytes() == CONTENT
    assert asked == ["org.example:thing:1.0"]
    assert [path.name for path in (tmp_path / "jars").iterdir()] == ["thing-1.0.jar"]


def test_a_jar_with_another_sum_is_refused_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(b"another jar", monkeypatch)

    with pytest.raises(ConnectorMissing, match="is not the pinned one"):
        connector_jars(SELECTION, cache_dir=tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_damaged_jar_in_the_cache_is_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = serve(CONTENT, monkeypatch)
    (tmp_path / "thing-1.0.jar").write_bytes(b"half a j")

    (jar,) = connector_jars(SELECTION, cache_dir=tmp_path)

    assert jar.read_bytes() == CONTENT
    assert len(asked) == 1


def test_a_jar_that_is_not_served_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(None, monkeypatch)

    with pytest.raises(ConnectorMissing) as caught:
        connector_jars(SELECTION, cache_dir=tmp_path)

    assert caught.value.message == "cannot fetch jar org.example:thing:1.0"
    assert caught.value.detail == "unresolved dependency"
    assert str(tmp_path) in caught.value.hint


def test_all_jars_that_are_not_served_are_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(None, monkeypatch)
    other = f"org.example:other:2.0@{'0' * 64}"

    with pytest.raises(ConnectorMissing) as caught:
        connector_jars(f"{SELECTION},{other}", cache_dir=tmp_path)

    both = "org.example:thing:1.0, org.example:other:2.0"
    assert caught.value.message == f"cannot fetch 2 jars: {both}"
    assert f"put thing-1.0.jar, other-2.0.jar into {tmp_path}" in caught.value.hint
    assert "pip install" not in caught.value.hint


def test_a_jar_that_arrives_is_kept_although_another_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(CONTENT, monkeypatch)
    other = f"org.example:other:2.0@{'0' * 64}"

    with pytest.raises(ConnectorMissing, match=r"cannot fetch jar org\.example:other:2\.0"):
        connector_jars(f"{SELECTION},{other}", cache_dir=tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["thing-1.0.jar"]


def test_an_offline_machine_learns_which_package_contains_the_pinned_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "_JAR_PACKAGE", "a_package_that_does_not_exist")
    serve(None, monkeypatch)

    with pytest.raises(ConnectorMissing) as caught:
        connector_jars(cache_dir=tmp_path)

    assert all(artifact.coordinate in caught.value.message for artifact in SERVED)
    assert "The wheel duolog contains them" in caught.value.hint


def test_an_installed_jar_is_used_and_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = serve(CONTENT, monkeypatch)
    jar = install(tmp_path / "site", CONTENT, monkeypatch)

    assert connector_jars(SELECTION, cache_dir=tmp_path / "cache") == (jar,)
    assert asked == []
    assert not (tmp_path / "cache").exists()


def test_an_installed_jar_with_another_digest_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(CONTENT, monkeypatch)
    install(tmp_path / "site", b"tampered", monkeypatch)

    (jar,) = connector_jars(SELECTION, cache_dir=tmp_path / "cache")

    assert jar == tmp_path / "cache" / "thing-1.0.jar"
    assert jar.read_bytes() == CONTENT


def test_the_installation_of_this_clone_contains_the_pinned_set() -> None:
    """`scripts/install` installs the jars as the wheel duolog does."""
    (place,) = installed_jar_dirs()

    assert connector_jars() == tuple(place / artifact.file_name for artifact in SERVED)


def test_jars_are_put_into_a_directory_from_the_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = serve(CONTENT, monkeypatch)
    install(tmp_path / "site", CONTENT, monkeypatch)

    (jar,) = fetch_jars(SELECTION, tmp_path / "image" / "jars")

    assert jar == tmp_path / "image" / "jars" / "thing-1.0.jar"
    assert jar.read_bytes() == CONTENT
    assert [path.name for path in jar.parent.iterdir()] == [jar.name]
    assert asked == []


def test_jars_that_are_nowhere_are_fetched_into_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = serve(CONTENT, monkeypatch)

    (jar,) = fetch_jars(SELECTION, tmp_path / "jars")

    assert jar.read_bytes() == CONTENT
    assert asked == ["org.example:thing:1.0"]


def test_a_directory_of_jars_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "b.jar").touch()
    (tmp_path / "a.jar").touch()
    (tmp_path / "notes.txt").touch()

    assert connector_jars(str(tmp_path)) == (tmp_path / "a.jar", tmp_path / "b.jar")


def test_a_selection_without_a_sum_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"org\.example:thing:1\.0"):
        parse_artifacts("org.example:thing:1.0")


def test_a_directory_of_jars_may_be_named_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JVM that loads them works in another directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "thing.jar").write_bytes(CONTENT)

    assert connector_jars("jars") == (tmp_path / "jars" / "thing.jar",)
