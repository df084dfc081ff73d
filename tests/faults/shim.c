/* Records what a process does to the files below one directory, in order, with the data.
 *
 * Preload this library with GRAMME_SHIM_ROOT (an absolute, real path) and GRAMME_SHIM_LOG (a file
 * outside that path) set. Every write, name change and sync that succeeded below the root becomes one
 * event in the log. A change and its event happen under one mutex, so the log's order is the order the
 * kernel saw. A sync is two events, because it covers only the writes that came before it began, and
 * counts only once it ended. What the replay could not follow (a writable shared mapping, say) is
 * recorded as such, and the replay refuses the log.
 *
 * The calls are made as raw system calls, so nothing here depends on the order of other preloads. The
 * one exception is fopen, whose stream writes cannot be seen: it only leaves the path, so that the
 * replay knows which file it does not know. RocksDB writes its text log that way, and nothing else.
 *
 * Recorded in one process at a time, on a system with a 64-bit off_t.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
/* A second name for the same call: off_t is off64_t here. */
#define SAME(name, as) EXPORT __typeof__(as) name __attribute__((alias(#as)))
#define TRACKED_FDS 65536
#define LOG_FD_MIN 60000
#define MAGIC 0x474d5348u

enum event_type {
    EVENT_OPEN = 1, EVENT_CLOSE, EVENT_DUP, EVENT_WRITE, EVENT_TRUNCATE, EVENT_EXTEND, EVENT_RENAME,
    EVENT_LINK, EVENT_UNLINK, EVENT_RMDIR, EVENT_MKDIR, EVENT_SYNC_BEGIN, EVENT_SYNC_END,
    EVENT_UNSEEN, EVENT_UNSUPPORTED,
};

/* The layout is read by recorder.py. */
struct header {
    uint32_t magic, type;
    int32_t pid, fd;
    int64_t a, b;
    uint32_t first_size, second_size;
};

static char root[PATH_MAX];
static size_t root_length;
static int log_fd = -1;
static int64_t sync_serial;
static unsigned char tracked[TRACKED_FDS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *what) {
    dprintf(2, "shim: %s: %s\n", what, strerror(errno));
    abort();
}

__attribute__((constructor)) static void start(void) {
    const char *directory = getenv("GRAMME_SHIM_ROOT"), *path = getenv("GRAMME_SHIM_LOG");
    if (!directory || !path || strlen(directory) >= sizeof root) return;
    strcpy(root, directory);
    root_length = strlen(root);
    int fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) fail("cannot open the log");
    /* Out of the way of programs that close low descriptors; low where the limit does not allow it. */
    int high = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, (long)LOG_FD_MIN);
    log_fd = high < 0 ? fd : high;
    if (high >= 0) syscall(SYS_close, fd);
}

static int enter(void) { return pthread_mutex_lock(&mutex); }
static void leave(int *unused) { (void)unused; pthread_mutex_unlock(&mutex); }
/* Holds the mutex to the end of the block. */
#define GUARD int guard __attribute__((cleanup(leave), unused)) = enter()

/* Leaves errno as the recorded call set it. */
static void record(enum event_type type, int fd, int64_t a, int64_t b, const void *first,
                   size_t first_size, const void *second, size_t second_size) {
    struct header header = {MAGIC, type, getpid(), fd, a, b, first_size, second_size};
    struct iovec parts[3] = {{&header, sizeof header}, {(void *)first, first_size},
                             {(void *)second, second_size}};
    size_t total = sizeof header + first_size + second_size;
    int saved = errno;
    if (syscall(SYS_writev, log_fd, parts, 3) != (long)total) fail("cannot write the log");
    errno = saved;
}

static void record_path(enum event_type type, const char *path) {
    record(type, -1, 0, 0, path, strlen(path), NULL, 0);
}
static void record_paths(enum event_type type, const char *from, const char *to) {
    record(type, -1, 0, 0, from, strlen(from), to, strlen(to));
}

static void unsupported(const char *what) {
    if (log_fd < 0) return;
    GUARD;
    record_path(EVENT_UNSUPPORTED, what);
}

