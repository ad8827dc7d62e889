"""`--functions` of the commands that look at files of statements."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from duolog.cli.main import cli
from duolog.cli.sql.function_modules import catalog_of, modules_named

MODULE = "from duolog import udf\n\n@udf\ndef {}(a: int) -> str:\n    return str(a)\n"
SELECTED = "CREATE STREAM x AS SELECT k, {} FROM s;\n"
STREAM = "CREATE STREAM s (k STRING KEY, a INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);\n"


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def test_a_module_next_to_the_sql_file_is_found(directory: Path) -> None:
    (directory / "beside_it.py").write_text(MODULE.format("shown"))
    file = directory / "app.sql"
    file.write_text(
        STREAM
        + "CREATE FUNCTION shown FROM 'beside_it:shown';\n"
        + SELECTED.format("shown(a) AS b")
    )

    done = CliRunner().invoke(cli, ["sql", "lint", str(file)], standalone_mode=False)
    reported = CliRunner().invoke(cli, ["sql", "lineage", str(file)], standalone_mode=False)

    assert (done.return_value, done.output) == (0, "")
    assert "  B  ◀ S.A" in reported.output


def test_functions_are_named_by_module_or_by_file(directory: Path) -> None:
    elsewhere = directory / "elsewhere"
    elsewhere.mkdir()
    (directory / "by_name.py").write_text(MODULE.format("one"))
    (elsewhere / "by_file.py").write_text(MODULE.format("two"))
    file = directory / "app.sql"
    file.write_text(STREAM + SELECTED.format("one(a) AS b, two(a) AS c"))

    given = ["--functions", "by_name", "--functions", str(elsewhere / "by_file.py")]
    done = CliRunner().invoke(cli, ["sql", "lint", *given, str(file)], standalone_mode=False)
    without = CliRunner().invoke(cli, ["sql", "lint", str(file)], standalone_mode=False)

    assert (done.return_value, done.output) == (0, "")
    assert without.return_value == 1
    assert "Can't find any functions with the name 'ONE'" in without.output


def test_a_package_s_module_keeps_its_name() -> None:
    names = modules_named(["unit.ksql.udf.sample_functions"])

    assert names == ["unit.ksql.udf.sample_functions"]
    assert "SCORE" in catalog_of(names).functions
