"""`duolog init`: create a small runnable project."""

import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from shlex import quote
from string import Template
from typing import Final

import click

from duolog.cli.errors import DirectoryNotEmpty

_TEMPLATE: Final = ".template"
_PROJECTS: Final = {"json": "project", "avro": "project_avro"}
"""The directory of each format's project."""
_SHOWN_MAX: Final = 5
_HINT: Final = "Name a new or empty directory."


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "value_format",
    type=click.Choice(tuple(_PROJECTS)),
    default="json",
    show_default=True,
    help="Format of the topics. avro: SQL statements over topics with schemas in a registry.",
)
def init(*, directory: Path, value_format: str) -> None:
    """Create a small project: a topology, its test, sample records and a README.

    DIR must not exist or must be empty. The topology is named after it. With --format avro, the
    project contains SQL statements and schemas instead of a topology.

    \b
    Examples:
      duolog init shop
      cd shop
      duolog run app.py --watch

      duolog init shop --format avro
    """
    _ensure_empty(directory)
    name = application_id_of(directory)
    for part, text in _project(_PROJECTS[value_format], name).items():
        path = directory / part
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        click.echo(path)
    click.echo(f"Next: run `cd {quote(str(directory))}` and follow README.md.", err=True)


def application_id_of(directory: Path) -> str:
    """Return a valid topology name derived from a directory.

    Example:
        >>> application_id_of(Path("src/my shop")), application_id_of(Path("/"))
        ('my-shop', 'app')
    """
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", directory.resolve().name)
    return words.strip(".-")[:200] or "app"


def _ensure_empty(directory: Path) -> None:
    if not directory.exists():
        return
    if not directory.is_dir():
        raise DirectoryNotEmpty(f'"{directory}" is a file', hint=_HINT)
    if there := sorted(path.name for path in directory.iterdir()):
        shown = ", ".join(there[:_SHOWN_MAX]) + (", …" if len(there) > _SHOWN_MAX else "")
        raise DirectoryNotEmpty(
            f'directory "{directory}" is not empty', detail=f"It contains {shown}.", hint=_HINT
        )


def _project(source: str, name: str) -> dict[Path, str]:
    """Return the contents of the project files by relative path."""
    return {
        place.with_suffix("") if place.suffix == _TEMPLATE else place: (
            Template(text).substitute(name=name) if place.suffix == _TEMPLATE else text
        )
        for place, text in _texts(files("duolog.cli") / source, Path())
    }


def _texts(directory: Traversable, place: Path) -> Iterator[tuple[Path, str]]:
    for part in sorted(directory.iterdir(), key=lambda part: part.name):
        if part.is_dir():
            yield from _texts(part, place / part.name)
        else:
            yield place / part.name, part.read_text("utf-8")
