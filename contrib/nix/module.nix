# SPDX-License-Identifier: GPL-2.0-or-later
#
# imports = [ ./contrib/nix/module.nix ];
# services.dedupd = { enable = true; filesystems."/srv" = { WakeInterval = "6h"; }; };
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.services.dedupd;
  keys = import ./options.nix { inherit lib; };
  ini = pkgs.formats.ini { listsAsDuplicateKeys = true; };
  set = lib.filterAttrs (_: value: value != null);
  sections =
    name: lib.mapAttrs' (key: value: lib.nameValuePair "${name} ${key}" (set value));
  written = ini.generate "dedupd.conf" (
    { Dedupd = set cfg.settings; }
    // sections "Disk" cfg.disks
    // sections "Filesystem" cfg.filesystems
  );
  # dedupd itself checks the file, when the system is built.
  checked = pkgs.runCommand "dedupd.conf" { } ''
    ${cfg.package}/bin/dedupctl config --check ${written}
    cp ${written} $out
  '';
in
{
  options.services.dedupd = {
    enable = lib.mkEnableOption "dedupd, which deduplicates the filesystems named below";
    timer = lib.mkEnableOption "a pass every night in place of the service";
    package = lib.mkOption {
      type = lib.types.package;
      default = pkgs.callPackage ./package.nix { };
      description = "The package of dedupd.";
    };
    settings = lib.mkOption {
      type = lib.types.submodule { options = keys.dedupd; };
      default = { };
      description = "Keys of [Dedupd] in dedupd.conf(5), the defaults of all filesystems and disks.";
    };
    filesystems = lib.mkOption {
      type = lib.types.attrsOf (lib.types.submodule { options = keys.filesystem; });
      default = { };
      description = "Filesystems to work on, by UUID or mount point, with their keys.";
    };
    disks = lib.mkOption {
      type = lib.types.attrsOf (lib.types.submodule { options = keys.disk; });
      default = { };
      description = "Limits of disks, by name.";
    };
  };

  config = lib.mkIf cfg.enable {
    environment.systemPackages = [ cfg.package ];
    environment.etc."dedupd/dedupd.conf".source = checked;
    systemd.packages = [ cfg.package ];
    services.dbus.packages = [ cfg.package ];
    systemd.services.dedupd = lib.mkIf (!cfg.timer) {
      wantedBy = [ "multi-user.target" ];
      reloadTriggers = [ checked ];
    };
    systemd.timers.dedupd = lib.mkIf cfg.timer { wantedBy = [ "timers.target" ]; };
  };
}
