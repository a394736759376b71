/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/store-error.h"

G_DEFINE_QUARK(dedupd_hash_store_error, hash_store_error)
