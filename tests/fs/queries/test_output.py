# SPDX-License-Identifier: GPL-2.0-or-later
"""What verbs of dedupctl print of one small tree, word by word and column by column."""

import os
import re

import pytest

import content
import harness
from content import KIB, MIB, noise, write_extent

HOSTILE = "two words\n\x1b[2J\udcff"
FILES = ("one", HOSTILE, "alone", "hole", "deep/-x")


@pytest.fixture(name="shown")
def shown_fixture(filesystem, tree, dedupd, kind):
    """What a verb prints in the tree, which is /T in it; blanks at the ends of lines do not count."""
    for name in ("one", HOSTILE):
        write_extent(tree / name, noise(1, MIB))
    write_extent(tree / "alone", noise(2, 512 * KIB))
    content.write_sparse(tree / "hole", MIB, {})
    (tree / "deep").mkdir()
    for name in ("-x", "zéro"):
        write_extent(tree / "deep" / name, noise(3, 256 * KIB))
    content.clone(tree / "deep" / "-x", tree / "deep" / "clone.txt")
    harness.settle(filesystem)
    assert dedupd.run(find=harness.FIND[kind], dry_run=True).status == 0

    def shown(*words, status=0, locale="C.UTF-8", said=""):
        done = harness.dedupctl(*words, dedupd=dedupd, status=status, cwd=tree,
                                env={**os.environ, "LC_ALL": locale})
        assert done.stderr == said
        text = done.stdout.replace(str(tree), "/T")
        return "".join(line.rstrip() + "\n" for line in text.splitlines())
    return shown


# In the order of addresses, or of numbers of inodes.
DUPLICATES = {
    "btrfs": """\
RECLAIM    SIZE FILES DATA   FILE
  1 MiB   1 MiB     2 first  /T/one
                      own    /T/two words\\n\\e[2J\\xff
256 KiB 256 KiB     3 first  /T/deep/-x
                      own    /T/deep/zéro
                      shared /T/deep/clone.txt
""",
    "xfs": """\
RECLAIM    SIZE FILES DATA   FILE
  1 MiB   1 MiB     2 first  /T/one
                      own    /T/two words\\n\\e[2J\\xff
256 KiB 256 KiB     3 first  /T/deep/-x
                      shared /T/deep/clone.txt
                      own    /T/deep/zéro
""",
}


def test_duplicates(shown, kind):
    assert shown("duplicates") == DUPLICATES[kind]


def test_duplicates_in_a_plain_locale(shown, kind):
    assert shown("duplicates", locale="C") == DUPLICATES[kind].replace("é", r"\xc3\xa9")


def test_duplicates_as_csv(shown):
    lines = shown("duplicates", "--format=csv").splitlines()
    assert lines[0] == "group,reclaimable_bytes,size_bytes,state,file"
    assert lines[1:4] == [
        '1,1048576,1048576,first,"/T/one"',
        '1,1048576,1048576,own,"/T/two words\\n\\e[2J\\xff"',
        '2,262144,262144,first,"/T/deep/-x"',
    ]
    assert sorted(lines[4:]) == ['2,262144,262144,own,"/T/deep/zéro"',
                                 '2,262144,262144,shared,"/T/deep/clone.txt"']


NOT_NOTED = ("As of a pass that is not in the history; newer files are not counted ('dedupctl estimate' looks at the "
             "files).\n\n")


def test_waste(shown):
    assert shown("waste") == NOT_NOTED + """\
RECLAIM    %  SHARED FILES DIRECTORY
  1 MiB 80.0     0 B     1 /T
256 KiB 20.0 256 KiB     1 /T/deep

In all: 1.25 MiB of 2 files could be freed, 256 KiB are shared.
"""
    assert shown("waste", "--by=type", "deep") == NOT_NOTED + """\
RECLAIM     %  SHARED FILES TYPE
256 KiB 100.0     0 B     1 (none)
    0 B   0.0 256 KiB     0 .txt

In all: 256 KiB of 1 file could be freed, 256 KiB are shared.
"""


