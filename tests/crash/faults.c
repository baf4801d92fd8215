// A process that dies, or whose disk fails, at the N-th change that it makes below a folder, it and
// those that it has forked together.
//
// For a process that is started with this library preloaded: the calls of the C library by which
// Python changes a file system are counted where they concern the folder that faults_arm() was told,
// and the N-th is not done. What becomes of it says the mode. Every counted call that was made is a
// line in a log outside of that folder: number, call, path, second path or "-", of one on an open
// file its size before, and 1 if it went well, else 0, separated by tabs.
//
// fsync, fdatasync and syncfs are logged and otherwise do nothing: who is killed loses nothing that was
// written, and what a power cut would lose, the log tells.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode {
    COUNT,  // nothing happens
    KILL,   // SIGKILL instead of the N-th
    TORN,   // of the N-th, a write, half is written, and then SIGKILL
    FULL,   // from the N-th on, whatever needs room fails with ENOSPC; a write begins to fail half way
    FAIL,   // the N-th alone fails with EIO
    PLAIN = 16,  // besides: a file system that has no files without a name
    // Besides, where a forked one makes the N-th change. Without, it and the first die together.
    FIRST = 32,   // the first alone dies, of KILL, and the other goes on
    FORKED = 64,  // only changes of forked ones are counted, and that one alone dies
};
enum what { CHANGE, GROWS, WRITES };          // the latter two need room
enum turn { GO_ON, HALF, FAILED };

static char root[PATH_MAX];
static size_t root_length;
static enum mode mode;
static long at, *count;
static int armed, plain, who, log_file = -1;
static pid_t first;

// From now on count what is done below a folder, given by its real path; the log is appended to.
void faults_arm(const char *folder, int how, long number, const char *log) {
    strncpy(root, folder, sizeof root - 1);
    root_length = strlen(root);
    mode = (enum mode)(how % PLAIN);
    plain = how & PLAIN;
    who = how & (FIRST | FORKED);
    at = number;
    first = getpid();
    count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    log_file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    armed = 1;
}

// No more of it; returns how many calls were counted.
long faults_disarm(void) {
    armed = 0;
    if (log_file >= 0) syscall(SYS_close, log_file);
    log_file = -1;
    return *count;
}

static int below(const char *path) {
    if (strncmp(path, root, root_length)) return 0;
    return path[root_length] == '/' || path[root_length] == 0;
}

// The path of an open file or folder; empty where it has none.
static void path_of(int handle, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
}

static void absolute(int folder, const char *path, char *whole) {
    char base[PATH_MAX] = "";
    if (!strncmp(path, "/proc/self/fd/", 14)) {  // how a file without a name gets one
        path_of(atoi(path + 14), whole);
        return;
    }
    if (path[0] != '/') {
        if (folder != AT_FDCWD) path_of(folder, base);
        else if (!getcwd(base, sizeof base)) base[0] = 0;
    }
    size_t length = strlen(base);
    memcpy(whole, base, length);
    if (path[0] != '/') whole[length++] = '/';
    strncpy(whole + length, path, PATH_MAX - 1);
}

// Of the call that is under way, until it is made.
static __thread char line[3 * PATH_MAX];
static __thread int torn;

static void begin(long number, const char *call, const char *one, const char *other, int handle) {
    struct stat status = {0};
    if (handle >= 0) fstat(handle, &status);
    snprintf(line, sizeof line, "%ld\t%s\t%s\t%s\t%ld", number, call, one, other[0] ? other : "-",
             (long)status.st_size);
}

static void end(int well) {
    if (!line[0]) return;
    int before = errno;
    size_t length = strlen(line);
    snprintf(line + length, sizeof line - length, "\t%d\n", well);
    syscall(SYS_write, log_file, line, strlen(line));
    line[0] = 0;
    errno = before;
}

#define MADE(call)                                                                                 \
    ({                                                                                             \
        __typeof__(call) made = (call);                                                            \
        end(made >= 0);                                                                            \
        made;                                                                                      \
    })

static void die(void) {
    pid_t self = (pid_t)syscall(SYS_getpid);
    if (who != FORKED) syscall(SYS_kill, first, SIGKILL);
    while (who != FIRST || self == first) syscall(SYS_kill, self, SIGKILL);
}

// Whether there is no need of room, because what would be made is there: that is another error.
static int exists(enum what what, const char *one, const char *other) {
    struct stat status;
    return what == GROWS && lstat(other[0] ? other : one, &status) == 0;
}

