"""Beds, seeds and the days between them."""
