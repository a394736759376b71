/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/fake-btrfs.h"

#include "tests/unit/failing-call.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static FakeBtrfs kernel;

FakeBtrfs *fake_btrfs(void)
{
	return &kernel;
}

static bool is_in_range(const FakeItem *item, const struct btrfs_ioctl_search_key *range)
{
	BtrfsKey first = { range->min_objectid, (uint8_t)range->min_type, range->min_offset };
	BtrfsKey last = { range->max_objectid, (uint8_t)range->max_type, range->max_offset };

	if (item->tree != range->tree_id || item->transid < range->min_transid)
		return false;
	return (kernel.repeats_itself || btrfs_key_compare(&item->key, &first) >= 0) &&
	       btrfs_key_compare(&item->key, &last) <= 0;
}

static size_t put_item(const FakeItem *item, uint8_t *at)
{
	struct btrfs_ioctl_search_header header = {
		.transid = item->transid,
		.objectid = item->key.objectid,
		.offset = item->key.offset,
		.type = item->key.type,
		.len = item->length + kernel.extra_bytes,
	};

	memcpy(at, &header, sizeof(header));
	if (item->length)
		memcpy(at + sizeof(header), item->data, item->length);
	return sizeof(header) + item->length;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

static int fake_tree_search(struct btrfs_ioctl_search_args_v2 *arguments)
{
	size_t n_bytes = 0;
	uint32_t n_found = 0;

	kernel.asked_items = arguments->key.nr_items;
	kernel.asked_offset = arguments->key.max_offset;
	kernel.largest_buffer_bytes = MAX(kernel.largest_buffer_bytes, arguments->buf_size);
	for (size_t i = 0; i < kernel.n_items; i++) {
		const FakeItem *item = &kernel.items[i];
		size_t needed = sizeof(struct btrfs_ioctl_search_header) + item->length;

		if (!is_in_range(item, &arguments->key))
			continue;
		if (n_found == 0 && needed > arguments->buf_size) {
			arguments->buf_size = needed;
			return fail(EOVERFLOW);
		}
		if (needed > arguments->buf_size - n_bytes || n_found == arguments->key.nr_items)
			break;
		n_bytes += put_item(item, (uint8_t *)arguments->buf + n_bytes);
		n_found++;
	}

	arguments->key.nr_items = n_found + kernel.extra_items;
	return 0;
}

static int fake_logical_ino(struct btrfs_ioctl_logical_ino_args *arguments)
{
	struct btrfs_data_container *container =
		(struct btrfs_data_container *)(uintptr_t)arguments->inodes;
	uint32_t left = (uint32_t)(arguments->size - sizeof(*container));

	g_assert_cmpuint(arguments->flags, ==, BTRFS_LOGICAL_INO_ARGS_IGNORE_OFFSET);
	g_assert_cmpuint(arguments->size, <=, 16 << 20);
	kernel.largest_buffer_bytes = MAX(kernel.largest_buffer_bytes, arguments->size);

	*container = (struct btrfs_data_container){ 0 };
	for (size_t i = 0; i < kernel.n_refs; i++) {
		if (left >= sizeof(BtrfsRef)) {
			memcpy(container->val + container->elem_cnt, &kernel.refs[i],
			       sizeof(BtrfsRef));
			container->elem_cnt += 3;
			left -= sizeof(BtrfsRef);
		} else {
			container->bytes_missing += (uint32_t)sizeof(BtrfsRef) - left;
			container->elem_missed += 3;
			left = 0;
		}
	}
	container->bytes_left = left;
	return 0;
}

static int fake_fs_info(struct btrfs_ioctl_fs_info_args *arguments)
{
	uint64_t wanted = arguments->flags;

	*arguments = kernel.info;
	arguments->flags &= wanted;
	arguments->num_devices = kernel.n_devices;
	arguments->max_id = kernel.n_devices > 0 ? kernel.devices[kernel.n_devices - 1] : 0;
	return 0;
}

static int fake_scrub_progress(const struct btrfs_ioctl_scrub_args *arguments)
{
	if (kernel.scrub_error)
		return fail(kernel.scrub_error);
	for (size_t i = 0; i < kernel.n_devices; i++)
		if (kernel.devices[i] == arguments->devid)
			return arguments->devid == kernel.scrubbed ? 0 : fail(ENOTCONN);
	return fail(ENODEV);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);

	if (kernel.passes_others_on && fd != FAKE_BTRFS_FD)
		return (int)syscall(SYS_ioctl, fd, request, argument);
	kernel.n_calls++;
	g_assert_cmpint(fd, ==, FAKE_BTRFS_FD);
	g_assert_cmpuint(kernel.n_calls, <, 100000);
	if (kernel.error)
		return fail(kernel.error);
	if (failing_call_is_now())
		return fail(EIO);

	switch (request) {
	case BTRFS_IOC_TREE_SEARCH_V2:
		return fake_tree_search(argument);
	case BTRFS_IOC_LOGICAL_INO_V2:
		return fake_logical_ino(argument);
	case BTRFS_IOC_FS_INFO:
		return fake_fs_info(argument);
	case BTRFS_IOC_SCRUB_PROGRESS:
		return fake_scrub_progress(argument);
	default:
		return fail(ENOTTY);
	}
}
