# SPDX-License-Identifier: GPL-2.0-or-later
"""What an ordinary user may do to files of their own, as acts of a HostileUser.

Each act works in a directory of its own.  It may end at any call, when the time is over.
"""

import contextlib
import errno
import fcntl
import os
import socket
import stat
import struct

import ioctls
from content import BLOCK, KIB, MIB
from forger import forge
from hostile_tree import FORGE_USEC

# The largest size that both filesystems know.
SIZE_MAX = (1 << 63) - 1
# Where 32 bits of a number of blocks end.
FAR = BLOCK << 32
LINKS_MAX = 65000
CLONE_USEC = 20
NAME_BYTES_MAX = 255

FS_IOC_FSGETXATTR = 0x801C581F
FS_IOC_FSSETXATTR = 0x401C5820
FSXATTR_FORMAT = "=5L8x"
XFLAG_EXTSIZE = 0x800
XFLAG_COWEXTSIZE = 0x10000
FLAGS = {"btrfs": (ioctls.FS_NO_COW, 0x4, 0x400, 0x40), "xfs": (0x8, 0x40, 0x80)}
BTRFS_SUBVOL_CREATE = 0x5000940E
BTRFS_SNAP_CREATE_V2 = 0x50009417
SUBVOL_RDONLY = 2

OWN_NAMES = (b".dedupd", b".dedupd-XXXXXX", b"dedupd.sqlite", b"dedupd.conf", b"lost+found", b".git",
             b"--help", b"-rf", b"--once", b"*", b"?", b"[a", b"%s%n%d", b"$(reboot)", b"`id`", b"'\"\\",
             b"\n", b"\r", b"\t", b" ", b"\x1b[2J\x1b]0;title\x07", b"\x9b2J", b"\xff\xfe", b"\xc3",
             b"\xe2\x80\xae", b"<FS_TREE>", b"\x7f", b"CON", b"...", b"a" * NAME_BYTES_MAX)


def only(kind):
    def mark(act):
        act.kinds = (kind,)
        return act
    return mark


@contextlib.contextmanager
def opened(path):
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o644)
    try:
        yield fd
    finally:
        os.close(fd)


def clone(user, source_fd, source_block, blocks, target_fd, target_block):
    """Clone a range; a range that overlaps itself, or goes too far, is refused and does not matter."""
    user.spend(usec=CLONE_USEC)
    with contextlib.suppress(OSError):
        ioctls.clone_range(source_fd, source_block * BLOCK, blocks * BLOCK, target_fd,
                           target_block * BLOCK)


def write_duplicates(user):
    """Equal data: whole, shifted by a block, edited, and in one file twice."""
    directory = user.make_directory("duplicates")
    data = user.blocks(user.random.choice([1, 7, 33, 256, 600]))
    user.write_copies(directory, data, user.random.randrange(2, 6))
    user.write(directory / "shifted", user.blocks(1) + data)
    user.write(directory / "twice", data + user.noise(user.random.randrange(9000)) + data)
    edited = bytearray(data)
    edited[user.random.randrange(len(data))] ^= 1
    user.write(directory / "edited", bytes(edited))


