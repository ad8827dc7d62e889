"""Size as a signal: a file or a function that grows asks once what its second noun is."""

import ast
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PRODUCT: Final = ("src", "bench", "examples", "jvm", "scripts")

# Lower them when there is room: what is small stays small.
FUNCTION_LINES_MAX: Final = 70
FILE_LINES_MAX: Final = 500
JAVA_COLUMNS_MAX: Final = 100


def _files(*folders: str, kind: str = "*.py") -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob(kind))


def test_no_function_exceeds_the_line_limit() -> None:
    long = {
        f"{path.relative_to(ROOT)}: {node.name}": lines
        for path in _files(*PRODUCT)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    }

    assert long == {}


def test_no_file_exceeds_the_line_limit() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (*_files(*PRODUCT, "tests"), *_files("jvm", kind="*.java"))
        if (lines := len(path.read_text().splitlines())) > FILE_LINES_MAX
    }

    assert long == {}


def test_lines_of_java_fit_into_the_columns() -> None:
    """Lines of Python are checked by ruff. The name of an imported class may be longer."""
    long = {
        f"{path.relative_to(ROOT)}:{number}": len(line)
        for path in _files("jvm", kind="*.java")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > JAVA_COLUMNS_MAX and not line.startswith("import ")
    }

    assert long == {}
