"""`duolog users`: users of a cluster and their roles, and the first administrator."""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from confluent_kafka.admin import ScramMechanism as ClientMechanism

from duolog.cli.commands.roles import roles
from duolog.cli.kafka.administrators import ensure_another_administrator, force_option
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.passwords import new_password, password_option
from duolog.cli.kafka.wire import Wire
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.errors import KafkaError
from duolog.runtime.administration.users import (
    DUPLICATE,
    ITERATIONS,
    NOT_FOUND,
    Credential,
    credentials_of_users,
)
from duolog.security.credentials.scram import SALT_BYTES, ScramMechanism

LIST_COLUMNS: Final = (
    Column("user", "string", "name of the user"),
    Column("mechanism", "string", "SCRAM mechanism of a credential"),
    Column("iterations", "int", "rounds by which the credential is computed"),
)


@click.group()
def users() -> None:
    """Manage the users of a cluster.

    The password of a user serves SCRAM-SHA-256, SCRAM-SHA-512 and PLAIN.

    \b
    Examples:
      duolog users bootstrap ./data
      duolog users recover ./data --user admin
      duolog users list
      duolog users add alice
      duolog users add alice --password-file alice.password
      duolog users password alice
      duolog users remove alice
      duolog users roles add alice administrators
    """


users.add_command(roles)


@users.command("list")
@output.output_option
@cluster_options
def list_users(*, form: str, cluster: Cluster) -> None:
    """List users with their credentials."""
    if form == "help":
        return click.echo(output.help_text(LIST_COLUMNS), nl=False)
    rows = [
        {
            "user": name,
            "mechanism": mechanism.name.replace("_", "-"),
            "iterations": iterations,
        }
        for name, credentials in sorted(_described(cluster).items())
        for mechanism, iterations in credentials
    ]
    return output.write_rows(rows, LIST_COLUMNS, form)


@users.command()
@click.argument("user")
@password_option
@cluster_options
def add(*, user: str, password_file: str | None, cluster: Cluster) -> None:
    """Add a user."""
    if user in _described(cluster):
        raise KafkaError(
            f'user "{user}" exists',
            code=DUPLICATE,
            hint=f"Change the password with `duolog users password {user}`.",
        )
    _set_password(cluster, user, new_password(password_file))
    click.echo(f'added user "{user}"', err=True)


@users.command()
@click.argument("user")
@password_option
@cluster_options
def password(*, user: str, password_file: str | None, cluster: Cluster) -> None:
    """Change the password of a user."""
    _ensure_known(user, _described(cluster))
    _set_password(cluster, user, new_password(password_file))
    click.echo(f'changed the password of user "{user}"', err=True)


@users.command()
@click.argument("user")
@force_option
@cluster_options
def remove(*, user: str, force: bool, cluster: Cluster) -> None:
    """Remove a user, end its sessions, and revoke its tokens.

    Its rules and roles stay, and count for a new user of this name.
    """
    described = _described(cluster)
    _ensure_known(user, described)
    if not force:
        ensure_another_administrator(cluster, user)
    deletions: list[UserScramCredentialAlteration] = [
        UserScramCredentialDeletion(user, ClientMechanism(each.mechanism.value))
        for each in described[user]
    ]
    client = cluster.admin()
    with cluster.errors(f'remove user "{user}"'):
        _alter(client, cluster, deletions)
    click.echo(f'removed user "{user}"', err=True)


@users.command()
@click.argument("data_dir", type=click.Path(file_okay=False, path_type=Path))
@click.option("--user", default="admin", show_default=True, help="Name of the administrator.")
@password_option
def bootstrap(*, data_dir: Path, user: str, password_file: str | None) -> None:
    """Create the first administrator in a data directory; the broker must not be running.

    This works once per data directory. An alternative is to start the broker with the variable
    DUOLOG_ADMIN_PASSWORD_FILE, and DUOLOG_ADMIN_USER for another name than admin.
    """
    # Imported late to keep the other commands fast.
    from duolog.broker.bootstrapping import bootstrap_data_dir  # noqa: PLC0415

    created = bootstrap_data_dir(data_dir.resolve(), user, new_password(password_file))
    if not created:
        raise KafkaError(
            f'data directory "{data_dir}" had a first administrator already',
            code=DUPLICATE,
            hint="Start the broker, and add users as an administrator. If the password is lost, "
            "use `duolog users recover`.",
        )
    click.echo(f'created administrator "{user}"', err=True)


@users.command()
@click.argument("data_dir", type=click.Path(file_okay=False, path_type=Path))
@click.option("--user", default="admin", show_default=True, help="Name of the administrator.")
@password_option
def recover(*, data_dir: Path, user: str, password_file: str | None) -> None:
    """Recover the rights to administer: set a password, and the role administrators.

    For a data directory without a usable administrator: the password is lost, or the last one was
    removed. The broker must not be running. Other users, rules and tokens stay.
    """
    # Imported late to keep the other commands fast.
    from duolog.broker.bootstrapping import recover_data_dir  # noqa: PLC0415

    recover_data_dir(data_dir.resolve(), user, new_password(password_file))
    click.echo(f'user "{user}" is an administrator with the new password', err=True)


def _described(cluster: Cluster) -> dict[str, list[Credential]]:
    with Wire(cluster) as wire:
        return credentials_of_users(wire)


def _ensure_known(user: str, described: dict[str, list[Credential]]) -> None:
    if user not in described:
        raise KafkaError(
            f'user "{user}" does not exist',
            code=NOT_FOUND,
            hint="List the users with `duolog users list`.",
        )


def _set_password(cluster: Cluster, user: str, text: str) -> None:
    client = cluster.admin()
    alterations: list[UserScramCredentialAlteration] = [
        # A salt as the broker makes it: with librdkafka's, unknown names would look different.
        UserScramCredentialUpsertion(
            user,
            ScramCredentialInfo(ClientMechanism(each.value), ITERATIONS),
            text.encode(),
            salt=secrets.token_bytes(SALT_BYTES),
        )
        for each in ScramMechanism
    ]
    with cluster.errors(f'set the password of user "{user}"'):
        _alter(client, cluster, alterations)


def _alter(
    client: AdminClient, cluster: Cluster, alterations: Sequence[UserScramCredentialAlteration]
) -> None:
    """Make the alterations one by one: a request may alter a user only once."""
    for each in alterations:
        cluster.first_result(client.alter_user_scram_credentials([each]).values())