static enum turn turn(const char *call, enum what what, const char *one, const char *other,
                      int handle) {
    if (!armed || !(below(one) || (other[0] && below(other)))) return GO_ON;
    int before = errno;
    int counts = who != FORKED || (pid_t)syscall(SYS_getpid) != first;
    long number = counts ? __sync_add_and_fetch(count, 1) : 0;
    if (number == at && mode == KILL) die();
    begin(number, call, one, other, handle);
    if (number == at && mode == TORN) {
        torn = what == WRITES;
        if (torn) return HALF;
        die();
    }
    int full = number >= at && mode == FULL && what != CHANGE && !exists(what, one, other);
    if (full && number == at && what == WRITES) return HALF;
    if (full || (number == at && mode == FAIL)) {
        end(0);
        errno = full ? ENOSPC : EIO;
        return FAILED;
    }
    errno = before;
    return GO_ON;
}

static enum turn on_path(const char *call, enum what what, int folder, const char *path) {
    char whole[2 * PATH_MAX];
    if (!armed) return GO_ON;
    absolute(folder, path, whole);
    return turn(call, what, whole, "", -1);
}

static enum turn on_paths(const char *call, enum what what, int folder, const char *path,
                          int other_folder, const char *other) {
    char one[2 * PATH_MAX], two[2 * PATH_MAX];
    if (!armed) return GO_ON;
    absolute(folder, path, one);
    absolute(other_folder, other, two);
    return turn(call, what, one, two, -1);
}

static enum turn on_handle(const char *call, enum what what, int handle) {
    char path[2 * PATH_MAX];
    if (!armed) return GO_ON;
    path_of(handle, path);
    return turn(call, what, path, "", handle);
}

#define NEXT(name) static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

// How much of a write is to be done: all, or half of it; -1 if none.
static ssize_t part(const char *call, int handle, size_t size) {
    switch (on_handle(call, WRITES, handle)) {
    case GO_ON: return (ssize_t)size;
    case HALF:
        if (size > 1 || mode == TORN) return (ssize_t)(size / 2);
        end(0);  // a write of nothing is no beginning
        errno = ENOSPC;
        return -1;
    default: return -1;
    }
}

static ssize_t written(ssize_t done, ssize_t wanted, size_t size) {
    end(done >= 0);
    if (torn && wanted < (ssize_t)size) die();
    return done;
}

ssize_t write(int handle, const void *data, size_t size) {
    NEXT(write);
    ssize_t some = part("write", handle, size);
    return some < 0 ? -1 : written(next(handle, data, (size_t)some), some, size);
}

#define PWRITE(name, offset_t)                                                                     \
    ssize_t name(int handle, const void *data, size_t size, offset_t offset) {                     \
        NEXT(name);                                                                                \
        ssize_t some = part(#name, handle, size);                                                  \
        return some < 0 ? -1 : written(next(handle, data, (size_t)some, offset), some, size);      \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int handle, const struct iovec *parts, int number) {
    NEXT(writev);
    size_t size = number > 0 ? parts[0].iov_len : 0;  // fewer than asked for is no error
    ssize_t some = part("writev", handle, size);
    if (some < 0) return -1;
    if (some == (ssize_t)size) return MADE(next(handle, parts, number));
    struct iovec begin = {parts[0].iov_base, (size_t)some};
    return written(next(handle, &begin, 1), some, size);
}

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    NEXT(copy_file_range);
    ssize_t some = part("copy_file_range", out, size);
    return some < 0 ? -1 : written(next(in, from, out, to, (size_t)some, flags), some, size);
}

