/* Readers of the texts that profiles write: strict enough that what they accept is JSON, or XML. */
#ifndef CUJIT_TESTS_PROFILE_TEXTS_H
#define CUJIT_TESTS_PROFILE_TEXTS_H

#include <stdbool.h>

/* The rest behind one JSON value; NULL: it is none. */
const char *profile_json_end(const char *text);
/* Each tag that is opened is closed, and no character is bare that must be escaped. */
bool profile_xml_is_closed(const char *text);

#endif
