#ifndef POWER_LOSS_SHIM_H
#define POWER_LOSS_SHIM_H

// A layer between a program and its disk, for tests: preloaded (LD_PRELOAD), it carries out every call that changes files
// below one directory, and appends what the call did to a journal. What a cut of power may leave is built from that.
//
// Files that a process has open from its parent are not watched.
//
// SIGUSR2 ends a process that records by SIGKILL, as soon as no change is made that isn't recorded yet. (A plain SIGKILL may
// come between the two, and the journal lacks the change then.)
//
// Environment:
//   POWER_LOSS_ROOT        the directory; absolute, without symbolic links
//   POWER_LOSS_JOURNAL     the journal, outside of it; without it nothing is recorded
//   POWER_LOSS_KILL_AFTER  the process ends by SIGKILL right after so many records, whatever it is doing
//   POWER_LOSS_KILL_AT     `name`: right behind the first record after so many that makes or changes a file's name
//   POWER_LOSS_LIE         `files`, `directories` or `all`: their syncs are carried out and not recorded, as of a disk
//                          that promises and doesn't keep
//   POWER_LOSS_SYNC        `skip`: no sync is carried out, for speed where nothing is recorded
//   POWER_LOSS_IDENTITIES  a file: what inode and time of birth files have that were put back after a cut. Its first line is
//                          `generation G`, the others are `INODE BIRTH SHOWN-INODE SHOWN-BIRTH`. Others are shown as
//                          their inode plus G << 40, so that none is shown that a file of before the cut had

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

// What a record tells. The numbers stand in journals and in Tests/PowerLoss/JournalReader.swift.
enum power_loss_kind {
  POWER_LOSS_STARTED = 1,
  POWER_LOSS_CREATED = 2,
  POWER_LOSS_MADE_DIRECTORY = 3,
  POWER_LOSS_WROTE = 4,
  POWER_LOSS_ZEROED = 5,
  POWER_LOSS_TRUNCATED = 6,
  POWER_LOSS_ALLOCATED = 7,
  POWER_LOSS_RENAMED = 8,
  POWER_LOSS_UNLINKED = 9,
  POWER_LOSS_REMOVED_DIRECTORY = 10,
  POWER_LOSS_SYNC_BEGAN = 11,
  POWER_LOSS_SYNC_RETURNED = 12,
  POWER_LOSS_UNSUPPORTED = 13,
};

// A record's head, 48 bytes; paths (below the root, no zero behind them) and data follow it.
struct power_loss_record {
  uint32_t magic;
  uint32_t length;  // of the whole record
  uint32_t kind;
  uint32_t path_length;
  uint64_t inode;
  int64_t born;     // nanoseconds since 1970
  uint64_t number;  // an offset, a size or a sync's ticket
  uint32_t other_path_length;
  uint32_t reserved;
};

#define POWER_LOSS_MAGIC 0x534C5750u  // "PWLS"

struct power_loss_identity {
  uint64_t inode;
  int64_t born;
  bool is_regular;
  bool is_directory;
};

#define POWER_LOSS_PATH_MAX 4096

// journal.c

bool power_loss_records(void);
bool power_loss_skips_syncs(void);
bool power_loss_lies_about(const struct power_loss_identity *identity);
void power_loss_lock(void);
void power_loss_unlock(void);
// Appends a record; the lock is held. Keeps errno. Returns a number that no other record has, a sync's ticket.
uint64_t power_loss_record(enum power_loss_kind kind, const struct power_loss_identity *identity, uint64_t number,
                           const char *path, const char *other_path, const struct iovec *data, int data_count);
// A call that changes files in a way that the journal can't tell.
void power_loss_unsupported(const char *what);

// identity.c

bool power_loss_identify(int descriptor, const char *path, int flags, struct power_loss_identity *identity);
bool power_loss_translates(void);
// Replaces a file's inode and time of birth by those that are shown for it.
void power_loss_show(uint64_t *inode, int64_t *born);

// paths.c

// The path below the root; false when it isn't below it.
bool power_loss_below_root(int directory, const char *path, char *below);
bool power_loss_tracks(int descriptor);
void power_loss_track(int descriptor, bool is_tracked);

#endif
