"""What is kept and what leaves the studio: templates, exports, imports, shared runs."""
