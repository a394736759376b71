# SPDX-License-Identifier: GPL-2.0-or-later
# pkgs.callPackage ./package.nix { }
{
  lib,
  stdenv,
  glib,
  jansson,
  liburcu,
  meson,
  ninja,
  pkg-config,
  python3,
  scdoc,
  sqlite,
  systemd,
  util-linux,
  xxHash,
  zstd,
}:

stdenv.mkDerivation {
  pname = "dedupd";
  version = "0.2.0";
  src = lib.cleanSource ../..;

  nativeBuildInputs = [
    meson
    ninja
    pkg-config
    python3
    scdoc
  ];
  buildInputs = [
    glib
    jansson
    liburcu
    sqlite
    systemd
    util-linux
    xxHash
    zstd
  ];

  postPatch = "patchShebangs completion docs tests";
  mesonFlags = [
    "--sysconfdir=/etc"
    "--localstatedir=/var"
    "-Dsystem_unit_dir=${placeholder "out"}/lib/systemd/system"
  ];
  # /etc and /var belong to the system.
  preInstall = ''
    export DESTDIR=$NIX_BUILD_TOP/root
  '';
  postInstall = ''
    mkdir -p $out
    cp -r $DESTDIR$out/. $out/
    unset DESTDIR
  '';
  doCheck = true;
  # The other suites need root and mounted filesystems.
  checkPhase = ''
    meson test --suite unit --suite store --timeout-multiplier 5
  '';

  meta = {
    description = "Deduplicate mounted btrfs and XFS filesystems";
    license = lib.licenses.gpl2Plus;
    platforms = lib.platforms.linux;
    mainProgram = "dedupctl";
  };
}
