# The driver's rules (docs/semantics.md), a program for each group, on the CPU device and on a GPU.
device_tests += %D%/rules_loader %D%/rules_streams %D%/rules_events %D%/rules_host %D%/rules_memory %D%/rules_captures %D%/rules_graphs %D%/rules_launches
EXTRA_DIST += %D%/rules.h
