"""The event loop that everything runs on: epoll, timers, time slices for long work, a thread.

Start reading at `loop`. Imports nothing else of the broker.
"""
