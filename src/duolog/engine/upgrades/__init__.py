"""Start a changed topology on the previous state (ADR 0074), and restore from changelogs."""
