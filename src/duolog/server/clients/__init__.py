"""Clients of the cluster, as a client of the server may see them."""