def clone_few_blocks(user, clones=60000):
    """Very many references to very few blocks, which are equal to others."""
    directory = user.make_directory("references")
    count = user.random.choice([1, 2, 8, 32, 64])
    paths = user.write_copies(directory, user.blocks(count), user.random.randrange(2, 4))
    pattern = user.random.choice(["in turn", "shuffled", "shifted"])
    clones = user.random.randrange(100, clones + 1)
    with contextlib.ExitStack() as stack:
        fds = [stack.enter_context(opened(path)) for path in paths]
        for number in range(clones):
            block = {"in turn": number % count, "shuffled": user.random.randrange(count),
                     "shifted": (number // count + number) % count}[pattern]
            fd = fds[number * len(fds) // clones]
            clone(user, fd, block, 1, fd, count + number)


def clone_whole_files(user):
    """Files of which the sizes add up to much more than the filesystem holds."""
    directory = user.make_directory("clones")
    data = user.noise(user.random.choice([64 * KIB, MIB, 6 * MIB]))
    for path in user.write_copies(directory, data, user.random.randrange(1, 4)):
        with opened(path) as source:
            for number in range(user.random.choice([3, 40, 300])):
                with opened(f"{path}-{number}") as target:
                    # The file is made, then all of it cloned, over and over.
                    user.spend(3)
                    clone(user, source, 0, len(data) // BLOCK, target,
                           user.random.choice([0, 0, 1, 5, 1000]))


def clone_a_file_into_itself(user):
    """A file that doubles until it is long: each of its blocks comes again after every power of two."""
    directory = user.make_directory("doubled")
    blocks = user.random.choice([1, 3, 16, 500])
    for path in user.write_copies(directory, user.blocks(blocks), 2):
        length = blocks
        with opened(path) as fd:
            for doubling in range(user.random.randrange(2, 15)):
                user.spend(1 << doubling)
                clone(user, fd, 0, length, fd, length)
                length *= 2


def clone_at_random(user):
    """Parts of files over parts of others, clones of clones, with holes between."""
    directory = user.make_directory("mixed")
    paths = user.write_copies(directory, user.blocks(300), 4)
    with contextlib.ExitStack() as stack:
        fds = [stack.enter_context(opened(path)) for path in paths]
        for _ in range(user.random.choice([20, 500, 4000])):
            length = user.random.choice([1, 1, 2, 9, 20, 100])
            clone(user, user.random.choice(fds), user.random.randrange(300 - length), length,
                   user.random.choice(fds), user.random.randrange(2000))
            if user.random.random() < 0.05:
                os.pwrite(user.random.choice(fds), user.blocks(1), user.random.randrange(2000) * BLOCK)


def link_one_file(user, links=LINKS_MAX):
    """A file with very many names, which equals another."""
    directory = user.make_directory("links")
    path, _ = user.write_copies(directory, user.blocks(40), 2)
    for number in range(user.random.choice([10, 3000, links])):
        user.spend()
        try:
            os.link(path, directory / f"link-{number}")
        except OSError as error:
            if error.errno != errno.EMLINK:
                raise
            return


def make_deep_directories(user, depth=None):
    """Directories far beyond PATH_MAX, with equal files at the bottom, one of which has a name at the top, too."""
    top = user.make_directory("deep")
    data = user.blocks(40)
    user.write(top / "copy", data)
    depth = depth or user.random.choice([30, 1500, 30000])
    above = descend(user, top, user.random.choice(["d", "d" * NAME_BYTES_MAX]), depth)
    fd = os.open("bottom", os.O_RDWR | os.O_CREAT, 0o644, dir_fd=above)
    os.write(fd, data)
    os.link("bottom", top / "link", src_dir_fd=above)
    os.close(fd)
    os.close(above)


def descend(user, top, name, depth):
    """Make @depth directories, one in the other; the last of them, open."""
    above = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        user.spend(4)
        os.mkdir(name, dir_fd=above)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=above)
        os.close(above)
        above = below
    return above


def make_many_files(user):
    """Thousands of small files: empty, short, of one block, or equal."""
    directory = user.make_directory("many")
    size = user.random.choice([0, 1, 100, BLOCK - 1, BLOCK, 2 * BLOCK])
    data = user.noise(size)
    for number in range(user.random.choice([200, 3000, 20000])):
        user.write(directory / str(number), data)


def write_far_apart(user):
    """Equal data at offsets up to the last one, with holes between."""
    directory = user.make_directory("sparse")
    data = user.blocks(20)
    for number, offset in enumerate((0, FAR - 10 * BLOCK, FAR, 3 * FAR + 5 * BLOCK, (1 << 62),
                                     SIZE_MAX - len(data) - BLOCK)):
        path = user.write(directory / str(number), data, offset // BLOCK * BLOCK)
        if user.random.random() < 0.5:
            os.truncate(path, SIZE_MAX)
    user.write(directory / "hole", b"")
    os.truncate(directory / "hole", SIZE_MAX)


def write_holes_between_blocks(user):
    """Every second block is a hole."""
    directory = user.make_directory("holes")
    data = user.blocks(1)
    for number in range(2):
        with opened(directory / str(number)) as fd:
            for block in range(user.random.choice([50, 2000])):
                user.spend(1, BLOCK)
                os.pwrite(fd, data if user.random.random() < 0.5 else user.blocks(1), 2 * block * BLOCK)


def make_hostile_names(user):
    """Equal files of which no name is text, each an argument, a pattern or a command to somebody."""
    directory = os.fsencode(user.make_directory("names"))
    names = set(OWN_NAMES)
    for _ in range(40):
        length = user.random.choice([1, 3, NAME_BYTES_MAX])
        names.add(bytes(user.random.choice([byte for byte in range(1, 256) if byte != 0x2F])
                        for _ in range(length)))
    data = user.blocks(20)
    for name in sorted(names - {b".", b".."}):
        path = directory + b"/" + name
        if user.random.random() < 0.1:
            user.spend()
            os.mkdir(path)
            path += b"/" + name
        user.write(path, data)


def preallocate(user):
    """Space that was set aside and not written, or written in part, inside a file and behind its end."""
    directory = user.make_directory("preallocated")
    data = user.blocks(60)
    for path in user.write_copies(directory, data, 3):
        with opened(path) as fd:
            user.spend(5)
            os.posix_fallocate(fd, user.random.randrange(80) * BLOCK, user.random.choice([1, 100]) * BLOCK)
            if user.random.random() < 0.5:
                os.pwrite(fd, data, user.random.choice([0, 20, 60]) * BLOCK)
            os.ftruncate(fd, user.random.choice([len(data) - 100, len(data), 50]))


def write_zeros(user):
    """Zeros as data, alone and between others."""
    directory = user.make_directory("zeros")
    user.write_copies(directory, bytes(user.random.choice([1, 16, 500]) * BLOCK), 2)
    user.write(directory / "between", user.blocks(20) + bytes(40 * BLOCK) + user.blocks(20))


def make_special_files(user):
    """What is opened at a cost, or never: FIFOs, sockets, links in circles and into the kernel's files."""
    directory = user.make_directory("special")
    user.spend(20)
    os.mkfifo(directory / "fifo")
    # The name of a socket is short, whatever its directory is called.
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(directory)
        listener.bind("socket")
        os.chdir("/")
    os.mknod(directory / "whiteout", stat.S_IFCHR | 0o600, os.makedev(0, 0))
    for name, target in {"loop": "loop", "up": "..", "zero": "/dev/zero", "memory": "/proc/self/mem",
                         "long": "/" * 1000, "control": "\x1b[2J\n"}.items():
        os.symlink(target, directory / name)
    user.write_copies(directory, user.blocks(20), 2)


def set_attributes(user):
    """Flags, extent size hints, project numbers and attributes that owners may set."""
    directory = user.make_directory("attributes")
    data = user.blocks(64)
    for number in range(12):
        path = directory / str(number)
        with opened(path) as fd:
            user.spend(8)
            _set_flags(user, fd)
            user.write(path, data)
            os.setxattr(fd, "user.long", user.noise(user.random.choice([1, 1000, 3000])))
            if user.random.random() < 0.3:
                os.setxattr(fd, "user.dedupd", b"\x1b[2J\n")
    os.chmod(directory / "0", 0)
    os.chmod(directory / "1", 0o200)
    os.chmod(directory / "2", 0o6777)


def _set_flags(user, fd):
    flag = user.random.choice(FLAGS[user.kind])
    with contextlib.suppress(OSError):
        fcntl.ioctl(fd, ioctls.FS_IOC_SETFLAGS, struct.pack("=Q", flag))
    if user.kind == "xfs":
        set_hints(fd, extent_bytes=user.random.choice([0, 0, 64 * KIB]),
                  cow_bytes=user.random.choice([0, BLOCK, MIB, 256 * MIB]),
                  project=user.random.choice([0, 0, 77]))


def set_hints(fd, extent_bytes=0, cow_bytes=0, project=0):
    """As xfs_io's extsize, cowextsize and chproj, if allowed."""
    xflags = (XFLAG_EXTSIZE if extent_bytes else 0) | (XFLAG_COWEXTSIZE if cow_bytes else 0)
    with contextlib.suppress(OSError):
        fcntl.ioctl(fd, FS_IOC_FSSETXATTR,
                    struct.pack(FSXATTR_FORMAT, xflags, extent_bytes, 0, project, cow_bytes))


def get_hints(fd):
    """(flags, extent size hint, project, CoW extent size hint) of an open file."""
    packed = fcntl.ioctl(fd, FS_IOC_FSGETXATTR, bytes(struct.calcsize(FSXATTR_FORMAT)))
    xflags, extent_bytes, _, project, cow_bytes = struct.unpack(FSXATTR_FORMAT, packed)
    return xflags, extent_bytes, project, cow_bytes


def close_directories(user):
    """Directories that nobody may look into, below each other."""
    directory = user.make_directory("closed")
    below = directory
    for mode in (0o711, 0o300, 0):
        below = below / "below"
        user.spend(2)
        below.mkdir()
        user.write_copies(below, user.blocks(20), 2)
    for path in (directory / "below/below/below", directory / "below/below", directory / "below"):
        user.spend()
        path.chmod({"below/below/below": 0, "below/below": 0o300}.get(str(path.relative_to(directory)), 0o711))


@only("btrfs")
def forge_checksums(user):
    """Blocks that differ and have the same CRC-32C, in runs that cross."""
    directory = user.make_directory("forged")
    blocks = user.random.choice([20, 100])
    user.spend(usec=blocks * FORGE_USEC)
    data = user.blocks(blocks)
    forged = forge(data, user.random.randrange(1 << 30))
    user.write_copies(directory, data, 2)
    user.write(directory / "forged", forged)
    middle = blocks // 2 * BLOCK
    user.write(directory / "crossed", data[:middle] + forged[middle:])
    user.write(directory / "crossed-too", forged[:middle] + data[middle:])


@only("btrfs")
def make_snapshots(user):
    """A subvolume with equal files, and snapshots of it, of which some are read-only and some changed."""
    directory = user.make_directory("subvolumes")
    subvolume = make_subvolume(user, directory / "subvolume")
    data = user.blocks(64)
    paths = user.write_copies(subvolume, data, 2)
    count = user.random.choice([1, 5, 40])
    for number in range(count):
        # A snapshot is a commit.
        user.spend(usec=10000)
        is_read_only = user.random.random() < 0.5
        taken = snapshot(subvolume, directory / f"snapshot-{number}", is_read_only)
        if not is_read_only and user.random.random() < 0.5:
            user.write(taken / paths[0].name, user.blocks(1), 5 * BLOCK)
        user.write(paths[1], user.blocks(1), user.random.randrange(64) * BLOCK)


def make_subvolume(user, path):
    user.spend(usec=2000)
    _in_parent(path, BTRFS_SUBVOL_CREATE, struct.pack("=q4088s", 0, os.fsencode(path.name)))
    return path


def snapshot(subvolume, path, is_read_only):
    fd = os.open(subvolume, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _in_parent(path, BTRFS_SNAP_CREATE_V2,
                   struct.pack("=qQQ32x4040s", fd, 0, SUBVOL_RDONLY if is_read_only else 0,
                               os.fsencode(path.name)))
    finally:
        os.close(fd)
    return path


def _in_parent(path, request, arguments):
    fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # A buffer that the call may write to can be as long as it likes.
        fcntl.ioctl(fd, request, bytearray(arguments))
    finally:
        os.close(fd)


def copy_what_can_be_read(user):
    """Clones and copies, whole and in part, of a file of root's that everybody may read."""
    source_path = user.directory.parent / "readable" / "data"
    if not source_path.exists():
        return
    directory = user.make_directory("of-root")
    data = source_path.read_bytes()
    user.write(directory / "copy", data)
    user.write(directory / "part", data[5 * BLOCK:70 * BLOCK])
    with open(source_path, "rb") as source, opened(directory / "clones") as target:
        for number in range(user.random.choice([5, 500, 5000])):
            length = user.random.choice([1, 30])
            clone(user, source.fileno(), user.random.randrange(60), length, target, number * 40)


# Act -> how often it is chosen.
ACTS = {
    write_duplicates: 6, clone_few_blocks: 3, clone_whole_files: 4, clone_a_file_into_itself: 3,
    clone_at_random: 4, link_one_file: 2, make_deep_directories: 2, make_many_files: 1,
    write_far_apart: 2, write_holes_between_blocks: 2, make_hostile_names: 2, preallocate: 3,
    write_zeros: 2, make_special_files: 2, set_attributes: 3, close_directories: 1,
    forge_checksums: 2, make_snapshots: 3, copy_what_can_be_read: 3,
}
