"""Start a changed topology on the state of the previous one (ADR 0074), and restore state from changelogs."""
