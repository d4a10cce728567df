"""The way in and out, and one's own account."""
