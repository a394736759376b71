// SPDX-License-Identifier: GPL-2.0-or-later
// All filesystems: what was and could be freed, their state, and the next pass.

import { Button, Card, CardBody, Content, Modal, ModalBody, ModalFooter, ModalHeader, Pagination, SearchInput, Toolbar,
         ToolbarContent, ToolbarItem, Tooltip } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { useEffect, useState } from "react";
import type { ScreenProps } from "../app";
import { ask, change, Refusal } from "../dedupctl";
import { isRunning, type Row } from "../filesystems";
import { ActionButton, Loading, Name, Nothing, ScreenLink, TABLE, useSettled, Word } from "../parts";
import { bytes, count, NONE, relative, time } from "../units";

const _ = cockpit.gettext;
const PER_PAGE = 50;
// The page asks for so many by itself: each answer reads a store and looks at its files.
const ASKED_AT_ONCE = 8;

type Reclaimable = { bytes: number } | { failed: string };
// By filesystem and its last pass.
const reclaimable = new Map<string, Reclaimable>();
let queue: Promise<unknown> = Promise.resolve();

// One after the other, since each reads a disk.
function inTurn(key: string, read: () => Promise<number>): Promise<Reclaimable> {
    const answer = queue.then(read).then(
        (found): Reclaimable => ({ bytes: found }),
        (failed: Refusal): Reclaimable => ({ failed: failed.message }));
    queue = answer;
    return answer.then(found => {
        reclaimable.set(key, found);
        return found;
    });
}

const fromStore = async (uuid: string) => (await ask("waste", "--limit=1", uuid)).waste[0]?.reclaimable_bytes ?? 0;

const fromEstimate = async (mountPoint: string) => (await ask("estimate", "--", mountPoint)).estimates[0]?.pass_bytes ?? 0;

const keyOf = (row: Row) => `${row.uuid} ${row.stored?.last_pass}`;

function ReclaimableCell({ row, isAsked }: { row: Row; isAsked: boolean }) {
    const [found, setFound] = useState(reclaimable.get(keyOf(row)));
    const [busy, setBusy] = useState(false);
    const hasStore = row.stored?.objects != null;
    const isBusy = isRunning(row.state);

    function find() {
        setBusy(true);
        void inTurn(keyOf(row), () => hasStore ? fromStore(row.uuid) : fromEstimate(row.mountPoint)).then(answer => {
            setFound(answer);
            setBusy(false);
        });
    }
    useEffect(() => {
        if (isAsked && !found && !busy && hasStore && !isBusy)
            find();
    }, [isAsked, hasStore, isBusy]);

    if (found && "bytes" in found)
        return <>{bytes(found.bytes)}</>;
    if (found)
        return <Tooltip content={found.failed}><Button variant="link" isInline onClick={find}>{_("not known")}</Button></Tooltip>;
    if (!hasStore && !row.canEnable)
        return <>{NONE}</>;
    return (
        <Button variant="link" isInline isLoading={busy} isDisabled={busy} onClick={find}>
            {busy ? _("looking…") : hasStore ? _("Find out") : _("Estimate")}
        </Button>);
}

function EnableDialog({ row, close, onDone }: { row: Row; close: () => void; onDone: () => void }) {
    const [failed, setFailed] = useState<string | null>(null);
    return (
        <Modal isOpen variant="small" onClose={close} aria-labelledby="enable-title">
            <ModalHeader labelId="enable-title" title={_("Enable deduplication?")} />
            <ModalBody>
                <Content component="p">
                    {_("The service will deduplicate this filesystem from now on, at times and within limits that the configuration sets:")}
                </Content>
                <Content component="p"><b><Name>{row.mountPoint}</Name></b></Content>
                {failed && <Content component="p" className="dedupd-failed">{failed}</Content>}
            </ModalBody>
            <ModalFooter>
                <ActionButton variant="primary" act={() => change("enable", row.uuid)}
                              onDone={text => {
                                  setFailed(text);
                                  if (text === null) {
                                      onDone();
                                      close();
                                  }
                              }}>{_("Enable")}</ActionButton>
                <Button variant="link" onClick={close}>{_("Cancel")}</Button>
            </ModalFooter>
        </Modal>);
}

function Sum({ title, number }: { title: string; number: string }) {
    return <Card isCompact isFullHeight><CardBody><div className="dedupd-figure">{number}</div><div>{title}</div></CardBody></Card>;
}

