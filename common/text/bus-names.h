/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* The names of the D-Bus interface; docs/org.dedupd1.xml describes it. */
#define BUS_NAME   "org.dedupd1"
#define BUS_PATH   "/org/dedupd1"
#define BUS_SOCKET "/run/dedupd/private"

/* The environment variable with another socket, for tests and containers. */
#define BUS_SOCKET_VARIABLE "DEDUPD_SOCKET"

#define BUS_FILESYSTEM_PREFIX    BUS_PATH "/filesystem"
#define BUS_MANAGER_INTERFACE    "org.dedupd1.Manager"
#define BUS_FILESYSTEM_INTERFACE "org.dedupd1.Filesystem"

#define BUS_ERROR_UNSUITABLE   "org.dedupd1.Error.Unsuitable"
#define BUS_ERROR_UNKNOWN      "org.dedupd1.Error.UnknownFilesystem"
#define BUS_ERROR_IN_USE       "org.dedupd1.Error.InUse"
#define BUS_ERROR_UNKNOWN_DISK "org.dedupd1.Error.UnknownDisk"
#define BUS_ERROR_CONFIG       "org.dedupd1.Error.Configuration"
