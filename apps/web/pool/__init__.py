"""Workers, conductors and what they cost, for everybody and for admins."""
