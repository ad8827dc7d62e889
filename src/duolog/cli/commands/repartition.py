"""`duolog repartition`: the state of a topology for another number of tasks."""

from pathlib import Path

import click

from duolog.cli.applications.topology_file import TopologyFile
from duolog.cli.options import data_option
from duolog.cli.signals import end_in_order_on_signals
from duolog.runtime.data_dirs import default_data_dir


@click.command()
@click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--tasks", type=click.IntRange(1), required=True, help="How many tasks it is to have."
)
@data_option("Where its state is kept.  [default: $XDG_DATA_HOME/duolog/<topology>]", urls=True)
def repartition(*, path: Path, tasks: int, data_dir: Path | None) -> None:
    """Give the state of a topology, which does not run, to another number of tasks.

    The first start fixes the number: a key's state lies with its task. At the next start each row goes to the task that its key
    has then, and all goes on where it stopped. What belongs to no task of a key is refused, and nothing
    is changed: stores of processors whose keys lack the record's, global tables, tasks that a function chooses. To the number that
    there is, all of it goes: the next start writes it to changelogs of new names, where one of them was deleted.

    \b
    Examples:
      duolog repartition totals.py --tasks 8
      duolog repartition totals.py --tasks 8 --data ./data
    """
    end_in_order_on_signals()
    topology = TopologyFile(path).load()
    # Imported here, as `duolog run` does.
    from duolog.runtime.application import Application  # noqa: PLC0415

    directory = data_dir or default_data_dir(topology.name)
    with Application(topology, bootstrap_servers="127.0.0.1:1", data_dir=directory) as application:
        done = application.repartition(tasks)
    click.echo(
        f'application "{topology.name}" has {done.tasks} tasks from its next start on, {done.tasks_before} before; '
        f"with their state go on: {', '.join(done.stores) or 'no stores'}"
    )
