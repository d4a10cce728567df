"""What comes over sockets: first the past, then the present."""
