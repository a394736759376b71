/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/extent-refs.h"

#include <stdatomic.h>

/*
 * ProvisionedFiles - which files of a btrfs look as if their space was set aside on purpose, by their
 * extents and all of their names; see zeros_look_provisioned().
 *
 * The last ones asked for are remembered as they were then.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ProvisionedFiles ProvisionedFiles;

/* @fd is any directory of the filesystem; both are borrowed. */
ProvisionedFiles *provisioned_files_new(int fd, const atomic_bool *stop);
void provisioned_files_free(ProvisionedFiles *files);

/* Whether the file of @place does; so does one of which it cannot be found out any more. */
bool provisioned_files_has(ProvisionedFiles *files, const ExtentRef *place, bool *ret,
			   GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProvisionedFiles, provisioned_files_free)
