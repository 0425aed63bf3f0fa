"""Skips `test_filter.py` where Nova is not installed; the whole suite runs in Nova's own environment."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("nova") else ["test_filter.py"]
