"""Calls of users' functions: conversion of arguments and results, errors with name and line.

`called.py` calls a function. It is used by `worker.py`, the process that the kernel starts, and by
tests.
"""
