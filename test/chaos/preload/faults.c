// Preloaded into a process under test (preloaded.ts), it stands between the process and the C
// library: it makes the disk slow, failing or full, and moves the wall clock, as the orders say.
// The orders are a file that is mapped, so that a change of it is seen by the next call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// As preloaded.ts writes them, each 64 bits.
struct orders {
  int64_t clock_ms;    // added to the wall clock
  int64_t sync_ms;     // how long a sync takes longer
  int64_t sync_errno;  // with which each sync fails; 0: it does not
  int64_t is_full;     // whether no file can grow
};

static const struct orders none;
static const volatile struct orders *orders = &none;

__attribute__((constructor)) static void map_orders(void) {
  const char *path = getenv("DROVER_CHAOS_ORDERS");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *map = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) orders = map;
  close(fd);
}

#define REAL(name)                                             \
  static __typeof__(name) *real;                               \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

int clock_gettime(clockid_t clock, struct timespec *at) {
  REAL(clock_gettime);
  int failed = real(clock, at);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    at->tv_sec += orders->clock_ms / 1000;
  return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  REAL(gettimeofday);
  int failed = real(at, zone);
  if (!failed) at->tv_sec += orders->clock_ms / 1000;
  return failed;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}

static int sync_order(void) {
  int64_t ms = orders->sync_ms;
  if (ms > 0) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
  }
  return (int)orders->sync_errno;
}

#define SYNC(name)                       \
  int name(int fd) {                     \
    REAL(name);                          \
    int error = sync_order();            \
    if (error) return errno = error, -1; \
    return real(fd);                     \
  }
SYNC(fsync)
SYNC(fdatasync)

static int has_no_room(int fd, int64_t end) {
  if (!orders->is_full) return 0;
  struct stat file;
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return 0;
  return end > file.st_size;
}

static int64_t length_of(const struct iovec *parts, int count) {
  int64_t length = 0;
  for (int i = 0; i < count; i++) length += (int64_t)parts[i].iov_len;
  return length;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  REAL(pwrite);
  if (has_no_room(fd, at + (int64_t)length)) return errno = ENOSPC, -1;
  return real(fd, bytes, length, at);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  REAL(pwritev);
  if (has_no_room(fd, at + length_of(parts, count))) return errno = ENOSPC, -1;
  return real(fd, parts, count, at);
}

// The same calls, as programs that are built for large files name them.
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t at)
    __attribute__((alias("pwrite")));
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t at)
    __attribute__((alias("pwritev")));

ssize_t write(int fd, const void *bytes, size_t length) {
  REAL(write);
  if (orders->is_full) {
    int flags = fcntl(fd, F_GETFL);
    off_t at = lseek(fd, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
    if (at >= 0 && has_no_room(fd, at + (int64_t)length)) return errno = ENOSPC, -1;
  }
  return real(fd, bytes, length);
}

int posix_fallocate(int fd, off_t at, off_t length) {
  REAL(posix_fallocate);
  return has_no_room(fd, at + length) ? ENOSPC : real(fd, at, length);
}

int posix_fallocate64(int fd, off_t at, off_t length) __attribute__((alias("posix_fallocate")));

int ftruncate(int fd, off_t length) {
  REAL(ftruncate);
  if (has_no_room(fd, length)) return errno = ENOSPC, -1;
  return real(fd, length);
}

int ftruncate64(int fd, off_t length) __attribute__((alias("ftruncate")));
