/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/relay-file.h"

#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/call/system-call.h"

#include <linux/fs.h>
#include <unistd.h>

struct RelayFile {
	Fd fd;
	uint32_t block_bytes;
};

RelayFile *relay_file_new_take(int fd, uint32_t block_bytes)
{
	RelayFile *relay = g_new0(RelayFile, 1);

	relay->fd = fd;
	relay->block_bytes = block_bytes;
	return relay;
}

void relay_file_free(RelayFile *relay)
{
	if (!relay)
		return;

	fd_close(&relay->fd);
	g_free(relay);
}

int relay_file_fd(const RelayFile *relay)
{
	return relay->fd;
}

uint64_t relay_file_offset(const RelayFile *relay)
{
	return relay->block_bytes;
}

int relay_file_clone(RelayFile *relay, int source_fd, uint64_t length)
{
	struct file_clone_range range = {
		.src_fd = source_fd,
		.src_length = length,
		.dest_offset = relay->block_bytes,
	};

	return system_call_ioctl(relay->fd, FICLONERANGE, &range) < 0 ? errno : 0;
}

void relay_file_empty(RelayFile *relay)
{
	/* A clone that cannot be dropped now goes with the file. */
	while (ftruncate(relay->fd, 0) != 0 && errno == EINTR)
		;
}
