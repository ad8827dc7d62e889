"""Modules with functions: search, reload, and errors with their line."""

import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from duolog.core.errors import StatementError
from duolog.ksql.udf.modules import add_directories, functions_of, load
from duolog.plan.sql.user_functions import Routine

_numbers = count()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module that has not been imported."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    add_directories(tmp_path)
    path = tmp_path / f"scoring{next(_numbers)}.py"
    yield path
    sys.modules.pop(path.stem, None)


def source(result: str) -> str:
    return f"from duolog import udf\n\n@udf\ndef score(a: int) -> int:\n    return {result}\n"


def test_a_module_is_reloaded_on_request(module: Path) -> None:
    def result(*, reload: bool) -> object:
        function = load("SCORE", f"{module.stem}:score", reload=reload)
        types = tuple(one.type for one in function.overloads[0].signature.parameters)
        return Routine(function, 0, "call", types, function.overloads[0].signature.result)(1)

    module.write_text(source("a + 1"))
    assert result(reload=False) == 2
    module.write_text(source("a + 1000"))

    assert result(reload=False) == 2
    assert result(reload=True) == 1001


def test_a_reload_drops_functions_that_the_module_no_longer_has(module: Path) -> None:
    module.write_text(source("a + 1"))
    functions_of(module.stem)
    module.write_text(source("a + 1").replace("score", "other_name"))

    with pytest.raises(StatementError, match=r'has no function "gone"'):
        load("GONE", f"{module.stem}:gone", reload=True)
    assert [one.name for one in functions_of(module.stem)] == ["OTHER_NAME"]


@pytest.mark.parametrize(
    ("text", "expected_message"),
    [
        ("x = 1\ny = 1 / 0\n", r"ZeroDivisionError: division by zero\ndetail: It was raised at .*scoring\d+.py:2\."),
        ("x = 1\ndef f(:\n", r"SyntaxError: .*\ndetail: It was raised at .*scoring\d+.py:2\."),
        ("\nimport no_such_module\n", r"No module named 'no_such_module'\ndetail: It was raised at .*scoring\d+.py:2\."),
        ("x = 1\nraise SystemExit(3)\n", r"SystemExit: 3\ndetail: It was raised at .*scoring\d+.py:2\."),
        ("from duolog import udf\n@udf\ndef f(a) -> int: ...\n", r'scoring\d+.py:2: function "f" has a parameter "a" without'),
        ("x = 1\n", r"defines no SQL function"),
    ],
)  # fmt: skip
def test_a_module_that_fails_is_reported_with_its_line(
    module: Path, text: str, expected_message: str
) -> None:
    module.write_text(text)

    with pytest.raises(StatementError) as raised:
        functions_of(module.stem)

    assert re.search(expected_message, str(raised.value)), str(raised.value)


def test_a_missing_module_is_reported_with_the_search_path() -> None:
    with pytest.raises(
        StatementError, match=r'there is no module "no_such_module"\nhint: Put it next to'
    ):
        functions_of("no_such_module")


def test_two_overloads_of_the_same_types_are_refused(module: Path) -> None:
    module.write_text(
        source("1") + "\n@udf(name='score')\ndef other(b: int) -> str:\n    return ''\n"
    )

    with pytest.raises(StatementError, match='"SCORE" has two overloads of the same types'):
        functions_of(module.stem)
