// A disk that does not answer, for a process that is started with this library preloaded.
//
// Whatever looks into a folder below $SLOW_DISK waits for as long as the file $SLOW_DISK_HANGS
// exists, or fails with the error number in that file if there is one.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool below(const char *path) {
    const char *disk = getenv("SLOW_DISK");
    return disk && path && strncmp(path, disk, strlen(disk)) == 0;
}

// 0 to go on, -1 with errno set to fail.
static int wait_for_disk() {
    const char *name = getenv("SLOW_DISK_HANGS");
    for (;;) {
        FILE *file = name ? fopen(name, "r") : nullptr;
        if (!file) return 0;
        int number = 0;
        int found = fscanf(file, "%d", &number);
        fclose(file);
        if (found == 1) {
            errno = number;
            return -1;
        }
        usleep(10000);
    }
}

extern "C" DIR *opendir(const char *path) {
    static auto next = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
    if (below(path) && wait_for_disk()) return nullptr;
    return next(path);
}

#define OPEN(name)                                                              \
    extern "C" int name(const char *path, int flags, ...) {                     \
        static auto next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
        va_list more;                                                           \
        va_start(more, flags);                                                  \
        int mode = flags & O_CREAT ? va_arg(more, int) : 0;                     \
        va_end(more);                                                           \
        if (flags & O_DIRECTORY && below(path) && wait_for_disk()) return -1;   \
        return next(path, flags, mode);                                         \
    }
OPEN(open)
OPEN(open64)

extern "C" int lstat(const char *path, struct stat *status) {
    static auto next = (int (*)(const char *, struct stat *))dlsym(RTLD_NEXT, "lstat");
    if (below(path) && wait_for_disk()) return -1;
    return next(path, status);
}

extern "C" int lstat64(const char *path, struct stat64 *status) {
    static auto next = (int (*)(const char *, struct stat64 *))dlsym(RTLD_NEXT, "lstat64");
    if (below(path) && wait_for_disk()) return -1;
    return next(path, status);
}
