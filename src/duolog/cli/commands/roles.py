"""`duolog users roles`: roles, whose members have the rights of rules for `Role:NAME`."""

from typing import Final

import click

from duolog.cli.kafka.administrators import ensure_another_administrator, force_option
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.security_topic import append, read_state
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.security.identity.principal import ROLE, USER, Principal
from duolog.security.records.records import RoleMemberChange
from duolog.security.state.security_state import ADMINISTRATORS

LIST_COLUMNS: Final = (
    Column("role", "string", "name of the role"),
    Column("member", "string", "principal of a member"),
)


@click.group()
def roles() -> None:
    """Manage the roles of users.

    Members of the role administrators may do everything.

    \b
    Examples:
      duolog users roles list
      duolog users roles add alice writers
      duolog acls add --allow Role:writers --operation WRITE --topic orders
    """


@roles.command("list")
@output.output_option
@cluster_options
def list_roles(*, form: str, cluster: Cluster) -> None:
    """List roles with their members."""
    if form == "help":
        return click.echo(output.help_text(LIST_COLUMNS), nl=False)
    rows = [
        {"role": role.name, "member": str(member)}
        for role, members in sorted(read_state(cluster).members.items())
        for member in sorted(members)
    ]
    return output.write_rows(rows, LIST_COLUMNS, form)


@roles.command()
@click.argument("user")
@click.argument("role")
@cluster_options
def add(*, user: str, role: str, cluster: Cluster) -> None:
    """Make a user a member of a role."""
    append(cluster, [_change(user, role, present=True)])
    click.echo(f'user "{user}" is a member of role "{role}"', err=True)


@roles.command()
@click.argument("user")
@click.argument("role")
@force_option
@cluster_options
def remove(*, user: str, role: str, force: bool, cluster: Cluster) -> None:
    """End the membership of a user in a role."""
    if role == ADMINISTRATORS.name and not force:
        ensure_another_administrator(cluster, user)
    append(cluster, [_change(user, role, present=False)])
    click.echo(f'user "{user}" is not a member of role "{role}"', err=True)


def _change(user: str, role: str, *, present: bool) -> RoleMemberChange:
    return RoleMemberChange(Principal(ROLE, role), Principal(USER, user), present=present)
