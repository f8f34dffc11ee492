/* Folders for what lives no longer than a run. */
#ifndef HLO_BASE_FOLDER_H
#define HLO_BASE_FOLDER_H

struct error;

/* A new folder in $TMPDIR (or /tmp); its path is the caller's. NULL with *err. */
char *folder_make_temporary(struct error *err);
/* Removes the files in it, not folders below. */
void folder_empty(const char *folder);
/* Removes the files in it, and itself if nothing else is there. */
void folder_remove(const char *folder);

#endif
