/* cujit/numbers.h - what the macros of launch.h and operands.h share: the C types that are numbers,
 * and lists of arguments.  Programs do not use it.  launch.h and ptx.h include it. */
#ifndef CUJIT_NUMBERS_H
#define CUJIT_NUMBERS_H

#include <stdbool.h>

/* Each C type that is a number: X(to, type, kind).  The kinds are i, u, f32 and f64, as in cj_arg_
 * and cj_imm_. */
#define CJI_EACH_NUMBER(X, to) \
    X(to, bool, u) X(to, char, i) X(to, signed char, i) X(to, unsigned char, u) \
    X(to, short, i) X(to, unsigned short, u) X(to, int, i) X(to, unsigned, u) X(to, long, i) X(to, unsigned long, u) \
    X(to, long long, i) X(to, unsigned long long, u) X(to, float, f32) X(to, double, f64)

/* A row of a _Generic selection: the function to_kind for the type. */
#define CJI_NUMBER_ROW(to, type, kind) type: to##kind,

/* -- Lists of 1 to 33 arguments ---------------------------------------------------------------- */

#define CJI_CAT(a, b) CJI_CAT_(a, b)
#define CJI_CAT_(a, b) a##b

/* How many there are; 0 for one and 1 for more. */
#define CJI_COUNT(...) CJI_PICK(__VA_ARGS__, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, \
    17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CJI_ANY(...) CJI_PICK(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, \
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0)
#define CJI_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, \
    _21, _22, _23, _24, _25, _26, _27, _28, _29, _30, _31, _32, _33, n, ...) n

/* m(o, a), m(o, b), ... for up to 32 arguments a, b, ... */
#define CJI_MAP(m, o, ...) CJI_CAT(CJI_MAP_, CJI_COUNT(__VA_ARGS__))(m, o, __VA_ARGS__)
#define CJI_MAP_1(m, o, a) m(o, a)
#define CJI_MAP_2(m, o, a, ...) m(o, a), CJI_MAP_1(m, o, __VA_ARGS__)
#define CJI_MAP_3(m, o, a, ...) m(o, a), CJI_MAP_2(m, o, __VA_ARGS__)
#define CJI_MAP_4(m, o, a, ...) m(o, a), CJI_MAP_3(m, o, __VA_ARGS__)
#define CJI_MAP_5(m, o, a, ...) m(o, a), CJI_MAP_4(m, o, __VA_ARGS__)
#define CJI_MAP_6(m, o, a, ...) m(o, a), CJI_MAP_5(m, o, __VA_ARGS__)
#define CJI_MAP_7(m, o, a, ...) m(o, a), CJI_MAP_6(m, o, __VA_ARGS__)
#define CJI_MAP_8(m, o, a, ...) m(o, a), CJI_MAP_7(m, o, __VA_ARGS__)
#define CJI_MAP_9(m, o, a, ...) m(o, a), CJI_MAP_8(m, o, __VA_ARGS__)
#define CJI_MAP_10(m, o, a, ...) m(o, a), CJI_MAP_9(m, o, __VA_ARGS__)
#define CJI_MAP_11(m, o, a, ...) m(o, a), CJI_MAP_10(m, o, __VA_ARGS__)
#define CJI_MAP_12(m, o, a, ...) m(o, a), CJI_MAP_11(m, o, __VA_ARGS__)
#define CJI_MAP_13(m, o, a, ...) m(o, a), CJI_MAP_12(m, o, __VA_ARGS__)
#define CJI_MAP_14(m, o, a, ...) m(o, a), CJI_MAP_13(m, o, __VA_ARGS__)
#define CJI_MAP_15(m, o, a, ...) m(o, a), CJI_MAP_14(m, o, __VA_ARGS__)
#define CJI_MAP_16(m, o, a, ...) m(o, a), CJI_MAP_15(m, o, __VA_ARGS__)
#define CJI_MAP_17(m, o, a, ...) m(o, a), CJI_MAP_16(m, o, __VA_ARGS__)
#define CJI_MAP_18(m, o, a, ...) m(o, a), CJI_MAP_17(m, o, __VA_ARGS__)
#define CJI_MAP_19(m, o, a, ...) m(o, a), CJI_MAP_18(m, o, __VA_ARGS__)
#define CJI_MAP_20(m, o, a, ...) m(o, a), CJI_MAP_19(m, o, __VA_ARGS__)
#define CJI_MAP_21(m, o, a, ...) m(o, a), CJI_MAP_20(m, o, __VA_ARGS__)
#define CJI_MAP_22(m, o, a, ...) m(o, a), CJI_MAP_21(m, o, __VA_ARGS__)
#define CJI_MAP_23(m, o, a, ...) m(o, a), CJI_MAP_22(m, o, __VA_ARGS__)
#define CJI_MAP_24(m, o, a, ...) m(o, a), CJI_MAP_23(m, o, __VA_ARGS__)
#define CJI_MAP_25(m, o, a, ...) m(o, a), CJI_MAP_24(m, o, __VA_ARGS__)
#define CJI_MAP_26(m, o, a, ...) m(o, a), CJI_MAP_25(m, o, __VA_ARGS__)
#define CJI_MAP_27(m, o, a, ...) m(o, a), CJI_MAP_26(m, o, __VA_ARGS__)
#define CJI_MAP_28(m, o, a, ...) m(o, a), CJI_MAP_27(m, o, __VA_ARGS__)
#define CJI_MAP_29(m, o, a, ...) m(o, a), CJI_MAP_28(m, o, __VA_ARGS__)
#define CJI_MAP_30(m, o, a, ...) m(o, a), CJI_MAP_29(m, o, __VA_ARGS__)
#define CJI_MAP_31(m, o, a, ...) m(o, a), CJI_MAP_30(m, o, __VA_ARGS__)
#define CJI_MAP_32(m, o, a, ...) m(o, a), CJI_MAP_31(m, o, __VA_ARGS__)

#endif
