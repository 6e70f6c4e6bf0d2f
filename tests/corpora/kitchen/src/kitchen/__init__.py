"""Scales, timers and recipes."""
