"""Calls that differ between Linux, macOS and Windows, in one place.

    portable     DUOLOG_PORTABLE=1: behave as on a system that is not Linux
    support      refuse what a system does not support, with the reason and the way out
    polling      readiness of sockets and pipes: epoll, or kqueue and poll
    files        positioned reads and writes, and syncs to the disk
    locks        locks on files that end with the process
    sockets      sending a file, and socket options
    processes    child processes and their parents, priorities
    limits       memory and file descriptors of this process
    proc_files   resources and relatives of processes, from Linux's /proc
    free_memory  what the machine and its container have left, from the same files
    private_files  secrets for calls that want a path
    boot         the id of the machine's boot

Linux keeps its own calls: where they are hot, a name here is bound to the call itself, so that
it costs nothing. Elsewhere a function with the same signature takes its place.
"""
