from pathlib import Path

from click.testing import CliRunner

from duolog.cli.commands.fetch_jars import fetch_jars
from duolog.core.errors import ConfigError
from duolog.engine.jvm.artifacts import SERVED


def test_the_default_set_is_put_into_a_directory_and_its_paths_are_printed(tmp_path: Path) -> None:
    done = CliRunner().invoke(fetch_jars, ["--dir", str(tmp_path / "jars")])

    expected = [tmp_path / "jars" / artifact.file_name for artifact in SERVED]
    assert done.output.splitlines() == [str(path) for path in expected]
    assert all(artifact.is_in(tmp_path / "jars") for artifact in SERVED)


def test_versions_without_a_digest_are_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        fetch_jars, ["--dir", str(tmp_path), "--connector", "org.example:thing:1.0"]
    )

    assert isinstance(done.exception, ConfigError)
    assert "org.example:thing:1.0" in done.exception.message
