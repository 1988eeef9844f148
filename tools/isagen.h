/* isagen - the compiler of the instruction table (src/ptx/isa/).  Shared by its files; libc only, never part of the
 * library. */
#ifndef ISAGEN_H
#define ISAGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ptx/isa_table.h"

#define GEN_ARGS 12

/* One entry of a .def file: NAME(arg, arg, ...), strings without their quotes. */
typedef struct gen_entry {
    const char *file;
    int line, argc;
    char name[32];
    char *arg[GEN_ARGS];
} gen_entry;

typedef struct gen_target { char name[16]; int number, since, line; char kind; } gen_target;
typedef struct gen_tset { char name[24]; uint64_t members; } gen_tset;
typedef struct gen_class {
    char name[24];
    cji_isa_class c;
    char type_id[16];
    const gen_entry *from;
    bool used;
} gen_class;
typedef struct gen_value { char word[48]; int num, cls, space, version, tset; } gen_value;
typedef struct gen_set { char name[24]; gen_value *value; int n; const gen_entry *from; bool used; } gen_set;
typedef struct gen_slot { char name[48]; gen_value *value; int n; bool optional; } gen_slot;
typedef struct gen_piece { char word[48]; int slot; bool again; } gen_piece; /* slot < 0: word */
typedef struct gen_row {
    const char *file;
    int line;
    char op[48], section[24];
    gen_piece piece[32]; int npiece;
    gen_slot slot[CJI_ISA_SLOTS]; int nslot;
    cji_isa_place place[16]; int nplace;
    int nop, nname, version, tset, end_version, end_tset, late_version, late_tset;
    unsigned effect;
    uint64_t forms;
} gen_row;
typedef struct gen_order { const char *words; const gen_entry *from; } gen_order;
typedef struct gen_sreg { char name[64]; char type_id[16]; int version, tset, vector, least; } gen_sreg;

enum { GEN_MAX_ROWS = 4000 };

extern gen_target gen_targets[64];
extern int n_gen_targets;
extern gen_tset gen_tsets[256];
extern int n_gen_tsets;
extern gen_class gen_classes[200];
extern int n_gen_classes;
extern gen_set gen_sets[300];
extern int n_gen_sets;
extern gen_row *gen_rows[GEN_MAX_ROWS];
extern int n_gen_rows;
extern gen_sreg gen_sregs[256];
extern int n_gen_sregs;
extern gen_order gen_orders[16];
extern int n_gen_orders;
extern cji_isa_range gen_ranges[256];
extern int n_gen_ranges;
extern int gen_errors;

/* Reports "file:line: message" and counts it. */
void gen_error(const char *file, int line, const char *fmt, ...)
#if defined __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
void *gen_alloc(size_t bytes);

/* isagen_read.c: calls `each` for the file's entries. */
void gen_read(const char *path, void (*each)(const gen_entry *));

/* isagen_sets.c */
bool gen_needs(const gen_entry *e, const char *text, int *version, int *tset); /* "7.4,80" */
int gen_version(const gen_entry *e, const char *text);
int gen_tset_find(const gen_entry *e, const char *name);
int gen_class_find(const char *name, size_t len);  /* -1 */
const gen_set *gen_set_find(const char *name, size_t len);
gen_value *gen_values(const gen_entry *e, const char *spec, int *n);
int gen_space(const char *word);
void gen_entry_sets(const gen_entry *e);           /* TARGET, TSET, CLASS, SET, ORDER, SREG */
bool gen_next_word(const char **s, size_t *n);     /* words between blanks; *n is 0 before the first */
int gen_order_of(const char *word);                /* the number of the ORDER that has the word, from 1; 0: none */
void gen_close_tsets(void);
void gen_unused(void);                              /* reports classes, sets and ordered words that no row has */

/* isagen_rows.c */
void gen_entry_row(const gen_entry *e);
bool gen_places(const gen_entry *e, gen_row *r, const char *text); /* isagen_opnd.c */

/* isagen_emit.c */
bool gen_emit(const char *data_path, const char *ids_path);

#endif
