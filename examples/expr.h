/* expr: compiles an expression of its user into a GPU kernel and runs it over the columns of a CSV
 * file.
 *
 *     expr_csv.c     the table: reads CSV, names broken lines
 *     expr_syntax.c  the expression: text to tree, with a caret under what is wrong
 *     expr_kernel.c  the kernel: tree to PTX, built while the program runs
 *     expr.c         the command: arguments, memory, launch, output
 */
#ifndef EXAMPLES_EXPR_H
#define EXAMPLES_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <cujit/cujit.h>

/* -- The table ----------------------------------------------------------------------------------------------------- */

typedef struct table {
    char *text;           /* the file, cut into fields in place */
    size_t ncolumns, nrows;
    char **name;          /* ncolumns */
    char **field;         /* nrows * ncolumns, row by row */
    size_t *line;         /* nrows: the line of the file a row begins in */
} table;

/* Reads `path`; a heading line, then rows of as many fields (RFC 4180: quotes, doubled quotes). On failure a sentence
 * on stderr. */
bool table_read(table *t, const char *path);
void table_free(table *t);

/* The column's number, or -1. */
int table_column(const table *t, const char *name, size_t length);

/* Converts column `c` to `out`, nrows numbers. On failure a sentence on stderr that names the line. */
bool table_numbers(const table *t, const char *path, size_t c, double *out);

/* -- The expression ------------------------------------------------------------------------------------------------ */

typedef enum node_kind {
    NODE_NUMBER, NODE_COLUMN,
    NODE_NEG, NODE_NOT,
    NODE_ADD, NODE_SUB, NODE_MUL, NODE_DIV,
    NODE_LT, NODE_LE, NODE_GT, NODE_GE, NODE_EQ, NODE_NE,
    NODE_AND, NODE_OR, NODE_CHOOSE,
    NODE_ABS, NODE_MIN, NODE_MAX, NODE_FLOOR, NODE_CEIL, NODE_SQRT,
    NODE_OF_ONE, NODE_OF_TWO
} node_kind;

/* A function of cujit/math.h. */
typedef cj_val function_of_one(cj_fn *f, cj_val x);
typedef cj_val function_of_two(cj_fn *f, cj_val x, cj_val y);

typedef struct node {
    node_kind kind;
    bool boolean;         /* its value is true or false, else a number */
    double number;        /* NODE_NUMBER */
    size_t column;        /* NODE_COLUMN: index into the expression's used columns */
    function_of_one *of_one; /* NODE_OF_ONE */
    function_of_two *of_two; /* NODE_OF_TWO */
    size_t at;            /* where it begins in the text */
    struct node *arg[3];
} node;

enum { MAX_COLUMNS = 200, MAX_NODES = 1000 };

typedef struct expression {
    node *root;
    size_t ncolumns, column[MAX_COLUMNS]; /* the columns used: which of the table's they are */
    size_t nnodes;
    node *nodes[MAX_NODES];
} expression;

/* Parses `text` against the table's columns. On failure the text, a caret and a sentence on stderr. */
bool expression_parse(expression *e, const char *text, const table *t);
void expression_free(expression *e);

/* Prints the names of all functions, in lines that begin with `indent`. */
void expression_functions(FILE *out, const char *indent);

/* -- The kernel ---------------------------------------------------------------------------------------------------- */

/* Builds `.entry expr(out, column 0, column 1, ..., n)`: out[i] = the expression over row i, all f64 (1 and 0 for true
 * and false). */
cj_ptx *expression_build(const expression *e);

#endif
