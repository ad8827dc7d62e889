"""Let addresses that start with http:// and https:// stand for registries in this process."""

from duolog.schemas.source import SchemaSource, provide_scheme, source_at


def provide_registries() -> None:
    """Let serdes reach schema registries over HTTP; calling it again changes nothing."""
    for scheme in ("http", "https"):
        provide_scheme(scheme, _registry_at)


def registry_at(address: str) -> SchemaSource:
    """Return the registry of an address.

    Raises:
        RegistryError: the address is not one of a registry.
    """
    provide_registries()
    return source_at(address)


def _registry_at(address: str) -> SchemaSource:
    # Imported here because only some formats need a registry.
    from duolog.registry.client import HttpRegistry  # noqa: PLC0415

    return HttpRegistry(address)
