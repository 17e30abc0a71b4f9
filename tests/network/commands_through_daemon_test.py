#!/usr/bin/env python3
"""Cases of commands_test.py whose sandboxes a daemon makes."""
import os
import sys

os.environ["NUTSHELL_THROUGH_DAEMON"] = "1"

import commands_test

if __name__ == "__main__":
    sys.exit(commands_test.main())
