"""Run persistent queries: elect their process, start, restart and stop them."""
