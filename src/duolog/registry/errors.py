"""Errors of the registry, with the codes and texts that its clients know.

The status of the HTTP answer is the first three digits of the code. A text is part of the
protocol: clients match some of them, so that they are the registry's own and not in house style.

Source: Confluent `Errors` and `Rest…Exception`.
"""

from collections.abc import Sequence
from typing import Final

from duolog.core.errors import RegistryError


class RequestError(RegistryError):
    """A request that the registry refuses.

    Attributes:
        code: the registry's number of the error, or the HTTP status itself.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code

    @property
    def status(self) -> int:
        """The status of the HTTP answer."""
        return self.code if self.code < 1000 else self.code // 100

    def to_json(self) -> dict[str, int | str]:
        """Return the body of the HTTP answer."""
        return {"error_code": self.code, "message": self.message}


class DamagedRecordError(RegistryError):
    """A record of `_schemas` that no registry wrote, or that contradicts an earlier one."""


def malformed(message: str) -> RequestError:
    """The body of the request does not have the form that it must have."""
    return RequestError(message, 400)


# 404


def subject_not_found(subject: str) -> RequestError:
    return RequestError(f"Subject '{subject}' not found.", 40401)


def version_not_found(version: int) -> RequestError:
    return RequestError(f"Version {version} not found.", 40402)


def schema_not_found(which: int | str | None = None) -> RequestError:
    return RequestError(f"Schema {'' if which is None else f'{which} '}not found", 40403)


def subject_soft_deleted(subject: str) -> RequestError:
    text = f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently"
    return RequestError(text, 40404)


def subject_not_soft_deleted(subject: str) -> RequestError:
    text = f"Subject '{subject}' was not deleted first before being permanently deleted"
    return RequestError(text, 40405)


def version_soft_deleted(subject: str, version: int) -> RequestError:
    text = f"Subject '{subject}' Version {version} was soft deleted."
    return RequestError(f"{text}Set permanent=true to delete permanently", 40406)


def version_not_soft_deleted(subject: str, version: int) -> RequestError:
    text = f"Subject '{subject}' Version {version} was not deleted first"
    return RequestError(f"{text} before being permanently deleted", 40407)


def config_not_found(subject: str) -> RequestError:
    text = f"Subject '{subject}' does not have subject-level compatibility configured"
    return RequestError(text, 40408)


def mode_not_found(subject: str) -> RequestError:
    text = f"Subject '{subject}' does not have subject-level mode configured"
    return RequestError(text, 40409)


def association_not_found(resource: str) -> RequestError:
    return RequestError(f"Association for '{resource}' not found.", 40410)


# 409


class IncompatibleSchema(RequestError):
    """The schema violates the compatibility level of its subject.

    A registration has the code 409, which clients and their tests expect; Confluent's registry has
    changed it to 40901 in version 8.2. Associations, which are as new, have the new code.

    The details show fields and the text of an earlier schema. `concealed` is for clients that may
    write the subject, and not read it.
    """

    def __init__(self, details: Sequence[str], subject: str, *, of_association: bool) -> None:
        text, code = f"[{', '.join(details)}]", 40901
        if not of_association:
            code = 409
            text = (
                "Schema being registered is incompatible with an earlier schema for subject "
                f'"{subject}", details: {text}'
            )
        super().__init__(text, code)
        self.subject = subject
        self._of_association = of_association

    def concealed(self) -> "IncompatibleSchema":
        """Return the error without the details."""
        return IncompatibleSchema([CONCEALED], self.subject, of_association=self._of_association)


CONCEALED: Final = "the details need the right READ on the subject"


def association_of_resource_exists(kind: str, resource: str) -> RequestError:
    text = f"An association of type '{kind}' already exists for resource '{resource}'"
    return RequestError(text, 40903)


def association_of_subject_exists(subject: str) -> RequestError:
    return RequestError(f"An association already exists for subject '{subject}'", 40904)


def strong_association_exists(subject: str) -> RequestError:
    return RequestError(f"A strong association already exists for subject '{subject}'", 40905)


def no_active_version(subject: str) -> RequestError:
    text = f"No active (non-deleted) version exists for subject '{subject}'"
    return RequestError(text, 40907)


def association_frozen(kind: str, subject: str) -> RequestError:
    text = f"The association of type  '{kind}' is frozen for subject '{subject}'"
    return RequestError(text, 40908)


# 422


def invalid_schema(message: str) -> RequestError:
    return RequestError(message, 42201)


def invalid_version(version: str) -> RequestError:
    text = f"The specified version '{version}' is not a valid version id. "
    allowed = 'Allowed values are between [1, 2^31-1] and the string "latest"'
    return RequestError(text + allowed, 42202)


def invalid_compatibility_level() -> RequestError:
    text = "Invalid compatibility level. Valid values are none, backward, forward, full, "
    return RequestError(
        f"{text}backward_transitive, forward_transitive, and full_transitive", 42203
    )


def invalid_mode(message: str = "") -> RequestError:
    text = "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD."
    return RequestError(message or text, 42204)


def not_permitted(message: str) -> RequestError:
    return RequestError(message, 42205)


def reference_exists(schema: str) -> RequestError:
    return RequestError(f"One or more references exist to the schema {schema}.", 42206)


def id_does_not_match() -> RequestError:
    text = "The ID of an imported schema does not match the existing ID"
    return RequestError(text, 42207)


def invalid_subject(subject: str) -> RequestError:
    shown = subject if len(subject) <= 100 else f"{subject[:100]}..."
    shown = shown.encode("utf-8", "replace").decode()
    return RequestError(f"The specified subject '{shown}' is not a valid.", 42208)


def schema_too_large() -> RequestError:
    return RequestError("Register operation failed because schema is too large", 42209)


def invalid_rule_set(message: str) -> RequestError:
    return RequestError(message, 42210)


def context_not_empty(context: str) -> RequestError:
    return RequestError(f"The specified context '{context}' is not empty.", 42211)


def invalid_association(name: str, reason: str) -> RequestError:
    text = f"The association specified an invalid value for property: '{name}', detail: {reason}"
    return RequestError(text, 42212)


# 500


def numbers_exhausted(context: str) -> RequestError:
    """The highest id or version that there is has been imported."""
    return RequestError(f"No id or version is left in context {context}", 50001)
