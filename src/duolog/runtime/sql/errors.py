"""Errors of the SQL engine."""

from duolog.core.errors import DuologError


class CommandDamaged(DuologError):
    """A record of the command topic is invalid or was modified."""

    def __init__(self, topic: str, offset: int, why: str, *, hint: str = "") -> None:
        super().__init__(
            f'command topic "{topic}" is damaged at offset {offset}',
            detail=why,
            hint=hint
            or "No statement behind it was run. Another service id begins with an empty catalog.",
        )
        self.offset = offset


class ServiceInUse(DuologError):
    """Another engine runs the queries of this service."""

    def __init__(self, service_id: str, owner: str) -> None:
        super().__init__(
            f'the queries of service "{service_id}" run elsewhere',
            detail=f"{owner or 'Another engine'} runs them.",
            hint="Statements reach it all the same; to take over, stop it first. Another service id has queries of its own.",
        )
        self.owner = owner
