"""The fake release has no small types."""
