"""Each package of the Java kernel imports only the packages before it.

The model is Kafka's checkstyle/import-control.xml.
"""

import re
from pathlib import Path
from typing import Final

KERNEL: Final = Path(__file__).parents[2] / "jvm/src/org/duolog/kernel"
ROOT: Final = "org.duolog.kernel"
ORDER: Final = (
    "record",
    "functions.format",
    "functions.format.schema",
    "functions.format.protobuf",
    "functions",
    "commit",
    "security",
    "spec",
    "metrics",
    "task",
    "store",
    "store.window",
    "python",
    "node",
    "topology",
    "kafka",
    "state",
    "",
)
"""The lowest first; the last one is the kernel's own package, with the entry points for Python."""

FORMATS: Final = (
    "functions.format",
    "functions.format.schema",
    "functions.format.protobuf",
)

ALONE: Final = ("functions", *FORMATS, "commit", "security")
"""Packages that import nothing else of the kernel, except that functions import their formats."""

TEXT: Final = re.compile(r'"(?:\\.|[^"\\\n])*"')
OURS: Final = re.compile(rf"\b{re.escape(ROOT)}((?:\.[a-z]\w*)*)\.[A-Z]")


def test_packages_are_listed() -> None:
    found = {package_of(source) for source in KERNEL.rglob("*.java")}

    assert found == set(ORDER)
    assert all(
        (KERNEL / package.replace(".", "/") / "package-info.java").exists() for package in ORDER
    )


def test_a_package_imports_only_packages_before_it() -> None:
    wrong = []
    for source in sorted(KERNEL.rglob("*.java")):
        own = package_of(source)
        for package in OURS.findall(TEXT.sub("", source.read_text())):
            other = package.removeprefix(".")
            allowed = ORDER[: ORDER.index(own) + 1]
            if own in ALONE:
                allowed = tuple(one for one in allowed if one == own or one in FORMATS)
            if other not in allowed:
                wrong.append(f"{source.relative_to(KERNEL)} uses {other or ROOT}")

    assert not wrong


def package_of(source: Path) -> str:
    """Return the package of a source below the kernel's, which its directory names too."""
    text = source.read_text()
    named = re.search(rf"^package {re.escape(ROOT)}(?:\.([\w.]+))?;", text, re.MULTILINE)
    assert named is not None, f"{source} has no package of the kernel"
    package = named[1] or ""
    assert source.parent == KERNEL / package.replace(".", "/")
    return package
