"""The event loop that everything runs on: epoll and timers, long work in time slices, a helper thread.

Start reading at `loop`. Imports nothing else of the broker.
"""
