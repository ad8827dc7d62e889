"""`duolog quotas`: quotas of users, client ids and addresses, in the words of kafka-configs."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, Final

import click

from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.wire import Wire
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.errors import KafkaError
from duolog.runtime.administration.rights import ensure_answered

DEFAULT: Final = "<default>"
COLUMNS: Final = (
    Column("user", "string", f"user; {DEFAULT}: users without their own quota"),
    Column("client_id", "string", "client id, or the default"),
    Column("ip", "string", "IP address, or the default"),
    Column("quota", "string", "name of the quota"),
    Column("value", "double", "limit, per second; of request_percentage in percent"),
)
_DESCRIBE, _ALTER = (48, 1), (49, 1)
_EXACT, _DEFAULT = 0, 1
_NOT_FOUND: Final = 91
_KINDS: Final = ("user", "client-id", "ip")

Entity = Mapping[str, str | None]


@click.group()
def quotas() -> None:
    """Manage the quotas of users, client ids and IP addresses.

    \b
    Quotas:
      producer_byte_rate        bytes of produce requests per second
      consumer_byte_rate        bytes of fetched records per second
      request_percentage        share of the broker's time
      controller_mutation_rate  partitions created or deleted per second
      connection_creation_rate  new connections per second, of an IP address

    \b
    Examples:
      duolog quotas list
      duolog quotas set --user alice producer_byte_rate=1048576
      duolog quotas set --client-defaults request_percentage=50
      duolog quotas remove --user alice producer_byte_rate
    """


@quotas.command("list")
@output.output_option
@cluster_options
def list_quotas(*, form: str, cluster: Cluster) -> None:
    """List all quotas."""
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    with Wire(cluster) as wire:
        answer = wire.ask(*_DESCRIBE, components=[], strict=False)
    ensure_answered(answer, "list the quotas")
    rows = [
        {
            **{kind.replace("-", "_"): _shown(entry.entity, kind) for kind in _KINDS},
            "quota": value.key,
            "value": value.value,
        }
        for entry in answer.entries or ()
        for value in entry.values
    ]
    rows.sort(key=lambda row: tuple(str(field or "") for field in row.values()))
    return output.write_rows(rows, COLUMNS, form)


def entity_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options that name an entity to a command, which gets it as `entity`."""

    @click.option("--user", metavar="NAME", help="User.")
    @click.option("--user-defaults", is_flag=True, help="Users without their own quota.")
    @click.option("--client", metavar="ID", help="Client id; also together with a user.")
    @click.option("--client-defaults", is_flag=True, help="Client ids without their own quota.")
    @click.option("--ip", metavar="ADDRESS", help="IP address.")
    @click.option("--ip-defaults", is_flag=True, help="Addresses without their own quota.")
    @wraps(command)
    def with_entity(
        *, user: str | None, user_defaults: bool, client: str | None, client_defaults: bool,
        ip: str | None, ip_defaults: bool, **rest: Any,
    ) -> object:  # fmt: skip
        entity: dict[str, str | None] = {}
        for kind, name, default in (
            ("user", user, user_defaults),
            ("client-id", client, client_defaults),
            ("ip", ip, ip_defaults),
        ):
            if name is not None and default:
                raise click.UsageError(f"Give a name or the defaults of {kind}, not both.")
            if name is not None or default:
                entity[kind] = name
        if not entity:
            raise click.UsageError("Give a user, a client id or an IP address.")
        return command(entity=entity, **rest)

    return with_entity


def _read(_context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> Any:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise click.BadParameter(f'"{text}" is not of the form QUOTA=NUMBER') from None
        if not (name and equals):
            raise click.BadParameter(f'"{text}" is not of the form QUOTA=NUMBER')
    return found


@quotas.command("set")
@click.argument("values", nargs=-1, required=True, metavar="QUOTA=VALUE...", callback=_read)
@entity_options
@cluster_options
def set_quotas(*, values: Mapping[str, float], entity: Entity, cluster: Cluster) -> None:
    """Set quotas of an entity; its other quotas stay."""
    _alter(
        cluster,
        entity,
        [{"key": key, "value": value, "remove": False} for key, value in values.items()],
        f"set quotas of {_text(entity)}",
        "set",
    )


@quotas.command()
@click.argument("names", nargs=-1, required=True, metavar="QUOTA...")
@entity_options
@cluster_options
def remove(*, names: tuple[str, ...], entity: Entity, cluster: Cluster) -> None:
    """Remove quotas of an entity.

    If it has none of them, nothing is removed, and the exit status is 3.
    """
    _ensure_any(cluster, entity, names)
    _alter(
        cluster,
        entity,
        [{"key": name, "value": 0.0, "remove": True} for name in names],
        f"remove quotas of {_text(entity)}",
        "removed",
    )


def _alter(
    cluster: Cluster, entity: Entity, operations: list[dict[str, object]], doing: str, done: str
) -> None:
    parts = [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()]
    with Wire(cluster) as wire:
        answer = wire.ask(
            *_ALTER, entries=[{"entity": parts, "ops": operations}], validate_only=False
        )
    for entry in answer.entries:
        ensure_answered(entry, doing)
    click.echo(f"{done} quotas of {_text(entity)}", err=True)


def _ensure_any(cluster: Cluster, entity: Entity, names: tuple[str, ...]) -> None:
    """Return if an entity has at least one of some quotas.

    Raises:
        KafkaError: it has not: a mistyped name would look like success.
    """
    parts = [
        {"entity_type": kind, "match_type": _DEFAULT if name is None else _EXACT, "match": name}
        for kind, name in entity.items()
    ]
    with Wire(cluster) as wire:
        answer = wire.ask(*_DESCRIBE, components=parts, strict=True)
    ensure_answered(answer, f"read the quotas of {_text(entity)}")
    found = {value.key for entry in answer.entries or () for value in entry.values}
    if found.isdisjoint(names):
        raise KafkaError(
            f"{_text(entity)} has no quota {' or '.join(names)}",
            code=_NOT_FOUND,
            hint="List the quotas with `duolog quotas list`.",
        )


def _shown(parts: Iterable[Any], kind: str) -> str | None:
    names = {part.entity_type: part.entity_name for part in parts}
    return (names[kind] or DEFAULT) if kind in names else None


def _text(entity: Entity) -> str:
    return " and ".join(
        f"{kind} {DEFAULT if name is None else name}" for kind, name in entity.items()
    )
