"""`Meta`, what an annotation says about a field besides its type."""

from dataclasses import dataclass
from typing import Literal

from duolog.core.errors import StatementError


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """Facts of a field or class that its Python type does not have.

    A field has them in `Annotated[Decimal, Meta(precision=9, scale=2)]`, a class in the attribute
    `__schema__ = Meta(namespace="shop")`.

    Attributes:
        name: the name in the schema, if it differs from the name in Python.
        doc: a description.
        aliases: earlier names, by which data of earlier schemas is still read.
        precision: the digits of a Decimal, at most 38.
        scale: those of them after the decimal point.
        bits: the size of an int: 64 (the default) or 32.
        number: the number of a Protobuf field; by default, fields are numbered in order.
        namespace: of the class that a schema is made of: the namespace of all its names.
    """

    name: str | None = None
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    precision: int | None = None
    scale: int | None = None
    bits: Literal[32, 64] | None = None
    number: int | None = None
    namespace: str | None = None

    def __post_init__(self) -> None:
        given: object = self.aliases
        if isinstance(given, str):
            raise StatementError(
                "the aliases of Meta must be a tuple of names",
                hint=f'Write aliases=("{given}",).',
            )
        if self.bits not in {None, 32, 64}:
            raise StatementError(f"an int cannot have {self.bits} bits", hint="Use 32 or 64.")


NOTHING = Meta()
