"""Find the stored state of applications on this machine."""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from duolog.cli.errors import StateMissing
from duolog.runtime.data_dirs import data_home, default_data_dir

if TYPE_CHECKING:
    from duolog.runtime.states import KeptState


def states_below(data_dir: Path | None) -> "list[KeptState]":
    """Return the states in a data directory, or in all default ones, sorted by name."""
    from duolog.runtime.states import kept_states  # noqa: PLC0415 - keeps `--help` fast

    return kept_states(data_dir)


def below(data_dir: Path | None) -> str:
    """Describe the directory that `states_below` searched."""
    directory = data_home() if data_dir is None else data_dir
    return f"in {directory}" + ("" if directory.is_dir() else ", which does not exist")


def find_state(application: str, data_dir: Path | None) -> "KeptState":
    """Return the stored state of an application.

    Raises:
        StateMissing: it has none, or several.
    """
    found = maybe_find_state(application, data_dir)
    if found is None:
        raise no_state(application, data_dir)
    return found


def maybe_find_state(application: str, data_dir: Path | None) -> "KeptState | None":
    """Return the stored state of an application; None if it has none.

    Raises:
        StateMissing: it has several.
    """
    found = [of for of in states_below(data_dir) if of.application_id == application]
    if len(found) > 1:
        raise StateMissing(
            f'application "{application}" has several checkpoints',
            detail=", ".join(str(of.directory) for of in found),
            hint="Select one with --data.",
        )
    return found[0] if found else None


def future_state(application: str, data_dir: Path | None) -> "KeptState":
    """Return the state that an application without a checkpoint will create.

    Raises:
        ConfigError: the name is not a valid application id.
    """
    from duolog.engine.checkpoint.application_ids import checkpoint_of  # noqa: PLC0415 - keeps `--help` fast
    from duolog.runtime.states import KeptState  # noqa: PLC0415

    directory = default_data_dir(application) if data_dir is None else data_dir
    return KeptState(checkpoint_of(directory / "checkpoints", application).directory)


def no_state(application: str, data_dir: Path | None, *, nor: str = "") -> StateMissing:
    """Return the error for an application without state; `nor` names other places searched."""
    known = [of.application_id for of in states_below(data_dir)]
    near = get_close_matches(application, known, n=1)
    return StateMissing(
        f'application "{application}" has no checkpoint {below(data_dir)}{nor}',
        hint=(f'Did you mean "{near[0]}"? ' if near else "")
        + "List the applications with `duolog state list --data DIR`.",
    )
