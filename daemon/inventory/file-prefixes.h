/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/stamp.h"
#include "daemon/context/pass.h"
#include "kernel-ioctl/file/file-attributes.h"
#include "kernel-ioctl/file/open-file.h"

/*
 * FilePrefixes - reads the beginnings of many files with several threads, because most of the time goes into
 * waiting for the disk, or asking the kernel.
 *
 * The head of a file of up to 16 KiB is all of it.  Of others it is the first 4 KiB, or the first block if that is
 * larger.  Blocks that files share are read once.  Pages that were not cached before are dropped, or noted in the
 * PageCacheBudget of the pass.
 *
 * Thread: the filesystem's worker; the readers are its own.
 */
typedef struct FilePrefixes FilePrefixes;

typedef enum {
	HEAD_READ,
	HEAD_NOT_OPENED, /* opened says why */
	HEAD_FORBIDDEN,  /* for a reason that holds as long as the file's stamp */
	HEAD_CHANGED,    /* meanwhile */
	HEAD_STOPPED,
} HeadOutcome;

typedef struct {
	/* The request. */
	FileId id;       /* without a generation it has to be open */
	int fd;          /* taken over; -1: to be opened by its id */
	uint32_t object; /* for the PageCacheBudget */
	bool is_plain;   /* with this stamp, no flag of the inode concerned its data */
	/* The result, and the stamp, which is part of the request, too. */
	bool is_by_id; /* it was opened by its id */
	OpenOutcome opened;
	HeadOutcome outcome;
	SkipReason reason; /* when HEAD_FORBIDDEN */
	Stamp stamp;       /* that it had before and after it was read */
	FileAttributes attributes;
	bool is_shared;      /* most of its blocks are */
	uint64_t physical;   /* where it begins on the disk; 0: not known */
	uint64_t digest;     /* of the head; of the whole object if the head is all of it */
	uint64_t read_bytes; /* of data */
} FileHead;

/* Whether the head of a file of @size_bytes is all of it. */
bool file_head_is_whole(uint64_t size_bytes, uint32_t block_bytes);

/* Its length in bytes. */
uint64_t file_head_bytes(uint64_t size_bytes, uint32_t block_bytes);

FilePrefixes *file_prefixes_new(Pass *pass, GError **error);

/* Waits for running reads.  Adds the bytes that the readers made disks read to the result of the pass. */
void file_prefixes_free(FilePrefixes *heads);

/* Begin to read @n_files heads, which are the readers' until file_prefixes_wait() returns. */
void file_prefixes_start(FilePrefixes *heads, FileHead *files, size_t n_files);

/* Wait until all heads of the last start are done; at once if there are none. */
void file_prefixes_wait(FilePrefixes *heads);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FilePrefixes, file_prefixes_free)
