"""`duolog schema`: the schemas of a registry. Each command has a module `schema_…` of its own."""

from typing import Final

import click

from duolog.cli.lazy_group import LazyGroup

COMMANDS: Final = {
    "apply": (
        "duolog.cli.commands.schema_plan:apply",
        "Change the registry to what a directory describes.",
    ),
    "check": (
        "duolog.cli.commands.schema_register:check",
        "Report why a subject does not accept a schema.",
    ),
    "config": (
        "duolog.cli.commands.schema_config:config",
        "Show or change compatibility levels and modes.",
    ),
    "delete": ("duolog.cli.commands.schema_delete:delete", "Delete subjects or versions."),
    "diff": ("duolog.cli.commands.schema_diff:diff", "Compare two schemas, field by field."),
    "impact": (
        "duolog.cli.commands.schema_impact:impact",
        "Report what a schema breaks before it is registered.",
    ),
    "list": ("duolog.cli.commands.schema_list:list_subjects", "List subjects with their versions."),
    "infer": (
        "duolog.cli.commands.schema_infer:infer",
        "Propose a schema from the records of a topic.",
    ),
    "plan": (
        "duolog.cli.commands.schema_plan:plan",
        "Show how a directory of schemas differs from the registry.",
    ),
    "register": (
        "duolog.cli.commands.schema_register:register",
        "Register a schema as a version of a subject.",
    ),
    "show": ("duolog.cli.commands.schema_show:show", "Print a schema."),
}


@click.group(cls=LazyGroup, commands_at=COMMANDS)
def schema() -> None:
    """List, show, register, compare and delete the schemas of a registry.

    \b
    Examples:
      duolog schema list
      duolog schema show orders-value
      duolog schema show orders-value:2 > order.avsc
      duolog schema check order.avsc --subject orders-value
      duolog schema impact order.avsc --subject orders-value
      duolog schema register order.avsc --subject orders-value
      duolog schema diff orders-value:1 orders-value:2
      duolog schema config orders-value --compatibility FULL
      duolog schema delete orders-value --yes
      duolog schema infer orders > orders-value.avsc
      duolog schema plan schemas
    """
