"""The asynchronous classes; nutshell_sandbox/_sync is made from them."""
