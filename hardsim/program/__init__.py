"""Hard attention declared whole, its JSON, and how softmax is made of it."""
