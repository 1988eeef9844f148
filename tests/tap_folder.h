/* Folders of a test, for files that it writes. */
#ifndef CUJIT_TESTS_TAP_FOLDER_H
#define CUJIT_TESTS_TAP_FOLDER_H

/* Makes a folder cujit-NAME-... below $TMPDIR or /tmp, which its owner alone can open, and returns its path.  It is
 * removed with all that is in it when this process ends, whatever it skipped or failed, or when its time is over; not
 * by its children, and not where a signal kills it.  Bails out where it cannot be made. */
const char *tap_folder(const char *name);
/* Removes those of this process now. */
void tap_folders_remove(void);

#endif