#define SENDFILE(name, offset_t)                                                                   \
    ssize_t name(int out, int in, offset_t *from, size_t size) {                                   \
        NEXT(name);                                                                                \
        ssize_t some = part(#name, out, size);                                                     \
        return some < 0 ? -1 : written(next(out, in, from, (size_t)some), some, size);             \
    }
ssize_t sendfile(int, int, off_t *, size_t);
ssize_t sendfile64(int, int, off64_t *, size_t);
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

#define NAMELESS (__O_TMPFILE & ~O_DIRECTORY)

// Opening is a change where it makes a file or takes away what is in one.
static enum turn on_open(const char *call, int folder, const char *path, int flags) {
    char whole[2 * PATH_MAX];
    if (!armed || !(flags & (O_CREAT | O_TRUNC | NAMELESS))) return GO_ON;
    absolute(folder, path, whole);
    if (flags & NAMELESS) {
        if (plain && below(whole)) {
            errno = EOPNOTSUPP;
            return FAILED;
        }
        strcat(whole, "/nameless");
        return turn("nameless", GROWS, whole, "", -1);
    }
    if (syscall(SYS_faccessat, AT_FDCWD, whole, F_OK) != 0)
        return flags & O_CREAT ? turn(call, GROWS, whole, "", -1) : GO_ON;
    return flags & O_TRUNC ? turn(call, CHANGE, whole, "", -1) : GO_ON;
}

#define MODE                                                                                       \
    mode_t permissions = 0;                                                                        \
    if (flags & (O_CREAT | NAMELESS)) {                                                           \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        permissions = va_arg(more, mode_t);                                                        \
        va_end(more);                                                                              \
    }
#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        NEXT(name);                                                                                \
        MODE return on_open(#name, AT_FDCWD, path, flags) ? -1 : MADE(next(path, flags, permissions));\
    }
#define OPENAT(name)                                                                               \
    int name(int folder, const char *path, int flags, ...) {                                       \
        NEXT(name);                                                                                \
        MODE return on_open(#name, folder, path, flags) ? -1                                       \
                                                        : MADE(next(folder, path, flags, permissions));\
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define ON_PATH(name, what, parameters, folder, path, arguments)                                   \
    int name parameters {                                                                          \
        NEXT(name);                                                                                \
        return on_path(#name, what, folder, path) ? -1 : MADE(next arguments);                     \
    }
ON_PATH(unlink, CHANGE, (const char *path), AT_FDCWD, path, (path))
ON_PATH(unlinkat, CHANGE, (int in, const char *path, int flags), in, path, (in, path, flags))
ON_PATH(rmdir, CHANGE, (const char *path), AT_FDCWD, path, (path))
ON_PATH(mkdir, GROWS, (const char *path, mode_t bits), AT_FDCWD, path, (path, bits))
ON_PATH(mkdirat, GROWS, (int in, const char *path, mode_t bits), in, path, (in, path, bits))
ON_PATH(symlink, GROWS, (const char *to, const char *path), AT_FDCWD, path, (to, path))
ON_PATH(symlinkat, GROWS, (const char *to, int in, const char *path), in, path, (to, in, path))
ON_PATH(chmod, CHANGE, (const char *path, mode_t bits), AT_FDCWD, path, (path, bits))
ON_PATH(fchmodat, CHANGE, (int in, const char *path, mode_t bits, int flags), in, path,
        (in, path, bits, flags))
ON_PATH(truncate, CHANGE, (const char *path, off_t size), AT_FDCWD, path, (path, size))
ON_PATH(truncate64, CHANGE, (const char *path, off64_t size), AT_FDCWD, path, (path, size))

int utimensat(int in, const char *path, const struct timespec times[2], int flags) {
    NEXT(utimensat);
    return on_path("utimensat", CHANGE, in, path) ? -1 : MADE(next(in, path, times, flags));
}

#define ON_PATHS(name, what, parameters, one, path, two, other, arguments)                         \
    int name parameters {                                                                          \
        NEXT(name);                                                                                \
        return on_paths(#name, what, one, path, two, other) ? -1 : MADE(next arguments);           \
    }
ON_PATHS(rename, CHANGE, (const char *old, const char *new), AT_FDCWD, old, AT_FDCWD, new,
         (old, new))
ON_PATHS(renameat, CHANGE, (int in, const char *old, int to, const char *new), in, old, to, new,
         (in, old, to, new))
ON_PATHS(renameat2, CHANGE, (int in, const char *old, int to, const char *new, unsigned flags), in,
         old, to, new, (in, old, to, new, flags))
ON_PATHS(link, GROWS, (const char *old, const char *new), AT_FDCWD, old, AT_FDCWD, new, (old, new))
ON_PATHS(linkat, GROWS, (int in, const char *old, int to, const char *new, int flags), in, old, to,
         new, (in, old, to, new, flags))

#define ON_HANDLE(name, what, parameters, arguments)                                               \
    int name parameters {                                                                          \
        NEXT(name);                                                                                \
        return on_handle(#name, what, handle) ? -1 : MADE(next arguments);                         \
    }
ON_HANDLE(ftruncate, CHANGE, (int handle, off_t size), (handle, size))
ON_HANDLE(ftruncate64, CHANGE, (int handle, off64_t size), (handle, size))
ON_HANDLE(fchmod, CHANGE, (int handle, mode_t bits), (handle, bits))
ON_HANDLE(futimens, CHANGE, (int handle, const struct timespec times[2]), (handle, times))
ON_HANDLE(fallocate, GROWS, (int handle, int how, off_t from, off_t size),
          (handle, how, from, size))
ON_HANDLE(fallocate64, GROWS, (int handle, int how, off64_t from, off64_t size),
          (handle, how, from, size))

// These return the error.
#define ALLOCATE(name, offset_t)                                                                   \
    int name(int handle, offset_t from, offset_t size) {                                           \
        NEXT(name);                                                                                \
        return on_handle(#name, GROWS, handle) ? errno : -MADE(-next(handle, from, size));         \
    }
ALLOCATE(posix_fallocate, off_t)
ALLOCATE(posix_fallocate64, off64_t)

#define SYNC(name)                                                                                 \
    int name(int handle) {                                                                         \
        NEXT(name);                                                                                \
        if (!armed) return next(handle);                                                           \
        return on_handle(#name, CHANGE, handle) ? -1 : MADE(0);                                    \
    }
SYNC(fsync)
SYNC(fdatasync)
SYNC(syncfs)
