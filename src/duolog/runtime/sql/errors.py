"""Errors of the SQL engine."""

from duolog.core.errors import DuologError


class CommandDamaged(DuologError):
    """A record of the command topic is invalid or was modified."""

    def __init__(self, topic: str, offset: int, why: str, *, hint: str = "") -> None:
        super().__init__(
            f'command topic "{topic}" is damaged at offset {offset}',
            detail=why,
            hint=hint
            or "Later statements were not applied. Use another service id to start with "
            "an empty catalog.",
        )
        self.offset = offset


class ServiceShared(DuologError):
    """Other servers run queries of a service that this one should end."""

    def __init__(self, service_id: str, others: str) -> None:
        super().__init__(
            f'other servers run service "{service_id}"',
            detail=f"{others}.",
            hint="Stop them, then send the request again. A server that has crashed counts as "
            "running for a few seconds.",
        )


class ServiceInUse(DuologError):
    """Another engine runs the queries of this service."""

    def __init__(self, service_id: str, owner: str) -> None:
        super().__init__(
            f'another engine runs the queries of service "{service_id}"',
            detail=f"{owner or 'Another engine'} runs them.",
            hint="Statements still work here. To run the queries here, stop it first, or use "
            "another service id.",
        )
        self.owner = owner
