"""A release of jaxlib that behaves as the word in the file `behaviour` says (see xla_client.py)."""