export function Overview({ filesystems }: ScreenProps) {
    const { rows, isKnown, again } = filesystems;
    const [sought, setSought] = useState("");
    const [page, setPage] = useState(1);
    const [enabled, setEnabled] = useState<Row | null>(null);
    const settled = useSettled(sought).toLowerCase();

    if (!isKnown)
        return <Loading text={_("Looking for filesystems…")} />;
    if (!rows.length)
        return <Nothing title={_("There is no btrfs or XFS filesystem")}>{_("dedupd deduplicates mounted btrfs and XFS filesystems.")}</Nothing>;

    const chosen = rows.filter(row => !settled || row.mountPoint.toLowerCase().includes(settled) || row.uuid.includes(settled));
    const shown = chosen.slice((page - 1) * PER_PAGE, page * PER_PAGE);
    const sum = (of: (row: Row) => number | null | undefined) => rows.reduce((total, row) => total + (of(row) ?? 0), 0);
    const known = rows.filter(row => row.stored?.objects != null);

    return (
        <>
            <div className="dedupd-sums">
                <Sum title={_("freed by all passes")} number={bytes(sum(row => row.stored?.freed_total_bytes))} />
                <Sum title={_("deferred to the deletion of snapshots")} number={bytes(sum(row => row.stored?.deferred_bytes))} />
                <Sum title={_("enabled filesystems")} number={count(rows.filter(row => row.state !== "disabled").length)} />
                <Sum title={_("passes running now")} number={count(rows.filter(row => row.state === "running").length)} />
            </div>
            {rows.length > 8 &&
                <Toolbar><ToolbarContent>
                    <ToolbarItem>
                        <SearchInput aria-label={_("Search filesystems")} placeholder={_("Search")} value={sought}
                                     onChange={(_event, text) => {
                                         setSought(text);
                                         setPage(1);
                                     }} onClear={() => setSought("")} />
                    </ToolbarItem>
                    {chosen.length > PER_PAGE &&
                        <ToolbarItem variant="pagination">
                            <Pagination isCompact itemCount={chosen.length} perPage={PER_PAGE} page={page} perPageOptions={[]}
                                        onSetPage={(_event, number) => setPage(number)} />
                        </ToolbarItem>}
                </ToolbarContent></Toolbar>}
            <Table {...TABLE} aria-label={_("Filesystems")}>
                <Thead>
                    <Tr>
                        <Th width={25}>{_("Filesystem")}</Th>
                        <Th width={30}>{_("State")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Freed")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Reclaimable")}</Th>
                        <Th modifier="fitContent" className="dedupd-number">{_("Deferred")}</Th>
                        <Th>{_("Next pass")}</Th>
                        <Th screenReaderText={_("Actions")} />
                    </Tr>
                </Thead>
                <Tbody>
                    {shown.map(row => (
                        <Tr key={row.uuid} data-uuid={row.uuid}>
                            <Td dataLabel={_("Filesystem")}>
                                <ScreenLink path={["filesystem", row.uuid]}><Name>{row.mountPoint}</Name></ScreenLink>
                                <div className="dedupd-small">{row.kind}</div>
                            </Td>
                            <Td dataLabel={_("State")}>
                                {row.state && <Word>{row.state}</Word>}
                                <div className="dedupd-small"><Name>{row.stored?.trouble ?? row.why}</Name></div>
                            </Td>
                            <Td dataLabel={_("Freed")} className="dedupd-number">{bytes(row.stored?.freed_total_bytes)}</Td>
                            <Td dataLabel={_("Reclaimable")} className="dedupd-number">
                                <ReclaimableCell key={keyOf(row)} row={row} isAsked={known.length <= ASKED_AT_ONCE} />
                            </Td>
                            <Td dataLabel={_("Deferred")} className="dedupd-number">{bytes(row.stored?.deferred_bytes)}</Td>
                            <Td dataLabel={_("Next pass")}>
                                {row.nextPass ? <span title={time(row.nextPass)}>{relative(row.nextPass)}</span> : NONE}
                            </Td>
                            <Td isActionCell>
                                {row.canEnable &&
                                    <Button variant="secondary" size="sm" onClick={() => setEnabled(row)}>{_("Enable")}</Button>}
                            </Td>
                        </Tr>))}
                </Tbody>
            </Table>
            {!shown.length && <Nothing title={_("No filesystem matches")} />}
            {enabled && <EnableDialog row={enabled} close={() => setEnabled(null)}
                                      onDone={again} />}
        </>);
}
