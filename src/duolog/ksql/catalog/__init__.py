"""The catalog of streams, tables and types, and the WITH properties that declare them."""
