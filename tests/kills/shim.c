/* Counts what a process asks of the file system below one folder, and kills it before a request of a number.

Loaded before the C library, so that requests of Python, Rust, SQLite and DuckDB are counted alike. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct shared { long count; long at; char last[256]; };
static int sockets;
static struct shared *state;
static char base[PATH_MAX];

__attribute__((constructor)) static void begin(void) {
    /* Shared with forked children, so that the parent can read what a killed child has counted. */
    state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    state->at = -1;
}

/* Where `talks` is set, what is sent to a server is a request, too. */
void kill_below(const char *folder, long at, int talks) {
    sockets = talks;
    snprintf(base, sizeof base, "%s", folder);
    state->count = 0;
    state->at = at;
    state->last[0] = 0;
}
long counted(void) { return state->count; }
const char *last_request(void) { return state->last; }

static int below(const char *path) { return base[0] && !strncmp(path, base, strlen(base)); }

static void count(const char *what, const char *path) {
    if (__sync_fetch_and_add(&state->count, 1) == state->at) {
        snprintf(state->last, sizeof state->last, "%s %s", what, path);
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
}

static void named(const char *what, int folder, const char *path) {
    char link[64], whole[2 * PATH_MAX];
    if (!base[0] || !path) return;
    if (path[0] != '/') {
        ssize_t length;
        snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
        if ((length = readlink(link, whole, PATH_MAX)) < 0) return;
        snprintf(whole + length, PATH_MAX, "/%s", path);
        path = whole;
    }
    if (below(path)) count(what, path);
}

static void opened(const char *what, int file) {
    char link[64], path[PATH_MAX];
    ssize_t length;
    if (!base[0]) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if ((length = readlink(link, path, sizeof path - 1)) < 0) return;
    path[length] = 0;
    if (below(path) || (sockets && !strncmp(path, "socket:", 7))) count(what, path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define NAMED(result, name, parameters, arguments, folder, path) \
    result name parameters { named(#name, folder, path); return NEXT(name) arguments; }
#define OPENED(result, name, parameters, arguments, file) \
    result name parameters { opened(#name, file); return NEXT(name) arguments; }
#define OPEN(name, parameters, folder, path, more) \
    int name parameters { \
        int mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, int); va_end(rest); } \
        if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) named(#name, folder, path); \
        return NEXT(name) more; }

OPEN(open, (const char *path, int flags, ...), AT_FDCWD, path, (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, path, (path, flags, mode))
OPEN(openat, (int folder, const char *path, int flags, ...), folder, path, (folder, path, flags, mode))
OPEN(openat64, (int folder, const char *path, int flags, ...), folder, path, (folder, path, flags, mode))
NAMED(FILE *, fopen64, (const char *path, const char *mode), (path, mode), AT_FDCWD, strpbrk(mode, "wa+") ? path : NULL)
NAMED(int, rename, (const char *from, const char *to), (from, to), AT_FDCWD, from)
NAMED(int, renameat, (int one, const char *from, int other, const char *to), (one, from, other, to), one, from)
NAMED(int, renameat2, (int one, const char *from, int other, const char *to, unsigned flags), (one, from, other, to, flags), one, from)
NAMED(int, mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
NAMED(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), folder, path)
NAMED(int, unlink, (const char *path), (path), AT_FDCWD, path)
NAMED(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), folder, path)
NAMED(int, rmdir, (const char *path), (path), AT_FDCWD, path)
NAMED(int, chmod, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
NAMED(int, truncate64, (const char *path, off64_t length), (path, length), AT_FDCWD, path)
OPENED(int, ftruncate, (int file, off_t length), (file, length), file)
OPENED(int, ftruncate64, (int file, off64_t length), (file, length), file)
/* Nobody takes the power away: what is asked for is counted, and no disk is waited for. */
int fsync(int file) { opened("fsync", file); return 0; }
int fdatasync(int file) { opened("fdatasync", file); return 0; }
OPENED(ssize_t, write, (int file, const void *bytes, size_t length), (file, bytes, length), file)
OPENED(ssize_t, writev, (int file, const struct iovec *parts, int number), (file, parts, number), file)
OPENED(ssize_t, pwrite, (int file, const void *bytes, size_t length, off_t place), (file, bytes, length, place), file)
OPENED(ssize_t, pwrite64, (int file, const void *bytes, size_t length, off64_t place), (file, bytes, length, place), file)
OPENED(ssize_t, send, (int file, const void *bytes, size_t length, int flags), (file, bytes, length, flags), file)
OPENED(ssize_t, sendto, (int file, const void *bytes, size_t length, int flags, const struct sockaddr *to, socklen_t size), (file, bytes, length, flags, to, size), file)
