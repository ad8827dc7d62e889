"""`duolog repartition`: change the number of tasks of a stopped topology."""

from pathlib import Path

import click

from duolog.cli.applications.topology_file import TopologyFile
from duolog.cli.options import data_option
from duolog.cli.signals import end_in_order_on_signals
from duolog.core.counts import counted
from duolog.runtime.data_dirs import default_data_dir


@click.command()
@click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--tasks", type=click.IntRange(1), required=True, help="New number of tasks.")
@data_option("Data directory.  [default: $XDG_DATA_HOME/duolog/<topology>]", urls=True)
def repartition(*, path: Path, tasks: int, data_dir: Path | None) -> None:
    """Change the number of tasks of a stopped topology.

    The first start fixes the number of tasks, because each key's state belongs to one task. After
    this command, the next start moves each row to the new task of its key and resumes where the
    topology stopped.

    The command refuses to change a topology whose state cannot be assigned by record key: processor
    stores whose keys do not contain the record's key, global tables, and partitioning functions.
    With the current number of tasks it always succeeds: the next start then writes changelogs with
    new names, which replaces one that was deleted.

    \b
    Examples:
      duolog repartition totals.py --tasks 8
      duolog repartition totals.py --tasks 8 --data ./data
    """
    end_in_order_on_signals()
    topology = TopologyFile(path).load()
    # Imported late to keep `--help` fast.
    from duolog.runtime.application import Application  # noqa: PLC0415

    directory = data_dir or default_data_dir(topology.name)
    with Application(topology, bootstrap_servers="127.0.0.1:1", data_dir=directory) as application:
        done = application.repartition(tasks)
    click.echo(
        f'application "{topology.name}" will have {counted(done.tasks, "task")} from its '
        f"next start, instead "
        f"of {done.tasks_before}; "
        f"stores to move: {', '.join(done.stores) or 'none'}"
    )
