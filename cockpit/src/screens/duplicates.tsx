// SPDX-License-Identifier: GPL-2.0-or-later
// The places where equal files take space that deduplication would free: as a treemap, as a tree, and as groups of files.

import { Alert, Breadcrumb, BreadcrumbItem, Button, Title } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { useMemo, useState } from "react";
import type { ScreenProps } from "../app";
import { type Group, unescaped, useDedupctl, type WasteKey } from "../dedupctl";
import { Answer, Chooser, Name, Nothing, ScreenLink, TABLE, useChosen } from "../parts";
import { Treemap } from "../treemap";
import { bytes, count, percent } from "../units";

const _ = cockpit.gettext;
const DEPTH = 12;
const GROUPS = 50;
const CELLS = 40;
// Rows of one directory.
const ROWS = 100;

interface Directory { name: string; path: string; reclaimable: number; shared: number; files: number; children: Directory[] }

const join = (directory: Directory, name: string) => `${directory.path.replace(/\/$/, "")}/${name}`;

// Each key has what lies in it directly; a directory has the sum of what is below it.
function treeOf(keys: WasteKey[], root: string): Directory {
    const top: Directory = { name: root, path: root, reclaimable: 0, shared: 0, files: 0, children: [] };
    const known = new Map<string, Directory>();
    for (const key of keys) {
        const below = key.key.startsWith(root) ? key.key.slice(root.length) : key.key;
        let at = top;
        for (const name of ["", ...below.split("/").filter(part => part)]) {
            if (name) {
                const path = join(at, name);
                let child = known.get(path);
                if (!child) {
                    child = { name, path, reclaimable: 0, shared: 0, files: 0, children: [] };
                    known.set(path, child);
                    at.children.push(child);
                }
                at = child;
            }
            at.reclaimable += key.reclaimable_bytes;
            at.shared += key.shared_bytes;
            at.files += key.files;
        }
    }
    const sort = (directory: Directory) => {
        directory.children.sort((one, other) => other.reclaimable - one.reclaimable);
        directory.children.forEach(sort);
    };
    sort(top);
    return top;
}

function TreeRows({ directory, level, all, open }:
    { directory: Directory; level: number; all: number; open: (path: string) => void }) {
    const [isOpen, setIsOpen] = useState(level === 1);
    return (
        <>
            <Tr>
                <Td dataLabel={_("Directory")}>
                    <span style={{ paddingInlineStart: `${(level - 1) * 1.25}rem` }} className="dedupd-branch">
                        {directory.children.length > 0
                            ? <Button variant="plain" size="sm" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}
                                      aria-label={cockpit.format(isOpen ? _("Close $0") : _("Open $0"), directory.path)}>
                                <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
                            </Button>
                            : <span className="dedupd-leaf" />}
                        <Button variant="link" isInline onClick={() => open(directory.path)}><Name>{directory.name}</Name></Button>
                    </span>
                </Td>
                <Td dataLabel={_("Reclaimable")} className="dedupd-number">{bytes(directory.reclaimable)}</Td>
                <Td dataLabel={_("Part")} className="dedupd-number">{percent(directory.reclaimable, all)}</Td>
                <Td dataLabel={_("Shared")} className="dedupd-number">{bytes(directory.shared)}</Td>
                <Td dataLabel={_("Files")} className="dedupd-number">{count(directory.files)}</Td>
            </Tr>
            {isOpen && directory.children.slice(0, ROWS).map(child =>
                <TreeRows key={child.name} directory={child} level={level + 1} all={all} open={open} />)}
            {isOpen && directory.children.length > ROWS &&
                <Tr><Td colSpan={5}>{cockpit.format(_("and $0 more"), count(directory.children.length - ROWS))}</Td></Tr>}
        </>);
}

