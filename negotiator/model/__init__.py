"""Frozen values that every room shares. No module here imports anything but `errors` and `canonical`."""
