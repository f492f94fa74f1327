/* Loaded before the C library: makes the database's disk slow, hanging or full, as a file says at every call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void read_orders(long *sync_ms, long *write_errno) {
  *sync_ms = *write_errno = 0;
  const char *path = getenv("FAULTY_DISK");
  int orders = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (orders < 0) return;
  char text[64] = {0};
  if (read(orders, text, sizeof text - 1) > 0) sscanf(text, "%ld %ld", sync_ms, write_errno);
  close(orders);
}

static int is_database(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return strstr(path, "/gateway.db") != NULL;
}

/* A wait that is looked at again and again can be ended from outside. */
static void wait_for_disk(int descriptor) {
  if (!is_database(descriptor)) return;
  long sync_ms, write_errno;
  for (long waited = 0;; waited += 10) {
    read_orders(&sync_ms, &write_errno);
    if (waited >= sync_ms) return;
    usleep(10000);
  }
}

int fsync(int descriptor) {
  static int (*real)(int);
  if (real == NULL) real = dlsym(RTLD_NEXT, "fsync");
  wait_for_disk(descriptor);
  return real(descriptor);
}

int fdatasync(int descriptor) {
  static int (*real)(int);
  if (real == NULL) real = dlsym(RTLD_NEXT, "fdatasync");
  wait_for_disk(descriptor);
  return real(descriptor);
}

static int refuses(int descriptor) {
  long sync_ms, write_errno;
  read_orders(&sync_ms, &write_errno);
  if (write_errno == 0 || !is_database(descriptor)) return 0;
  errno = (int)write_errno;
  return 1;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  static ssize_t (*real)(int, const void *, size_t, off_t);
  if (real == NULL) real = dlsym(RTLD_NEXT, "pwrite");
  return refuses(descriptor) ? -1 : real(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  static ssize_t (*real)(int, const void *, size_t, off64_t);
  if (real == NULL) real = dlsym(RTLD_NEXT, "pwrite64");
  return refuses(descriptor) ? -1 : real(descriptor, bytes, count, offset);
}
