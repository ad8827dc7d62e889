"""Topologies that grow at random, over all operators. Start reading in `growth`."""
