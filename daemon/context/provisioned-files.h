/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/extent-refs.h"
#include "daemon/context/pass.h"

/*
 * ProvisionedFiles - which files of a btrfs filesystem look as if their space was set aside on purpose.  Their
 * extents and all of their names decide; see zeros_look_provisioned().
 *
 * It remembers the results for the latest files.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ProvisionedFiles ProvisionedFiles;

/* @pass is borrowed. */
ProvisionedFiles *provisioned_files_new(const Pass *pass);
void provisioned_files_free(ProvisionedFiles *files);

/*
 * Whether the file of @place looks provisioned; true also if this cannot be found out any more, or if the pass is to
 * stop.
 */
bool provisioned_files_has(ProvisionedFiles *files, const ExtentRef *place, bool *ret,
			   GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProvisionedFiles, provisioned_files_free)
