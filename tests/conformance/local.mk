# The driver's rules (docs/semantics.md), a program for each group, on the CPU device and on a GPU.
device_tests += %D%/rules_loader %D%/rules_streams %D%/rules_events %D%/rules_host %D%/rules_memory %D%/rules_captures %D%/rules_captures_calls
device_tests += %D%/rules_graphs %D%/rules_graphs_kinds %D%/rules_graphs_conditions %D%/rules_launches
# Results that a manual leaves open, as an H100 gives them; what has no rule's number.
device_tests += %D%/ipc_event_handles %D%/ipc_memory_handles %D%/measured_captures %D%/measured_results %D%/mem_ops_in_streams
device_tests += %D%/launches_beyond_memory %D%/memory_calls %D%/arrays %D%/virtual_memory %D%/module_images %D%/node_edits %D%/older_calls %D%/per_thread_calls
device_tests += %D%/libraries %D%/without_context
helgrind_tests += %D%/rules_events.sim %D%/rules_streams.sim %D%/rules_captures.sim %D%/rules_graphs.sim %D%/memory_calls.sim
EXTRA_DIST += %D%/driver_abi.h %D%/rules.h %D%/rules_captures.h %D%/rules_graphs.h
EXTRA_DIST += %D%/doc.sh %D%/approximations.md %D%/tensor_cores.md docs/semantics.md

# docs/semantics.md from the logs of make check; those of a GPU may lie elsewhere: make semantics-doc GPU_LOGS=folder
SIM_LOGS = %D%
GPU_LOGS = %D%
.PHONY: semantics-doc
semantics-doc:
	AWK='$(AWK)' $(SHELL) $(top_srcdir)/%D%/doc.sh $(SIM_LOGS) $(GPU_LOGS) >semantics.md.new && mv semantics.md.new $(top_srcdir)/docs/semantics.md

# The answers of random programs: those of a Hopper, tests/oracle/hopper_answers.txt.
device_tests += %D%/same_answers
tests_conformance_same_answers_SOURCES = %D%/same_answers.c %D%/answers.h %D%/answers_text.c %D%/answers_streams.c \
	%D%/answers_captures.c %D%/answers_captures.h %D%/answers_captures_work.c \
	%D%/answers_graphs.c %D%/answers_graphs.h %D%/answers_graphs_params.c %D%/answers_recipes.c %D%/answers_recipes.h \
	%D%/answers_memory.c %D%/answers_functions.c %D%/answers_work.h
EXTRA_DIST += tests/oracle/hopper_answers.txt
