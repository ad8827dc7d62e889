"""The benchmarks in `bench/` import each other by their full names, and `scripts/bench` finds each by its name."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"


def programs() -> list[Path]:
    return [
        path for path in BENCH.glob("*/*.py") if '\nif __name__ == "__main__":' in path.read_text()
    ]


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import from another benchmark."""
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] == "bench"
        ):
            yield from ((node.module, alias.name) for alias in node.names)


def names_of(path: Path) -> set[str]:
    """Return the names that a module defines or imports."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        for inner in ast.walk(node):
            match inner:
                case (
                    ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.ClassDef(name=name)
                ):
                    found.add(name)
                case ast.Name(id=name, ctx=ast.Store()):
                    found.add(name)
                case ast.ImportFrom(names=aliases) | ast.Import(names=aliases):
                    found.update(alias.asname or alias.name for alias in aliases)
    return found


def test_every_import_of_a_benchmark_exists() -> None:
    missing = []
    for path in BENCH.rglob("*.py"):
        for module, name in imports(path):
            at = ROOT / module.replace(".", "/")
            file = at.with_suffix(".py")
            known = names_of(file) if file.is_file() else {one.stem for one in at.glob("*.py")}
            if name not in known:
                missing.append(f"{path.relative_to(ROOT)}: {module}.{name}")

    assert missing == []


def test_no_benchmark_imports_another_by_its_short_name() -> None:
    short = {path.stem for path in BENCH.rglob("*.py")} - {"__init__", "operator"}
    wrong = [
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in BENCH.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in short
    ]

    assert wrong == []


def test_the_names_of_benchmarks_are_unique() -> None:
    assert len(programs()) > 20
    assert {
        name for name, times in Counter(path.stem for path in programs()).items() if times > 1
    } == set()
