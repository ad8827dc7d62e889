"""Report the errors of a registry in the words of a command."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from duolog.registry.client.requests import Refused

_ACCESS: Final = {
    401: "Name a user with --registry-user, and a file with the password with "
    "--registry-password-file; or a file with a token with --registry-token-file. If you have: the "
    "name, the password or the token is wrong, or was removed.",
    403: "Use a user that has this right, or ask who runs the registry for it.",
}
_HINTS: Final = {
    404: "Check the path of the registry's address.",
    409: "List the incompatibilities with `duolog schema check`, or change the level with "
    "`duolog schema config SUBJECT --compatibility LEVEL`.",
    40401: "List the subjects with `duolog schema list`.",
    40402: "List the versions with `duolog schema list`.",
    40403: "List the ids with `duolog schema list`.",
    42205: "The registry or the subject is read-only. Show its mode with `duolog schema config`.",
    42206: "Delete the schemas that refer to it first.",
}


@contextmanager
def refusals(doing: str, hint: Callable[[int], str] = lambda _: "") -> Iterator[None]:
    """Convert a refusal of the registry: `doing` names the failed action.

    Args:
        doing: the action, such as `delete subject "orders-value"`.
        hint: returns the hint for an error code; empty for the usual one.

    Raises:
        Refused: the registry refused; the code is the registry's.
    """
    try:
        yield
    except Refused as error:
        code = error.code
        status = code if code < 1000 else code // 100
        error.detail = f"{error.message} (error code {code})"
        error.message = f"could not {doing}"
        error.hint = hint(code) or _HINTS.get(code) or _ACCESS.get(status, "")
        raise