static int below_root(const char *path) {
    return log_fd >= 0 && strncmp(path, root, root_length) == 0 &&
           (path[root_length] == '/' || path[root_length] == '\0');
}

static int is_tracked(int fd) { return fd >= 0 && fd < TRACKED_FDS && tracked[fd]; }
static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, (long)PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = '\0';
    return 1;
}

/* Makes `path`, as given beside `directory_fd`, absolute; says whether it is below the root. */
static int resolve(int directory_fd, const char *path, char *resolved) {
    if (log_fd < 0 || path == NULL) return 0;
    char base[PATH_MAX] = "";
    if (path[0] != '/') {
        if (directory_fd == AT_FDCWD) {
            if (syscall(SYS_getcwd, base, sizeof base) < 0) return 0;
        } else if (!path_of(directory_fd, base)) return 0;
        strncat(base, "/", sizeof base - strlen(base) - 1);
    }
    if (strlen(base) + strlen(path) >= PATH_MAX) return 0;
    strcpy(resolved, base);
    strcat(resolved, path);
    return below_root(resolved);
}

/* Opening */
static int open_at(int directory_fd, const char *path, int flags, mode_t mode) {
    char resolved[PATH_MAX];
    struct stat status;
    if (!resolve(directory_fd, path, resolved)) {
        int fd = syscall(SYS_openat, directory_fd, path, flags, mode);
        if (fd >= 0 && fd < TRACKED_FDS) tracked[fd] = 0;
        return fd;
    }
    GUARD;
    int existed = syscall(SYS_faccessat, AT_FDCWD, resolved, F_OK) == 0;
    int fd = syscall(SYS_openat, directory_fd, path, flags, mode);
    if (fd < 0) return fd;
    if (fd >= TRACKED_FDS || (flags & O_TMPFILE) == O_TMPFILE || flags & O_DSYNC) {
        record_path(EVENT_UNSUPPORTED, "this way of opening");
        return fd;
    }
    int is_directory = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
    int what = (existed ? 0 : 1) | (is_directory ? 2 : 0) | (flags & O_TRUNC ? 4 : 0);
    tracked[fd] = 1;
    record(EVENT_OPEN, fd, flags, what, resolved, strlen(resolved), NULL, 0);
    return fd;
}

#define MODE_AFTER(flags)                                                                        \
    va_list rest;                                                                                \
    va_start(rest, flags);                                                                       \
    mode_t mode = (flags) & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                    \
    va_end(rest)

