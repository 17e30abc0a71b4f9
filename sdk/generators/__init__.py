"""The back ends of sdk/generate.py, one for each SDK."""
