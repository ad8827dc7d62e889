from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from duolog.cli.applications.topology_file import load_topology
from duolog.cli.commands.init import init
from duolog.cli.errors import DirectoryNotEmpty


def duolog_init(directory: Path) -> Result:
    return CliRunner().invoke(init, [str(directory)])


def test_a_project_has_a_topology_that_is_named_after_its_directory(tmp_path: Path) -> None:
    reported = duolog_init(tmp_path / "here" / "My shop!")

    assert reported.exit_code == 0, reported.output
    made = tmp_path / "here" / "My shop!"
    names = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    assert names == {
        "README.md",
        "app.py",
        "test_app.py",
        "data/customers.jsonl",
        "data/orders.jsonl",
    }
    assert load_topology(made / "app.py").name == "My-shop"
    assert "# My-shop" in (made / "README.md").read_text()
    assert "cd '" in reported.stderr, "as a shell reads it"


def test_a_project_in_avro_has_statements_and_schemas(tmp_path: Path) -> None:
    made = tmp_path / "shop"

    reported = CliRunner().invoke(init, [str(made), "--format", "avro"])

    assert reported.exit_code == 0, reported.output
    names = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    assert names == {
        "README.md",
        "app.sql",
        "data/customers.jsonl",
        "data/orders.jsonl",
        "schemas/customers-value.avsc",
        "schemas/orders-value.avsc",
    }
    assert "# shop" in (made / "README.md").read_text()


@pytest.mark.parametrize("name", [".", "…", "x" * 250])
def test_any_directory_gives_a_name_that_an_application_can_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)

    reported = duolog_init(Path(name))

    assert reported.exit_code == 0, reported.output
    application_id = load_topology(Path(name) / "app.py").name
    assert 1 <= len(application_id) <= 200
    assert load_topology(Path(name) / "app.py").describe().startswith("Topology: ")


def test_a_directory_with_anything_in_it_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_text("mine")

    reported = duolog_init(tmp_path)

    assert isinstance(reported.exception, DirectoryNotEmpty)
    assert reported.exception.detail == "It contains .hidden."
    assert [path.name for path in tmp_path.iterdir()] == [".hidden"]


def test_a_file_is_not_accepted_as_a_directory(tmp_path: Path) -> None:
    path = tmp_path / "shop"
    path.write_text("mine")

    reported = duolog_init(path)

    assert isinstance(reported.exception, DirectoryNotEmpty)
    assert path.read_text() == "mine"
