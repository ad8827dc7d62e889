"""One package has the calls that differ between operating systems; scripts/check checks types on each."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "src/duolog/core/operating_system"
SOURCES: Final = sorted(
    path for path in (ROOT / "src").rglob("*.py") if PACKAGE not in path.parents
)

MODULES: Final = {"fcntl", "grp", "msvcrt", "pwd", "resource", "termios", "tty", "winreg"}
"""Modules that some systems do not have."""

NAMES: Final = {
    "os": {
        *("eventfd", "eventfd_read", "eventfd_write", "fdatasync", "fsync", "sendfile"),
        *("pread", "preadv", "pwrite", "pwritev", "nice", "sched_setscheduler", "statvfs"),
        *("sched_getaffinity", "posix_fadvise", "posix_fallocate", "copy_file_range", "splice"),
        *("O_CLOEXEC", "O_DIRECT", "O_DIRECTORY", "O_TMPFILE", "getuid", "geteuid"),
        *("getloadavg", "memfd_create"),
    },
    "select": {"epoll", "kqueue"},
    "socket": {"MSG_MORE", "TCP_CONGESTION", "TCP_USER_TIMEOUT", "TCP_QUICKACK", "SO_REUSEADDR"},
}
"""Names that some systems do not have, or that mean something else there."""

ALLOWED: Final = {
    "src/duolog/engine/jvm/orphan_guard.py": "a shell script that reads /proc",
    "src/duolog/testing/cluster.py": "SO_REUSEADDR keeps the port of a stopped broker",
}


def _differences(tree: ast.AST) -> Iterator[str]:
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name in MODULES)
            case ast.ImportFrom(module=str(module)) if module in MODULES:
                yield module
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in NAMES.get(
                module, ()
            ):
                yield f"{module}.{name}"
            case ast.Constant(value=str(text)) if "/proc/" in text and id(node) not in described:
                yield "/proc"
            case _:
                pass


def test_only_one_package_uses_what_differs_between_systems() -> None:
    found = {
        str(path.relative_to(ROOT)): differences
        for path in SOURCES
        if (differences := sorted(set(_differences(ast.parse(path.read_text())))))
    }

    assert {path: names for path, names in found.items() if path not in ALLOWED} == {}
    assert sorted(path for path in ALLOWED if path not in found) == [], "no longer needed"
