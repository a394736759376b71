// SPDX-License-Identifier: GPL-2.0-or-later
// What passes freed over months, and each pass.

import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { useState } from "react";
import type { ScreenProps } from "../app";
import { type Pass, useDedupctl } from "../dedupctl";
import { Answer, Chooser, Name, Nothing, TABLE, Word } from "../parts";
import { Plot, type Series } from "../plot";
import { bytes, duration, moment, time } from "../units";

const _ = cockpit.gettext;
const SHOWN = 100;

const started = (pass: Pass) => new Date(pass.started).getTime();

// What passes freed so far, at each time when one began; and the used space, if they are of one filesystem.
// @passes are sorted, the newest first.
function plotted(passes: Pass[], isOne: boolean): Series[] {
    const sorted = [...passes].reverse();
    let sum = 0;
    const freed = sorted.map((pass): [number, number] => [started(pass), sum += pass.freed_bytes]);
    const used = sorted.flatMap((pass): [number, number][] => !isOne || pass.used_bytes === null ? [] : [[started(pass), pass.used_bytes]]);
    return [{ name: _("freed"), className: "dedupd-series-0", points: freed, area: true },
            ...used.length ? [{ name: _("used"), className: "dedupd-series-1", points: used }] : []];
}

function Passes({ passes, isOne }: { passes: Pass[]; isOne: boolean }) {
    if (!passes.length)
        return <Nothing title={_("No pass was made yet")} />;
    return (
        <>
            <Table {...TABLE} aria-label={_("Passes")}>
                <Thead>
                    <Tr>
                        <Th>{_("Began")}</Th>
                        {!isOne && <Th>{_("Filesystem")}</Th>}
                        <Th>{_("Outcome")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Took")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Read")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Shared")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Freed")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Net")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Deferred")}</Th>
                    </Tr>
                </Thead>
                <Tbody>
                    {passes.slice(0, SHOWN).map((pass, index) => (
                        <Tr key={index}>
                            <Td dataLabel={_("Began")}>{time(pass.started)}</Td>
                            {!isOne && <Td dataLabel={_("Filesystem")}><Name>{pass.mount_point ?? pass.uuid}</Name></Td>}
                            <Td dataLabel={_("Outcome")}><Word>{pass.outcome}</Word></Td>
                            <Td dataLabel={_("Took")} className="dedupd-number">{duration(pass.seconds)}</Td>
                            <Td dataLabel={_("Read")} className="dedupd-number">{bytes(pass.finding_bytes + pass.compare_bytes)}</Td>
                            <Td dataLabel={_("Shared")} className="dedupd-number">{bytes(pass.shared_bytes)}</Td>
                            <Td dataLabel={_("Freed")} className="dedupd-number">{bytes(pass.freed_bytes)}</Td>
                            <Td dataLabel={_("Net")} className="dedupd-number">{bytes(pass.net_bytes)}</Td>
                            <Td dataLabel={_("Deferred")} className="dedupd-number">{bytes(pass.deferred_bytes)}</Td>
                        </Tr>))}
                </Tbody>
            </Table>
            {passes.length > SHOWN && <p className="dedupd-small">{cockpit.format(_("The newest $0 of $1 passes."), SHOWN, passes.length)}</p>}
        </>);
}

// Of one filesystem, or of all.
export function PassHistory({ uuid }: { uuid: string | null }) {
    const asked = useDedupctl("history", uuid ? [uuid] : []);
    return (
        <Answer asked={asked}>
            {({ passes }) => {
                const newest = [...passes].sort((one, other) => started(other) - started(one));
                const span = newest.length ? started(newest[0]!) - started(newest[newest.length - 1]!) : 0;
                return (
                    <>
                        {newest.length > 1 &&
                            <Plot label={_("Space over time")} series={plotted(newest, uuid !== null)} value={bytes} when={at => moment(at, span)} />}
                        <Passes passes={newest} isOne={uuid !== null} />
                    </>);
            }}
        </Answer>);
}

export function History({ filesystems }: ScreenProps) {
    const [uuid, setUuid] = useState("");
    const rows = filesystems.rows.filter(one => one.stored);
    return (
        <>
            <Chooser rows={rows} row={rows.find(row => row.uuid === uuid)} choose={setUuid} all={_("All filesystems")} />
            <PassHistory key={uuid} uuid={uuid || null} />
        </>);
}
