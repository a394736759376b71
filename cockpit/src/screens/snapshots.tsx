// SPDX-License-Identifier: GPL-2.0-or-later
// What subvolumes of btrfs hold, and what deleting a selection of them would free.  The page deletes none.

import { Alert, ClipboardCopy } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { useState } from "react";
import type { ScreenProps } from "../app";
import { type Subvolume, type Subvolumes, unescaped, useDedupctl } from "../dedupctl";
import { Answer, Chooser, Name, Nothing, TABLE, useChosen, useSettled } from "../parts";
import { bytes, time } from "../units";

const _ = cockpit.gettext;

// What a command can name; null: it is not below a mount point, or the top level.
function pathOf(subvolume: Subvolume): string | null {
    const plain = subvolume.path === null || subvolume.reclaimable_bytes === null ? null : unescaped(subvolume.path);
    return plain?.startsWith("/") ? plain : null;
}

const quoted = (path: string) => `'${path.replaceAll("'", "'\\''")}'`;

function Selection({ paths, alone }: { paths: string[]; alone: number }) {
    const settled = useSettled(JSON.stringify(paths));
    const asked = useDedupctl("snapshots", ["--delete", "--", ...JSON.parse(settled) as string[]]);
    return (
        <Answer asked={asked} wait={_("Adding up…")}>
            {({ snapshots, note }) => (
                <Alert isInline component="h2" variant="info" title={cockpit.format(
                    cockpit.ngettext("Deleting the selected subvolume would free $1.",
                                     "Deleting the $0 selected subvolumes together would free $1.", paths.length),
                    paths.length, bytes(snapshots.reduce((sum, one) => sum + (one.together_bytes ?? 0), 0)))}>
                    <p>{cockpit.format(_("Deleted one by one, each alone, they would free $0."), bytes(alone))} {note}</p>
                    <p>{_("This page deletes nothing. The command is:")}</p>
                    <ClipboardCopy isReadOnly hoverTip={_("Copy")} clickTip={_("Copied")} isCode textAriaLabel={_("Command")}>
                        {`btrfs subvolume delete -- ${paths.map(quoted).join(" ")}`}
                    </ClipboardCopy>
                </Alert>)}
        </Answer>);
}

function SubvolumeTable({ found }: { found: Subvolumes }) {
    const [chosen, setChosen] = useState<Set<number>>(new Set());
    const able = found.subvolumes.filter(one => pathOf(one) !== null);
    const selected = able.filter(one => chosen.has(one.id));
    const choose = (ids: number[], isChosen: boolean) => {
        const next = new Set(chosen);
        ids.forEach(id => isChosen ? next.add(id) : next.delete(id));
        setChosen(next);
    };

    return (
        <>
            {found.approximate === "yes" &&
                <p className="dedupd-small">{_("The filesystem changed meanwhile, so the sizes are approximate.")}</p>}
            {selected.length > 0 &&
                <Selection paths={selected.map(one => pathOf(one)!)}
                           alone={selected.reduce((sum, one) => sum + (one.reclaimable_bytes ?? 0), 0)} />}
            <Table {...TABLE} aria-label={_("Subvolumes")}>
                <Thead>
                    <Tr>
                        <Th aria-label={_("Select all")} select={{ isSelected: able.length > 0 && selected.length === able.length, isDisabled: !able.length,
                                      onSelect: (_event, isChosen) => choose(able.map(one => one.id), isChosen) }} />
                        <Th width={40}>{_("Subvolume")}</Th>
                        <Th>{_("Created")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Deleting it frees")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Holds")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Deferred")}</Th>
                    </Tr>
                </Thead>
                <Tbody>
                    {found.subvolumes.map((one, index) => (
                        <Tr key={one.id}>
                            <Td select={{ rowIndex: index, isSelected: chosen.has(one.id), isDisabled: pathOf(one) === null,
                                          onSelect: (_event, isChosen) => choose([one.id], isChosen) }} />
                            <Td dataLabel={_("Subvolume")}>
                                <Name>{one.path ?? String(one.id)}</Name>
                                <div className="dedupd-small">
                                    {one.access === "ro" ? _("read-only") : _("writable")}
                                    {one.parent && <> · <Name>{cockpit.format(_("snapshot of $0"), one.parent)}</Name></>}
                                </div>
                            </Td>
                            <Td dataLabel={_("Created")}>{time(one.created)}</Td>
                            <Td dataLabel={_("Deleting it frees")} className="dedupd-number">{bytes(one.reclaimable_bytes)}</Td>
                            <Td dataLabel={_("Holds")} className="dedupd-number">{bytes(one.referenced_bytes)}</Td>
                            <Td dataLabel={_("Deferred")} className="dedupd-number">{bytes(one.deferred_bytes)}</Td>
                        </Tr>))}
                </Tbody>
            </Table>
        </>);
}

function OfFilesystem({ uuid }: { uuid: string }) {
    const asked = useDedupctl("snapshots", ["--", uuid]);
    return (
        <Answer asked={asked} wait={_("Reading the trees of the filesystem…")}>
            {({ snapshots }) => <>{snapshots.map(found => <SubvolumeTable key={found.filesystem} found={found} />)}</>}
        </Answer>);
}

export function Snapshots({ filesystems, options }: ScreenProps) {
    const rows = filesystems.rows.filter(row => row.kind === "btrfs" && row.state !== "unmounted");
    const [row, choose] = useChosen(rows, options);
    if (!row)
        return filesystems.isKnown ? <Nothing title={_("There is no mounted btrfs filesystem")}>{_("Only btrfs has snapshots.")}</Nothing> : null;
    return (
        <div className="dedupd-sections">
            <Chooser rows={rows} row={row} choose={choose} />
            <OfFilesystem key={row.uuid} uuid={row.uuid} />
        </div>);
}
