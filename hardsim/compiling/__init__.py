"""From what people write to hard attention."""
