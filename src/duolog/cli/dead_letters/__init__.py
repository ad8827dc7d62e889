"""Parts of `duolog dlq`: options that select letters, what is shown of them, and corrections."""
