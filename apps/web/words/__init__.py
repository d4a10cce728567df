"""How things are said and shown in every page: figures, names, texts."""
