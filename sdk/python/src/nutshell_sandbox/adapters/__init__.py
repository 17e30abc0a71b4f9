"""Sandboxes for agent frameworks. Each module needs its framework, and nothing else imports it."""
