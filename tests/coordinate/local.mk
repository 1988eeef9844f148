# Tasks, what they depend on, and streams as units.
text_tests += %D%/task_orders %D%/task_memory
sim_tests += %D%/task_reuse
device_tests += %D%/tasks_run %D%/collectives %D%/units %D%/task_threads %D%/task_descriptor %D%/task_failures %D%/task_waits_inside %D%/task_streams
helgrind_tests += %D%/task_threads.sim %D%/task_descriptor.sim %D%/task_waits_inside.sim
