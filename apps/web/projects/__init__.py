"""Projects: which one belongs to, and of one its people, money, profiles and keys."""