def test_file(shown, kind):
    state = "unknown" if kind == "btrfs" else "known"
    assert shown("file", *FILES) == f"""\
   SIZE    DATA EXTENTS  SHARED   EQUAL WOULD FREE PINNED {"STORE":{len(state)}} FILE
  1 MiB   1 MiB       1     0 B   1 MiB      1 MiB    0 B {"known":{len(state)}} one
  1 MiB   1 MiB       1     0 B   1 MiB      1 MiB    0 B {"known":{len(state)}} two words\\n\\e[2J\\xff
512 KiB 512 KiB       1     0 B     0 B        0 B    0 B {"known":{len(state)}} alone
  1 MiB     0 B       0     0 B     0 B        0 B    0 B {state} hole
256 KiB 256 KiB       1 256 KiB 256 KiB    256 KiB    0 B {"known":{len(state)}} deep/-x
"""


EXTENTS = {
    "btrfs": """
Extents:
AT ON DISK LENGTH FLAGS PLACES EQUALS STORE PINNED BY
 0 # 256 KiB 2 1 known
""",
    "xfs": """
Extents:
AT ON DISK LENGTH FLAGS PLACES EQUALS STORE PINNED BY
 0 # 256 KiB shared known
""",
}


def test_a_single_file(shown, kind):
    text = shown("file", "deep/-x")
    assert text.startswith("""\
   SIZE    DATA EXTENTS  SHARED   EQUAL WOULD FREE PINNED STORE FILE
256 KiB 256 KiB       1 256 KiB 256 KiB    256 KiB    0 B known deep/-x
""")
    assert text.endswith("""
Other files:
IS       BYTES FILE
shared 256 KiB /T/deep/clone.txt
equal  256 KiB /T/deep/zéro
""")
    # How wide an address is, is not for us to say.
    assert EXTENTS[kind] in re.sub(r"\b\d{5,}\b", "#", re.sub(" +", " ", text))


def test_unique(shown):
    assert shown("unique", ".") == """\
   DATA ELSEWHERE STORE FILE
512 KiB       0 B known ./alone
"""
    assert shown("unique", "deep",
                 said="dedupctl: unique: all data of these files is in other files, too\n") == ""


def test_shared(shown):
    assert shown("shared", "deep/-x", "deep/clone.txt") == """\
SHARED   BYTES IN PLACE OF FIRST OF SECOND WHY
all    256 KiB  256 KiB  256 KiB   256 KiB
"""
    assert shown("shared", "one", "hole", status=11) == """\
SHARED BYTES IN PLACE OF FIRST OF SECOND WHY
none     0 B      0 B    1 MiB       0 B one of them has no data
"""


WHY = {
    "btrfs": """\
REASON      BYTES FILE                 AS
equal       1 MiB one                  it equals data of /T/tw
equal       1 MiB two words\\n\\e[2J\\xff it equals data of /T/on
unsettled 512 KiB alone                no pass has matched it
empty         0 B hole                 it has no data: it is e
shared    256 KiB deep/-x              it shares this with /T/
""",
    "xfs": """\
REASON      BYTES FILE                 AS
equal       1 MiB one                  it equals data of /T/tw
equal       1 MiB two words\\n\\e[2J\\xff it equals data of /T/on
unsettled 512 KiB alone                no file that the store
empty         0 B hole                 it has no data: it is e
shared    256 KiB deep/-x              it shares this with /T/
""",
}


def test_why(shown, kind):
    text = shown("why", *FILES)
    width = text.index("AS\n") + 23
    assert "".join(line[:width].rstrip() + "\n" for line in text.splitlines()) == WHY[kind]


def test_estimate(shown, kind):
    by = "checksums" if kind == "btrfs" else "read"
    columns = "by,sample,files,data_bytes,shared_bytes,pass_bytes,identical_bytes,zeros_bytes"
    assert shown("estimate", "--config=none", "-o", columns, ".") == f"""\
{"BY":{len(by)}} SAMPLE FILES  DATA  SHARED  TO FREE IDENTICAL ZEROS
{by} all        7 3 MiB 256 KiB 1.25 MiB  1.25 MiB   0 B
"""
    assert """

.
FIXED BLOCKS    FREES    LEAST     MOST
       4 KiB 1.25 MiB 1.25 MiB 1.25 MiB
      16 KiB 1.25 MiB 1.25 MiB 1.25 MiB
      64 KiB 1.25 MiB 1.25 MiB 1.25 MiB
     128 KiB 1.25 MiB 1.25 MiB 1.25 MiB
       1 MiB 1.25 MiB 1.25 MiB 1.25 MiB

""" in shown("estimate", "--config=none", ".")
