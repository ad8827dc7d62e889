"""`duolog fetch-jars`: put the engine's connector jars into a directory."""

from pathlib import Path

import click

from duolog.cli.options import Directory


@click.command("fetch-jars")
@click.option(
    "--dir",
    "directory",
    type=Directory(),
    help="Directory for the jars.  [default: $XDG_CACHE_HOME/duolog/jars]",
)
@click.option(
    "--connector",
    default="",
    metavar="ITEMS",
    help="Other versions: group:artifact:version@sha256 items separated by commas, as in the "
    "engine setting `connector`.",
)
def fetch_jars(*, directory: Path | None, connector: str) -> None:
    """Download the engine's jars, for machines without a network.

    The package duolog contains the default set, and nothing is downloaded for it. Run this command
    in a container file to add other versions to the image. It needs the engine, whose version of
    Spark decides which jars are needed. Every jar is verified by its SHA-256. Its path is printed,
    one per line.

    \b
    Examples:
      duolog fetch-jars
      duolog fetch-jars --dir /opt/jars
      duolog run totals.py --set connector=/opt/jars
    """
    # Imported late to keep `duolog fetch-jars --help` fast.
    from duolog.engine.jvm.jars import fetch_jars as fetch  # noqa: PLC0415
    from duolog.engine.jvm.jars import jar_cache_dir  # noqa: PLC0415

    for jar in fetch(connector, directory or jar_cache_dir()):
        click.echo(jar)
