"""The spec of the kernel: kinds of nodes and their fields, the graph of nodes, windows, ticks."""
