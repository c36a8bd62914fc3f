"""Writers of networks for other frameworks."""
