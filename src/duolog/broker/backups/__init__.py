"""Answers `duolog backup`: where all logs end at one moment."""

from duolog.broker.backups.cuts import Cuts

__all__ = ["Cuts"]
