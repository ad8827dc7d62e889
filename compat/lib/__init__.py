"""What the client suites share: outcomes, the broker under test, results."""
