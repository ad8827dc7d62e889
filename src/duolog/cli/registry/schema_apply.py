"""Carry out a plan for a registry, step by step.

Each step leaves the registry in a state from which another plan continues, so a run that was
interrupted is resumed by running it again.
"""

from collections.abc import Callable, Sequence
from typing import Final

from duolog.cli.registry.refusals import refusals
from duolog.cli.registry.schema_plan import Step, with_references
from duolog.registry.client.admin import RegistryAdmin
from duolog.registry.client.requests import Refused

_REFERENCED: Final = 42206


def apply(steps: Sequence[Step], admin: RegistryAdmin, done: Callable[[str], None]) -> None:
    """Carry out the steps that change the registry.

    Args:
        steps: the plan.
        admin: the registry.
        done: receives a line after each step.

    Raises:
        Refused: the registry refuses a step; the steps before it are done.
    """
    # Versions of schemas that others refer to, by subject.
    versions = {
        step.subject: step.version
        for step in steps
        if step.version is not None and step.action in {"unchanged", "older"}
    }
    for step in steps:
        match step.action:
            case "register" | "change":
                done(_register(step, admin, versions))
            case "level":
                with refusals(f'set the compatibility level of "{step.subject}"'):
                    admin.set_config(_scope(step), {"compatibility": step.new})
                done(f"set the compatibility level of {step.subject} to {step.new}")
            case "mode":
                with refusals(f'set the mode of subject "{step.subject}"'):
                    admin.set_mode(step.subject, str(step.new))
                done(f"set the mode of {step.subject} to {step.new}")
            case _:
                pass
    _delete([step.subject for step in steps if step.action == "delete"], admin, done)


def _register(step: Step, admin: RegistryAdmin, versions: dict[str, int]) -> str:
    assert step.file is not None, step
    with refusals(f'register {step.file.path.name} for subject "{step.subject}"'):
        schema = with_references(step.file, versions, admin)
        schema_id = admin.register(step.subject, schema)
        found = admin.look_up(step.subject, schema)
    assert found is not None, step.subject
    versions[step.subject] = found.version
    return f"registered version {found.version} of {step.subject} with id {schema_id}"


def _scope(step: Step) -> str | None:
    return None if step.subject == "(global)" else step.subject


def _delete(subjects: list[str], admin: RegistryAdmin, done: Callable[[str], None]) -> None:
    """Delete subjects; one that others refer to after those."""
    while subjects:
        left = []
        for subject in subjects:
            try:
                admin.delete(subject)
                done(f"deleted subject {subject}")
            except Refused as error:
                if error.code != _REFERENCED:
                    raise
                left.append(subject)
        if len(left) == len(subjects):
            with refusals(f'delete subject "{left[0]}"'):
                admin.delete(left[0])
        subjects = left
