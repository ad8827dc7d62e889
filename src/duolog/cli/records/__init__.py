"""Records as text: how `duolog produce` reads keys and values, and how `duolog consume` shows them."""
