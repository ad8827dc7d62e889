"""The stores of a lowered plan: what checkpoints record of them, their names and their queries."""
