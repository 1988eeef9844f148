/* Pairing heaps. */
#include "stream/coordinate/stream_coordinate.h"

/* Both roots, neither NULL; the one with the greater key becomes a child. */
static cji_heap_node *heap_meld(cji_heap_node *a, cji_heap_node *b)
{
    if (b->key < a->key) {
        cji_heap_node *t = a;
        a = b;
        b = t;
    }
    b->next = a->child;
    if (b->next) b->next->prev = b;
    b->prev = a;
    a->child = b;
    return a;
}

cji_heap_node *cji_heap_insert(cji_heap_node *root, cji_heap_node *n)
{
    n->child = n->next = n->prev = NULL;
    return root ? heap_meld(root, n) : n;
}

/* Siblings become one heap: in pairs from the first to the last, then all pairs from the last to the first. */
static cji_heap_node *heap_join(cji_heap_node *n)
{
    cji_heap_node *pairs = NULL, *root = NULL;
    while (n) {
        cji_heap_node *a = n, *b = n->next;
        n = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b) {
            b->next = b->prev = NULL;
            a = heap_meld(a, b);
        }
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        cji_heap_node *a = pairs;
        pairs = a->next;
        a->next = NULL;
        root = root ? heap_meld(root, a) : a;
    }
    return root;
}

cji_heap_node *cji_heap_remove(cji_heap_node *root, cji_heap_node *n)
{
    cji_heap_node *rest = heap_join(n->child);
    n->child = NULL;
    if (n == root) return rest;
    if (n->prev->child == n) n->prev->child = n->next;
    else n->prev->next = n->next;
    if (n->next) n->next->prev = n->prev;
    n->next = n->prev = NULL;
    return rest ? heap_meld(root, rest) : root;
}