EXPORT int openat(int directory_fd, const char *path, int flags, ...) {
    MODE_AFTER(flags);
    return open_at(directory_fd, path, flags, mode);
}
EXPORT int open(const char *path, int flags, ...) {
    MODE_AFTER(flags);
    return open_at(AT_FDCWD, path, flags, mode);
}
EXPORT int creat(const char *path, mode_t mode) {
    return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
EXPORT int __open_2(const char *path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
SAME(open64, open);
SAME(openat64, openat);
SAME(creat64, creat);
SAME(__open64_2, __open_2);

EXPORT FILE *fopen(const char *path, const char *mode) {
    char resolved[PATH_MAX];
    FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen");
    FILE *stream = real(path, mode);
    if (stream && strpbrk(mode, "wa+") && resolve(AT_FDCWD, path, resolved)) {
        GUARD;
        record_path(EVENT_UNSEEN, resolved);
    }
    return stream;
}
SAME(fopen64, fopen);

EXPORT int close(int fd) {
    if (fd == log_fd && fd >= 0) return 0;
    if (!is_tracked(fd)) return syscall(SYS_close, fd);
    GUARD;
    tracked[fd] = 0;
    record(EVENT_CLOSE, fd, 0, 0, NULL, 0, NULL, 0);
    return syscall(SYS_close, fd);
}

static int duplicated(int old, int new) {
    if (new >= 0 && new < TRACKED_FDS && new != old) {
        GUARD;
        tracked[new] = is_tracked(old);
        if (tracked[new]) record(EVENT_DUP, new, old, 0, NULL, 0, NULL, 0);
    }
    return new;
}
EXPORT int dup(int old) { return duplicated(old, syscall(SYS_dup, old)); }
EXPORT int dup3(int old, int new, int flags) {
    return duplicated(old, syscall(SYS_dup3, old, new, flags));
}
EXPORT int dup2(int old, int new) { return old == new ? new : dup3(old, new, 0); }

EXPORT int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    long argument = va_arg(rest, long);
    va_end(rest);
    int result = syscall(SYS_fcntl, fd, command, argument);
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? duplicated(fd, result) : result;
}
SAME(fcntl64, fcntl);

/* Writing */
static ssize_t wrote(int fd, ssize_t written, off_t offset, const void *data) {
    if (written > 0) {
        if (offset < 0) offset = syscall(SYS_lseek, fd, 0L, SEEK_CUR) - written;
        /* A descriptor number that was closed behind our back and is a socket by now. */
        if (offset < 0) tracked[fd] = 0;
        else record(EVENT_WRITE, fd, offset, 0, data, written, NULL, 0);
    }
    return written;
}

EXPORT ssize_t write(int fd, const void *data, size_t size) {
    if (!is_tracked(fd)) return syscall(SYS_write, fd, data, size);
    GUARD;
    return wrote(fd, syscall(SYS_write, fd, data, size), -1, data);
}
EXPORT ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    if (!is_tracked(fd)) return syscall(SYS_pwrite64, fd, data, size, offset);
    GUARD;
    return wrote(fd, syscall(SYS_pwrite64, fd, data, size, offset), offset, data);
}
SAME(pwrite, pwrite64);
/* One part at a time: a short gathered write is a legal one, and callers go on from where it ended. */
static ssize_t write_first(int fd, const struct iovec *parts, int count, off_t offset) {
    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len == 0) continue;
        if (offset < 0) return write(fd, parts[i].iov_base, parts[i].iov_len);
        return pwrite64(fd, parts[i].iov_base, parts[i].iov_len, offset);
    }
    return 0;
}
EXPORT ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (!is_tracked(fd)) return syscall(SYS_writev, fd, parts, count);
    return write_first(fd, parts, count, -1);
}
EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    if (!is_tracked(fd)) return syscall(SYS_pwritev, fd, parts, count, offset, 0L);
    return write_first(fd, parts, count, offset);
}
SAME(pwritev64, pwritev);

EXPORT int ftruncate64(int fd, off64_t size) {
    if (!is_tracked(fd)) return syscall(SYS_ftruncate, fd, size);
    GUARD;
    int result = syscall(SYS_ftruncate, fd, size);
    if (result == 0) record(EVENT_TRUNCATE, fd, size, 0, NULL, 0, NULL, 0);
    return result;
}
SAME(ftruncate, ftruncate64);
EXPORT int truncate64(const char *path, off64_t size) {
    char resolved[PATH_MAX];
    if (resolve(AT_FDCWD, path, resolved)) unsupported("truncate by name");
    return syscall(SYS_truncate, path, size);
}
SAME(truncate, truncate64);
EXPORT int fallocate64(int fd, int mode, off64_t offset, off64_t size) {
    if (!is_tracked(fd)) return syscall(SYS_fallocate, fd, mode, offset, size);
    GUARD;
    int result = syscall(SYS_fallocate, fd, mode, offset, size);
    if (result == 0 && mode == 0) record(EVENT_EXTEND, fd, offset + size, 0, NULL, 0, NULL, 0);
    if (result == 0 && mode & ~FALLOC_FL_KEEP_SIZE)
        record_path(EVENT_UNSUPPORTED, "this mode of fallocate");
    return result;
}
SAME(fallocate, fallocate64);
EXPORT int posix_fallocate64(int fd, off64_t offset, off64_t size) {
    return fallocate64(fd, 0, offset, size) == 0 ? 0 : errno;
}
SAME(posix_fallocate, posix_fallocate64);

EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset) {
    if (is_tracked(fd) && protection & PROT_WRITE && (flags & MAP_TYPE) != MAP_PRIVATE)
        unsupported("a writable shared mapping");
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}
SAME(mmap, mmap64);
EXPORT ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset,
                               size_t size, unsigned flags) {
    if (is_tracked(out)) { errno = ENOSYS; return -1; }
    return syscall(SYS_copy_file_range, in, in_offset, out, out_offset, size, flags);
}
EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    if (is_tracked(out)) { errno = ENOSYS; return -1; }
    return syscall(SYS_sendfile, out, in, offset, size);
}
SAME(sendfile64, sendfile);

/* Names */
EXPORT int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
    char source[PATH_MAX], target[PATH_MAX];
    int from_below = resolve(from_fd, from, source), to_below = resolve(to_fd, to, target);
    if (!from_below && !to_below) return syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
    GUARD;
    int result = syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
    if (result == 0) {
        if (from_below != to_below || flags) record_path(EVENT_UNSUPPORTED, "this kind of rename");
        else record_paths(EVENT_RENAME, source, target);
    }
    return result;
}
EXPORT int renameat(int from_fd, const char *from, int to_fd, const char *to) {
    return renameat2(from_fd, from, to_fd, to, 0);
}
EXPORT int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

EXPORT int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
    char source[PATH_MAX], target[PATH_MAX];
    if (!resolve(to_fd, to, target)) return syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
    int from_below = resolve(from_fd, from, source);
    GUARD;
    int result = syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
    if (result == 0 && from_below) record_paths(EVENT_LINK, source, target);
    if (result == 0 && !from_below) record_path(EVENT_UNSUPPORTED, "a link from outside");
    return result;
}
EXPORT int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
EXPORT int symlink(const char *target, const char *path) {
    char resolved[PATH_MAX];
    if (resolve(AT_FDCWD, path, resolved)) unsupported("a symbolic link");
    return syscall(SYS_symlinkat, target, AT_FDCWD, path);
}

EXPORT int unlinkat(int directory_fd, const char *path, int flags) {
    char resolved[PATH_MAX];
    if (!resolve(directory_fd, path, resolved))
        return syscall(SYS_unlinkat, directory_fd, path, flags);
    GUARD;
    int result = syscall(SYS_unlinkat, directory_fd, path, flags);
    if (result == 0) record_path(flags & AT_REMOVEDIR ? EVENT_RMDIR : EVENT_UNLINK, resolved);
    return result;
}
EXPORT int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
EXPORT int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
EXPORT int remove(const char *path) {
    int result = unlink(path);
    return result < 0 && (errno == EISDIR || errno == EPERM) ? rmdir(path) : result;
}

EXPORT int mkdirat(int directory_fd, const char *path, mode_t mode) {
    char resolved[PATH_MAX];
    if (!resolve(directory_fd, path, resolved)) return syscall(SYS_mkdirat, directory_fd, path, mode);
    GUARD;
    int result = syscall(SYS_mkdirat, directory_fd, path, mode);
    if (result == 0) record_path(EVENT_MKDIR, resolved);
    return result;
}
EXPORT int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

/* Syncing. The mutex is not held while the disk works: other threads write on meanwhile. */
static void record_sync(enum event_type type, int fd, int64_t serial, int result) {
    GUARD;
    record(type, fd, serial, result, NULL, 0, NULL, 0);
}
static int synced(int fd, long number) {
    if (!is_tracked(fd)) return syscall(number, fd);
    int64_t serial = __atomic_add_fetch(&sync_serial, 1, __ATOMIC_SEQ_CST);
    record_sync(EVENT_SYNC_BEGIN, fd, serial, 0);
    int result = syscall(number, fd);
    record_sync(EVENT_SYNC_END, fd, serial, result);
    return result;
}
EXPORT int fsync(int fd) { return synced(fd, SYS_fsync); }
EXPORT int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }
EXPORT int syncfs(int fd) {
    if (is_tracked(fd)) unsupported("syncfs");
    return syscall(SYS_syncfs, fd);
}
/* sync_file_range promises nothing about a power loss, so it is neither needed nor recorded. */
