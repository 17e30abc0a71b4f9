# Tests that live as PID 1 of a namespace of their own: the leak check of the sanitizers stops its
# process with ptrace from a clone, which such a process does not survive.
foreach(test IN LISTS init_test_TESTS)
  if(test MATCHES "^(InitTest|PidNamespaceTest|ProcessMarksTest)\\.")
    set_tests_properties(${test} PROPERTIES LABELS unsanitized)
  endif()
endforeach()
