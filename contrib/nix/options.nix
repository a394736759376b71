# SPDX-License-Identifier: GPL-2.0-or-later
# Made by make-options from common/config/config-key.c.  Null leaves a key out of dedupd.conf.
{ lib }:
let
  inherit (lib) types;
  everywhere = {
    Mode = lib.mkOption {
      type = types.nullOr (types.enum [ "timer" "resident" ]);
      default = null;
      description = "Whether the service begins passes when something changed, or leaves that to a timer.  The default is resident.";
    };
    StoreLimit = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Largest size of a filesystem's store; auto is 64M and 1/32 of the filesystem.  Takes auto or a size.  The default is auto.";
    };
    FleetKey = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "File with the key that root's stores share with those of other machines.  Takes none or an absolute path.  The default is none.";
    };
    Exclude = lib.mkOption {
      type = types.nullOr (types.listOf types.str);
      default = null;
      description = "Files to skip: one pattern per line; the last one that matches decides.  Takes a pattern as in gitignore.  The default is empty.";
    };
    Include = lib.mkOption {
      type = types.nullOr (types.listOf types.str);
      default = null;
      description = "Files not to skip, although a pattern above matches them.  Takes a pattern as in gitignore.  The default is empty.";
    };
    MinSize = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Smallest size of files; auto is 2K on btrfs and 1 on XFS where files are read.  Takes auto or a size.  The default is auto.";
    };
    MinRun = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Space that each additional piece of a file must free on btrfs.  Takes a size.  The default is 64K.";
    };
    MaxCompare = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Bytes compared per byte freed; auto is 16, or 4 on rotating disks.  Takes auto or a number from 1 to 1000000.  The default is auto.";
    };
    Threads = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Threads that read and deduplicate at a time; auto is 1 on rotating disks.  Takes auto or a number from 1 to 64.  The default is auto.";
    };
    MinAge = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Passes defer files that were written within this time.  Takes none or a duration.  The default is none.";
    };
    Changing = lib.mkOption {
      type = types.nullOr (types.enum [ "wait" "read" ]);
      default = null;
      description = "Whether to read ever-changing files less and less often.  The default is wait.";
    };
    AcrossOwners = lib.mkOption {
      type = types.nullOr (types.enum [ "yes" "no" ]);
      default = null;
      description = "Whether to share data between files of different owners.  The default is yes.";
    };
    Zeros = lib.mkOption {
      type = types.nullOr (types.enum [ "auto" "hole" "keep" "share" ]);
      default = null;
      description = "What to do with zero blocks.  The default is auto.";
    };
    Find = lib.mkOption {
      type = types.nullOr (types.enum [ "auto" "checksums" "read" ]);
      default = null;
      description = "How to find equal data on btrfs.  The default is auto.";
    };
    Read = lib.mkOption {
      type = types.nullOr (types.enum [ "all" "same-size" ]);
      default = null;
      description = "Which files to read to find equal data.  The default is all.";
    };
    ReadOnlySnapshots = lib.mkOption {
      type = types.nullOr (types.enum [ "auto" "share" "writable" "source" "skip" ]);
      default = null;
      description = "What to do with read-only snapshots on btrfs.  The default is auto.";
    };
    NoDataCow = lib.mkOption {
      type = types.nullOr (types.enum [ "skip" "share" ]);
      default = null;
      description = "What to do with nodatacow files on btrfs.  The default is skip.";
    };
    Compressed = lib.mkOption {
      type = types.nullOr (types.enum [ "sums" "read" ]);
      default = null;
      description = "How to find equal compressed data by checksums.  The default is sums.";
    };
    Rewrite = lib.mkOption {
      type = types.nullOr (types.enum [ "auto" "more" "never" ]);
      default = null;
      description = "Which remainders of extents to copy so that btrfs frees these.  The default is auto.";
    };
    LimitRate = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Data that a pass may read and write per second, on each disk.  Takes none or a size.  The default is none.";
    };
    Window = lib.mkOption {
      type = types.nullOr (types.listOf types.str);
      default = null;
      description = "When passes may run: one window per line; at all times if there is none.  Takes a time of the day, as 22:00-06:00, with weekdays, as Mon-Fri.";
    };
    RunFor = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Longest time of a pass; the next one goes on.  Takes none or a duration.  The default is none.";
    };
    WakeBytes = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "New data after which the service begins a pass at once.  Takes a size.  The default is 64M.";
    };
    WakeInterval = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Time after which the service begins a pass for any change.  Takes a duration.  The default is 1h.";
    };
    Sleeping = lib.mkOption {
      type = types.nullOr (types.enum [ "respect" "wake" ]);
      default = null;
      description = "Whether the service wakes a disk that was idle for long, outside of windows.  The default is respect.";
    };
    OnBattery = lib.mkOption {
      type = types.nullOr (types.enum [ "pause" "run" ]);
      default = null;
      description = "How the service acts while the machine runs on battery.  The default is pause.";
    };
    Degraded = lib.mkOption {
      type = types.nullOr (types.enum [ "pause" "run" ]);
      default = null;
      description = "How the service acts while a filesystem or its disks are degraded.  The default is pause.";
    };
    AnchorBlocks = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Blocks in an anchor; auto is the value of the store, at first 4 on btrfs and 2 on XFS.  Takes auto or a number from 1 to 16.  The default is auto.";
    };
    AnchorWindow = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Positions per anchor; auto is the value of the store, at first 16 on btrfs and 8 on XFS.  Takes auto or a number from 2 to 64.  The default is auto.";
    };
  };
  ofDisks = {
    ReadRate = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Data that may be read of a disk per second, by all filesystems on it.  Takes none or a size.  The default is none.";
    };
    ReadIOPS = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Requests that may be made to a disk per second, by all filesystems on it.  Takes none or a number from 1 to 10000000.  The default is none.";
    };
    Pressure = lib.mkOption {
      type = types.nullOr (types.enum [ "auto" "on" "off" ]);
      default = null;
      description = "Whether to back off when others wait for a disk; auto: the service does.  The default is auto.";
    };
    Rotating = lib.mkOption {
      type = types.nullOr (types.enum [ "auto" "yes" "no" ]);
      default = null;
      description = "Whether a disk rotates; auto is what the kernel says.  The default is auto.";
    };
  };
  ofDedupd = {
    StateDirectory = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Directory of root's hash stores; auto is the directory of the package.  Takes auto or an absolute path.  The default is auto.";
    };
    MetricsFile = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "File to which root's passes and the service write metrics for Prometheus.  Takes none or an absolute path.  The default is none.";
    };
    Memory = lib.mkOption {
      type = types.nullOr types.str;
      default = null;
      description = "Memory for sorting, in each pass.  Takes a size of at least 4M.  The default is 64M.";
    };
  };
  ofFilesystems = {
    Enable = lib.mkOption {
      type = types.nullOr (types.enum [ "yes" "no" ]);
      default = null;
      description = "Whether to deduplicate the filesystem when no path is given.  The default is yes.";
    };
  };
in
{
  dedupd = everywhere // ofDisks // ofDedupd;
  disk = ofDisks;
  filesystem = everywhere // ofFilesystems;
}
