"""Another topology on the state of the one before: what it can keep of it, and how it comes to that (ADR 0074)."""
