"""`duolog acls`: rules that allow or deny operations, with options like those of kafka-acls."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import click
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
)
from confluent_kafka.admin import ResourceType as ClientResourceType

from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.security_topic import append, read_state
from duolog.cli.kafka.wire import Wire
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column, Row
from duolog.core.counts import counted
from duolog.core.errors import KafkaError
from duolog.registry.names import normalized
from duolog.runtime.administration.rules import ShownRule, rules_in_kafka, shown
from duolog.security.authorization.acls import (
    EVERY_HOST,
    EVERY_NAME,
    Acl,
    PatternType,
    Permission,
)
from duolog.security.authorization.effective_rules import ineffective
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.security.identity.principal import Principal
from duolog.security.records.records import AclChange

COLUMNS: Final = (
    Column("resource", "string", "type of the resources: topic, group, cluster, …"),
    Column("name", "string", "name or prefix of the resources; *: all"),
    Column("pattern", "string", "literal or prefixed"),
    Column("permission", "string", "allow or deny"),
    Column("operation", "string", "operation, such as READ"),
    Column("principal", "string", "user or role that the rule is about"),
    Column("host", "string", "IP address of the client; *: any"),
)
OPERATIONS: Final = tuple(
    each.name
    for each in Operation
    if each not in (Operation.UNKNOWN, Operation.ANY, Operation.TWO_PHASE_COMMIT)
)
_TYPES: Final = {
    ResourceType.TOPIC: ClientResourceType.TOPIC,
    ResourceType.GROUP: ClientResourceType.GROUP,
    ResourceType.CLUSTER: ClientResourceType.BROKER,
    ResourceType.TRANSACTIONAL_ID: ClientResourceType.TRANSACTIONAL_ID,
}
_NOT_FOUND: Final = 91


@click.group()
def acls() -> None:
    """Manage access control lists.

    \b
    Examples:
      duolog acls list
      duolog acls add --allow User:alice --operation READ --topic orders --group billing
      duolog acls add --allow Role:writers --operation WRITE --topic orders- --prefix
      duolog acls add --allow User:alice --operation READ --subject-prefix orders-
      duolog acls add --allow User:alice --operation READ --source TOTALS
      duolog acls add --deny User:eve --operation ALL --topic '*' --host 10.0.0.7
      duolog acls remove --allow User:alice --operation READ --topic orders
    """


@acls.command("list")
@output.output_option
@cluster_options
def list_acls(*, form: str, cluster: Cluster) -> None:
    """List all rules. The user needs DESCRIBE on the cluster."""
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    rows = sorted(_listed(cluster), key=lambda row: tuple(map(str, row.values())))
    return output.write_rows(rows, COLUMNS, form)


@acls.command("list-subjects")
@output.output_option
@cluster_options
def list_subjects(*, form: str, cluster: Cluster) -> None:
    """List the rules about subjects of the schema registry."""
    return _list_own(ResourceType.SUBJECT, form, cluster)


@acls.command("list-sources")
@output.output_option
@cluster_options
def list_sources(*, form: str, cluster: Cluster) -> None:
    """List the rules about streams and tables of SQL servers."""
    return _list_own(ResourceType.SOURCE, form, cluster)


def _list_own(kind: ResourceType, form: str, cluster: Cluster) -> None:
    """List rules about a type of resources that no Kafka client knows."""
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    rules = [acl for acl in read_state(cluster).acls if acl.resource_type is kind]
    return output.write_rows([_row(shown(rule)) for rule in sorted(rules)], COLUMNS, form)


def rule_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options of rules to a command, which gets the rules as `rules`."""

    @click.option("--allow", multiple=True, metavar="PRINCIPAL", help="User:NAME or Role:NAME.")
    @click.option("--deny", multiple=True, metavar="PRINCIPAL", help="Wins over every --allow.")
    @click.option(
        "--operation",
        "operations",
        multiple=True,
        required=True,
        type=click.Choice(OPERATIONS, case_sensitive=False),
        help="Operation. Repeatable.",
    )
    @click.option("--topic", multiple=True, metavar="NAME", help="Topic; '*' for all.")
    @click.option("--group", multiple=True, metavar="NAME", help="Consumer group.")
    @click.option("--cluster", "on_cluster", is_flag=True, help="The cluster itself.")
    @click.option("--transactional-id", multiple=True, metavar="ID", help="Transactional id.")
    @click.option("--subject", multiple=True, metavar="NAME", help="Subject of the registry.")
    @click.option(
        "--subject-prefix", multiple=True, metavar="PREFIX", help="Subjects that begin with it."
    )
    @click.option("--source", multiple=True, metavar="NAME", help="Stream or table of SQL.")
    @click.option(
        "--source-prefix", multiple=True, metavar="PREFIX", help="Sources that begin with it."
    )
    @click.option(
        "--service-id", default="default_", show_default=True, help="SQL service of the sources."
    )
    @click.option("--prefix", is_flag=True, help="The names are prefixes of names.")
    @click.option("--host", default=EVERY_HOST, show_default=True, help="IP address of the client.")
    @wraps(command)
    def with_rules(
        *, allow: tuple[str, ...], deny: tuple[str, ...], operations: tuple[str, ...], host: str,
        topic: tuple[str, ...], group: tuple[str, ...], on_cluster: bool,
        transactional_id: tuple[str, ...], subject: tuple[str, ...],
        subject_prefix: tuple[str, ...], source: tuple[str, ...], source_prefix: tuple[str, ...],
        service_id: str, prefix: bool, **rest: Any,
    ) -> object:  # fmt: skip
        given = PatternType.PREFIXED if prefix else PatternType.LITERAL
        resources = [
            *((ResourceType.TOPIC, given, name) for name in topic),
            *((ResourceType.GROUP, given, name) for name in group),
            *((ResourceType.TRANSACTIONAL_ID, given, name) for name in transactional_id),
            *((ResourceType.SUBJECT, given, normalized(name)) for name in subject),
            *(
                (ResourceType.SUBJECT, PatternType.PREFIXED, normalized(name))
                for name in subject_prefix
            ),
            *((ResourceType.SOURCE, given, _source(service_id, name)) for name in source),
            *(
                (ResourceType.SOURCE, PatternType.PREFIXED, f"{service_id}.{name}")
                for name in source_prefix
            ),
            *([(ResourceType.CLUSTER, given, CLUSTER_NAME)] if on_cluster else []),
        ]
        if not (allow or deny) or not resources:
            raise click.UsageError("Give --allow or --deny, and at least one resource.")
        if any(not name for _, _, name in resources):
            raise click.UsageError("A name is empty; write '*' for all names.")
        rules = [
            Acl(kind, pattern, name, _principal(text), host, Operation[each.upper()], permission)
            for permission, texts in ((Permission.ALLOW, allow), (Permission.DENY, deny))
            for text in texts
            for kind, pattern, name in resources
            for each in operations
        ]
        return command(rules=rules, **rest)

    return with_rules


