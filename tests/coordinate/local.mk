# Tasks, what they depend on, and streams as units.
text_tests += %D%/task_orders %D%/task_memory
device_tests += %D%/tasks_run %D%/collectives %D%/units %D%/task_threads %D%/task_descriptor %D%/task_failures
