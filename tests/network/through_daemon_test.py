#!/usr/bin/env python3
"""Cases of network_test.py whose sandboxes a daemon makes: it starts and ends their networks."""
import os
import sys

os.environ["NUTSHELL_THROUGH_DAEMON"] = "1"

import network_test

CASES = {"an_address_rule_reaches_a_server_of_this_machine", "a_refused_address_is_told",
         "a_kept_sandbox_keeps_its_network", "a_new_policy_ends_connections_that_it_does_not_allow",
         "nothing_is_left_of_a_run_that_is_killed", "nothing_is_left_of_a_sandbox_that_reaches_its_ttl",
         "an_allowed_name_is_reached_and_another_is_not"}

if __name__ == "__main__":
    network_test.suite.cases = [case for case in network_test.suite.cases if case.__name__ in CASES]
    sys.exit(network_test.main())
