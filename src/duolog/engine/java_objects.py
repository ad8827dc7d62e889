"""The type of objects in the JVM: py4j has no static types, and resolves members at run time."""

from collections.abc import Iterator
from typing import Protocol


class JavaObject(Protocol):
    """A Java object, class or package.

    Texts, numbers and booleans arrive as Python's own: convert them (`str(…)`) to say which one is
    expected.
    """

    def __getattr__(self, name: str) -> "JavaObject": ...
    def __call__(self, *arguments: object) -> "JavaObject": ...
    def __iter__(self) -> Iterator["JavaObject"]: ...
    def __bytes__(self) -> bytes: ...
    def __int__(self) -> int: ...
