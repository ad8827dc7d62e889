"""The forms in which new keys and values of letters are written."""

from collections.abc import Callable, Collection
from typing import Final

import click

from duolog.cli.dead_letters.correcting import Given
from duolog.cli.records.field_forms import Forms
from duolog.cli.records.form_options import RAW, FormOptions
from duolog.cli.records.schema_options import SchemaOptions
from duolog.cli.registry.options import RegistryAddress

_LATEST: Final = SchemaOptions(None, None, None, None, (), register=False)
"""The last versions of the subjects of a topic."""


def writing_forms(
    topic: str,
    options: FormOptions,
    given: Given,
    registry: RegistryAddress | None,
    targets: Callable[[], Collection[str]],
) -> Forms:
    """Return the forms of the given keys and values.

    Args:
        topic: the dead-letter topic.
        options: the forms that the user names.
        given: the new keys and values.
        registry: the schema registry; None if none is known.
        targets: returns the topics that the letters are written to, whose schemas count.

    Raises:
        click.UsageError: a format does not apply, no registry is known, or there are several
            targets; see also `FormOptions.forms_of`.
        RegistryError: the registry has no such schema.
    """
    forms = options.forms_of(topic)
    key, value = (
        None if name == RAW else name for name in (options.key_format, options.value_format)
    )
    for part, name, texts in (("key", key, given[0:2]), ("value", value, given[4:6])):
        if name is not None and not any(text is not None for text in texts):
            raise click.UsageError(
                f"--{part}-format {name} needs --set-{part}-json, or --set-{part} with text."
            )
    if key is None and value is None:
        return forms
    found = targets()
    if len(found) > 1:
        raise click.UsageError(
            f"The letters are written to {', '.join(sorted(found))}, each with a schema of its "
            "own. Select those of one topic with --source, or name a topic with --to."
        )
    written = options._replace(key_format=key, value_format=value)
    for target in found:
        return _LATEST.forms_of(target, written, registry)
    return forms
