/* Names of the cache's files.  No other file of the folder is the cache's, but the two of disk_count.c. */
#include <string.h>

#include "base/first.h"
#include "driver/cache/disk_cache.h"

enum { KEY_DIGITS = 32, FILE_DIGITS = 16 };
static const char entry_suffix[] = ".kernel", recent_suffix[] = ".recent", new_suffix[] = ".new";

static void hex_of(char *out, uint64_t x)
{
    for (int i = 0; i < 16; i++) out[i] = "0123456789abcdef"[x >> (60 - 4 * i) & 15];
}

/* The number of so many digits, at most 32; false: it has others, or fewer. */
static bool name_digits(const char *name, int digits, cji_hash128 *number)
{
    *number = (cji_hash128){ { 0, 0 } };
    for (int i = 0; i < digits; i++) {
        const char c = name[i];
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return false;
        number->word[i / 16] = number->word[i / 16] << 4 | (unsigned)digit;
    }
    return true;
}

CJI_FIRST void cji_disk_name(char name[CJI_DISK_NAME], cji_hash128 key)
{
    hex_of(name, key.word[0]);
    hex_of(name + 16, key.word[1]);
    memcpy(name + KEY_DIGITS, entry_suffix, sizeof entry_suffix);
}

bool cji_disk_key_of(const char *name, cji_hash128 *key)
{
    return name_digits(name, KEY_DIGITS, key) && strcmp(name + KEY_DIGITS, entry_suffix) == 0;
}

void cji_disk_recent_file(char name[CJI_DISK_NAME], cji_hash128 digits)
{
    hex_of(name, digits.word[0]);
    memcpy(name + FILE_DIGITS, recent_suffix, sizeof recent_suffix);
}

bool cji_disk_is_recent(const char *name, cji_hash128 *digits)
{
    return name_digits(name, FILE_DIGITS, digits) && strcmp(name + FILE_DIGITS, recent_suffix) == 0;
}

void cji_disk_unfinished_file(char name[CJI_DISK_NAME], cji_hash128 digits)
{
    hex_of(name, digits.word[0]);
    memcpy(name + FILE_DIGITS, new_suffix, sizeof new_suffix);
}

bool cji_disk_is_unfinished(const char *name)
{
    cji_hash128 digits;
    return name_digits(name, FILE_DIGITS, &digits) && strcmp(name + FILE_DIGITS, new_suffix) == 0;
}
