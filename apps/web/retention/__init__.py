"""Pages that say how long texts are kept, keep them longer, and erase them."""