function Groups({ groups, stale }: { groups: Group[]; stale: number }) {
    if (!groups.length)
        return <Nothing title={_("There are no equal files that take space twice")} />;
    return (
        <>
            <Table {...TABLE} aria-label={_("Groups of equal files")}>
                <Thead><Tr><Th width={60}>{_("Equal files")}</Th><Th modifier="fitContent" className="dedupd-number">{_("Reclaimable")}</Th>
                    <Th modifier="fitContent" className="dedupd-number">{_("Size of each")}</Th><Th modifier="fitContent" className="dedupd-number">{_("Files")}</Th></Tr></Thead>
                <Tbody>
                    {groups.map((group, index) => (
                        <Tr key={index}>
                            <Td dataLabel={_("Equal files")}>
                                {group.files.slice(0, 5).map(({ file, state }) => {
                                    const plain = unescaped(file);
                                    return (
                                        <div key={file}>
                                            <Name>{file}</Name>
                                            {state === "shared" && <span className="dedupd-small"> {_("(shared)")}</span>}
                                            {plain !== null && <span className="dedupd-small"> <ScreenLink path={["why"]} options={{ file: plain }}>{_("why?")}</ScreenLink></span>}
                                        </div>);
                                })}
                                {group.files.length > 5 && cockpit.format(_("and $0 more"), count(group.files.length - 5))}
                            </Td>
                            <Td dataLabel={_("Reclaimable")} className="dedupd-number">{bytes(group.reclaimable_bytes)}</Td>
                            <Td dataLabel={_("Size of each")} className="dedupd-number">{bytes(group.size_bytes)}</Td>
                            <Td dataLabel={_("Files")} className="dedupd-number">{count(group.files.length)}</Td>
                        </Tr>))}
                </Tbody>
            </Table>
            {stale > 0 && <p className="dedupd-small">{cockpit.format(_("$0 files changed since they were read, so they are not shown."), count(stale))}</p>}
        </>);
}

function Screen({ mountPoint, uuid }: { mountPoint: string; uuid: string }) {
    const [path, setPath] = useState(mountPoint);
    const asked = useDedupctl("waste", [`--depth=${DEPTH}`, "--limit=0", uuid]);
    const plain = unescaped(path);
    const groups = useDedupctl("duplicates", plain === null ? null : [`--limit=${GROUPS}`, "--", plain]);
    const tree = useMemo(() => treeOf(asked.value?.waste[0]?.keys ?? [], mountPoint), [asked.value, mountPoint]);
    let here = tree;
    const way = [tree];
    for (const name of path.slice(mountPoint.length).split("/").filter(part => part)) {
        here = here.children.find(child => child.name === name) ?? here;
        way.push(here);
    }
    const cells = here.children.filter(child => child.reclaimable > 0).slice(0, CELLS).map(child => ({ name: child.name, size: child.reclaimable }));

    return (
        <Answer asked={asked} wait={_("Comparing the store with the files…")}>
            {value => value.note && !tree.children.length ? <Alert isInline component="h2" variant="info" title={value.note} /> : (
                <div className="dedupd-sections">
                    {value.note && <p className="dedupd-small">{value.note}</p>}
                    <Breadcrumb aria-label={_("Directory")}>
                        {way.map((directory, index) => (
                            <BreadcrumbItem key={directory.path} isActive={index === way.length - 1}>
                                {index === way.length - 1 ? <Name>{directory.name}</Name>
                                    : <Button variant="link" isInline onClick={() => setPath(directory.path)}><Name>{directory.name}</Name></Button>}
                            </BreadcrumbItem>))}
                    </Breadcrumb>
                    <p>
                        {cockpit.format(_("Sharing equal files here would free at most $0. Equal files share $1 already."),
                                        bytes(here.reclaimable), bytes(here.shared))}
                    </p>
                    {cells.length > 1 &&
                        <Treemap label={_("Reclaimable space by directory; the table below has the same numbers")} cells={cells}
                                 text={cell => bytes(cell.size)} open={name => setPath(join(here, name))} />}
                    {tree.reclaimable > 0 &&
                        <Table {...TABLE} className="dedupd-tree" aria-label={_("Reclaimable space by directory")}>
                            <Thead><Tr><Th width={50}>{_("Directory")}</Th><Th modifier="fitContent" className="dedupd-number">{_("Reclaimable")}</Th>
                                <Th modifier="fitContent" className="dedupd-number">{_("Part")}</Th><Th modifier="fitContent" className="dedupd-number">{_("Shared")}</Th>
                                <Th modifier="fitContent" className="dedupd-number">{_("Files")}</Th></Tr></Thead>
                            <Tbody><TreeRows key={here.path} directory={here} level={1} all={tree.reclaimable} open={setPath} /></Tbody>
                        </Table>}
                    <Title headingLevel="h2" size="lg">{_("Equal files")}</Title>
                    <Answer asked={groups}>{found => <Groups groups={found.duplicates} stale={found.stale} />}</Answer>
                </div>)}
        </Answer>);
}

export function Duplicates({ filesystems, options }: ScreenProps) {
    const rows = filesystems.rows.filter(row => row.stored?.objects != null);
    const [row, choose] = useChosen(rows, options);
    if (!row)
        return filesystems.isKnown && !filesystems.status.busy
            ? <Nothing title={_("There is no store that you may read")}>{_("A first pass over a filesystem finds its equal data.")}</Nothing> : null;
    return (
        <>
            <Chooser rows={rows} row={row} choose={choose} />
            <Screen key={row.uuid} uuid={row.uuid} mountPoint={row.mountPoint} />
        </>);
}
