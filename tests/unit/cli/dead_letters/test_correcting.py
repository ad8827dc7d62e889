import sys
from pathlib import Path

import pytest

from duolog.cli.dead_letters.correcting import load_function
from duolog.core.errors import StatementError
from unit.runtime.dead_letters.making import letter

DATACLASS = """
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar

@dataclass
class Order:
    text: str
    kinds: ClassVar[int] = 1

def correct(letter):
    return Order("new").text
"""


def test_the_file_of_a_function_may_have_dataclasses(tmp_path: Path) -> None:
    file = tmp_path / "repair.py"
    file.write_text(DATACLASS)

    assert load_function(str(file))(letter()) == "new"


def test_a_file_imports_modules_next_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "words_of_orders.py").write_text("NEW = 'new'")
    file = tmp_path / "repair.py"
    file.write_text("import words_of_orders\ndef fix(letter): return words_of_orders.NEW")

    assert load_function(f"{file}:fix")(letter()) == "new"


@pytest.mark.parametrize(
    ("text", "named", "told"),
    [
        ("1 / 0", "repair.py", "raised an error"),
        ("raise SystemExit(0)", "repair.py", "raised an error"),
        ("x = 1", "repair.py:x", 'no function "x"'),
        ("x = 1", "other.py", "does not exist"),
        ("x = 1", "notes.txt", "is not a Python file"),
    ],
)
def test_files_without_a_function_are_refused(
    tmp_path: Path, text: str, named: str, told: str
) -> None:
    (tmp_path / "repair.py").write_text(text)
    (tmp_path / "notes.txt").touch()

    with pytest.raises(StatementError, match=told):
        load_function(str(tmp_path / named))
