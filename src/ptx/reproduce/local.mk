# src/ptx/reproduce: a module as a C program. It uses base and the rest of ptx.
libcujit_ptx_la_SOURCES += \
	%D%/reproduce.c \
	%D%/reproduce.h \
	%D%/reproduce_access.c \
	%D%/reproduce_body.c \
	%D%/reproduce_copy.c \
	%D%/reproduce_flow.c \
	%D%/reproduce_head.c \
	%D%/reproduce_module.c \
	%D%/reproduce_operands.c \
	%D%/reproduce_statements.c \
	%D%/reproduce_text.c \
	%D%/reproduce_verbs.c