@acls.command()
@rule_options
@cluster_options
def add(*, rules: list[Acl], cluster: Cluster) -> None:
    """Add rules: one for each principal, operation and resource."""
    for rule in rules:
        if problem := ineffective(rule):
            raise click.UsageError(problem)
    client = cluster.admin()
    bindings = [_binding(rule) for rule in rules if rule.resource_type in _TYPES]
    with cluster.errors("add rules"):
        for future in client.create_acls(bindings).values() if bindings else ():
            cluster.first_result([future])
    _add_own(cluster, rules)
    click.echo(f"added {counted(len(rules), 'rule')}", err=True)


@acls.command()
@rule_options
@cluster_options
def remove(*, rules: list[Acl], cluster: Cluster) -> None:
    """Remove exactly the rules that the options of `add` describe.

    If there is none of them, nothing is removed, and the exit status is 3.
    """
    client = cluster.admin()
    filters = [_filter(rule) for rule in rules if rule.resource_type in _TYPES]
    removed = 0
    with cluster.errors("remove rules"):
        for future in client.delete_acls(filters).values() if filters else ():
            removed += len(cluster.first_result([future]))
    removed += _remove_own(cluster, rules)
    if not removed:
        raise KafkaError(
            "no rule matches; nothing is removed",
            code=_NOT_FOUND,
            hint="Compare with `duolog acls list`, `list-subjects` and `list-sources`: principal, "
            "operation, name, pattern and host must be the same.",
        )
    click.echo(f"removed {counted(removed, 'rule')}", err=True)


def _source(service_id: str, name: str) -> str:
    """Return the name of a source in rules; all sources of all services if it is `*`."""
    return name if name in {"", EVERY_NAME} else f"{service_id}.{name}"


def _add_own(cluster: Cluster, rules: list[Acl]) -> None:
    if added := _own(rules):
        append(cluster, [AclChange(rule, present=True) for rule in added])


def _remove_own(cluster: Cluster, rules: list[Acl]) -> int:
    """Remove those rules about Duolog's own resources that there are; return their number."""
    wanted = _own(rules)
    present = set(read_state(cluster).acls) if wanted else set()
    if found := [rule for rule in wanted if rule in present]:
        append(cluster, [AclChange(rule, present=False) for rule in found])
    return len(found)


def _own(rules: list[Acl]) -> list[Acl]:
    """Return the rules that no Kafka API carries."""
    return [rule for rule in rules if rule.resource_type not in _TYPES]


def _principal(text: str) -> Principal:
    try:
        return Principal.parse(text)
    except ValueError as error:
        raise click.UsageError(f"{error}; write User:NAME or Role:NAME") from error


def _binding(rule: Acl) -> AclBinding:
    return AclBinding(*_fields(rule))


def _filter(rule: Acl) -> AclBindingFilter:
    return AclBindingFilter(*_fields(rule))


def _fields(rule: Acl) -> tuple[Any, ...]:
    return (
        _TYPES[rule.resource_type],
        rule.resource_name,
        ResourcePatternType[rule.pattern_type.name],
        str(rule.principal),
        rule.host,
        AclOperation[rule.operation.name],
        AclPermissionType[rule.permission.name],
    )


def _listed(cluster: Cluster) -> list[Row]:
    """Return all rules of the cluster.

    Raises:
        KafkaError: no broker answers, or the user may not read the rules.
    """
    with Wire(cluster) as wire:
        return [_row(rule) for rule in rules_in_kafka(wire)]


def _row(rule: ShownRule) -> Row:
    return dict(rule._asdict())
