// SPDX-License-Identifier: GPL-2.0-or-later
// One filesystem: its running pass, the control of passes, and what the last one skipped.

import { Alert, Button, Card, CardBody, CardTitle, DescriptionList, DescriptionListDescription, DescriptionListGroup,
         DescriptionListTerm, Dropdown, DropdownItem, DropdownList, ExpandableSection, Flex, FlexItem, MenuToggle,
         Progress, Title } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { useContext, useRef, useState } from "react";
import type { ScreenProps } from "../app";
import { act, type Action, type Live, pauseFor } from "../bus";
import { change, hold, type Skipped } from "../dedupctl";
import { isRunning, type Row } from "../filesystems";
import { ActionButton, Admin, Failed, Loading, Name, Nothing, ScreenLink, TABLE, Word } from "../parts";
import { Plot } from "../plot";
import { bytes, count, duration, NONE, percent, rate, relative, time } from "../units";
import { PassHistory } from "./history";

const _ = cockpit.gettext;
const SAMPLE_MS = 1000;
const PLOTTED = 120;

const STAGES: Record<string, string> = {
    walking: _("looking for files"), comparing: _("comparing with the store"), reading: _("reading"),
    matching: _("matching"), sharing: _("sharing"), settling: _("settling"),
};

interface Sample { at: number; stage: string; began: number; done: number }
interface Past { stage: string; seconds: number; done: number }

// What the service says of the running pass, second by second, for as long as the screen is open.
function useSamples(now: Live): { samples: Sample[]; past: Past[] } {
    const kept = useRef<{ pass: number; samples: Sample[]; past: Past[] }>({ pass: 0, samples: [], past: [] });
    if (kept.current.pass !== now.PassStarted)
        kept.current = { pass: now.PassStarted, samples: [], past: [] };
    const { samples, past } = kept.current;
    const sample = { at: Date.now(), stage: now.Stage, began: now.StageStarted, done: now.StageBytes };
    const last = samples[samples.length - 1];

    if (!last || sample.at - last.at > SAMPLE_MS / 2) {
        if (last?.began && last.stage !== sample.stage)
            past.push({ stage: last.stage, seconds: (sample.began - last.began) / 1e6, done: last.done });
        samples.push(sample);
        if (samples.length > PLOTTED)
            samples.shift();
    }
    return kept.current;
}

// The service signals its progress once a second.
function RunningPass({ now }: { now: Live }) {
    const { samples, past } = useSamples(now);

    const seconds = Math.max((Date.now() - now.StageStarted / 1000) / 1000, 1);
    const pace = now.StageBytes / seconds;
    const left = now.StageTotalBytes && pace ? (now.StageTotalBytes - now.StageBytes) / pace : null;
    const rates = samples.slice(1).map((sample, index): [number, number] => {
        const before = samples[index]!;
        const done = sample.stage === before.stage ? sample.done - before.done : sample.done;
        return [sample.at, Math.max(done, 0) * 1000 / (sample.at - before.at)];
    });

    return (
        <Card isCompact className="dedupd-running">
            <CardTitle>{_("Running pass")}</CardTitle>
            <CardBody>
                {now.StageTotalBytes
                    ? <Progress value={Math.min(100, 100 * now.StageBytes / now.StageTotalBytes)} measureLocation="outside"
                                label={percent(now.StageBytes, now.StageTotalBytes)} title={STAGES[now.Stage] ?? now.Stage} />
                    : <b>{STAGES[now.Stage] ?? now.Stage}</b>}
                <DescriptionList isCompact columnModifier={{ default: "2Col", lg: "3Col" }} className="dedupd-facts">
                    <Fact term={_("Rate of this stage")}>{now.StageBytes ? rate(pace) : NONE}</Fact>
                    <Fact term={_("Time left in this stage")}>{duration(left)}</Fact>
                    <Fact term={_("Freed so far")}>{bytes(now.PassFreedBytes)}</Fact>
                    <Fact term={_("Done in this stage")}>
                        {now.StageTotalBytes ? cockpit.format(_("$0 of $1"), bytes(now.StageBytes), bytes(now.StageTotalBytes))
                                             : bytes(now.StageBytes)}
                    </Fact>
                    <Fact term={_("Files found")}>{count(now.StageFiles)}</Fact>
                    <Fact term={_("Began")}>{relative(now.PassStarted / 1000)}</Fact>
                    {now.Deadline > 0 && <Fact term={_("Must end")}>{relative(now.Deadline / 1000)}</Fact>}
                </DescriptionList>
                {rates.length > 1 &&
                    <Plot label={_("Rate, last two minutes")} height={100} value={rate} when={relative}
                          series={[{ name: _("now"), className: "dedupd-series-0", points: rates, area: true }]} />}
                {past.length > 0 &&
                    <Table {...TABLE} aria-label={_("Stages that ended")}>
                        <Thead><Tr><Th>{_("Stage that ended")}</Th><Th modifier="fitContent" className="dedupd-number">{_("Time")}</Th>
                            <Th modifier="fitContent" className="dedupd-number">{_("Done")}</Th><Th modifier="fitContent" className="dedupd-number">{_("Rate")}</Th></Tr></Thead>
                        <Tbody>
                            {past.map((one, index) => (
                                <Tr key={index}>
                                    <Td dataLabel={_("Stage that ended")}>{STAGES[one.stage] ?? one.stage}</Td>
                                    <Td dataLabel={_("Time")} className="dedupd-number">{duration(one.seconds)}</Td>
                                    <Td dataLabel={_("Done")} className="dedupd-number">{bytes(one.done)}</Td>
                                    <Td dataLabel={_("Rate")} className="dedupd-number">{rate(one.done / Math.max(one.seconds, 1))}</Td>
                                </Tr>))}
                        </Tbody>
                    </Table>}
            </CardBody>
        </Card>);
}

function Fact({ term, children }: { term: string; children: React.ReactNode }) {
    return (
        <DescriptionListGroup>
            <DescriptionListTerm>{term}</DescriptionListTerm>
            <DescriptionListDescription>{children}</DescriptionListDescription>
        </DescriptionListGroup>);
}

// Holds outlive the screen, but not the page.
const holds = new Map<string, CockpitProcess>();

function Controls({ row, again }: { row: Row; again: () => void }) {
    const [isOpen, setIsOpen] = useState(false);
    const [, setTurn] = useState(0);
    const admin = useContext(Admin);
    const fail = useContext(Failed);
    const now = row.live!;
    const held = holds.get(row.uuid);

    const button = (action: Action, text: string, variant: "primary" | "secondary" = "secondary") =>
        <FlexItem><ActionButton variant={variant} act={() => act(row.uuid, action)}>{text}</ActionButton></FlexItem>;

    function pause(seconds: number | null) {
        setIsOpen(false);
        Promise.resolve(seconds === null ? act(row.uuid, "Pause") : pauseFor(row.uuid, seconds))
            .catch((failed: Error) => fail(failed.message));
    }

    function toggleHold() {
        if (held) {
            held.close("terminated");
            return Promise.resolve();
        }
        const process = hold(row.uuid, "Cockpit");
        holds.set(row.uuid, process);
        const end = (text: string | null) => {
            holds.delete(row.uuid);
            setTurn(turn => turn + 1);
            fail(text);
        };
        process.then(() => end(null), failed => end(failed.problem === "terminated" ? null : failed.message));
        setTurn(turn => turn + 1);
        return Promise.resolve();
    }

    return (
        <Flex spaceItems={{ default: "spaceItemsSm" }} className="dedupd-controls">
            {now.State === "disabled" ? null
                : <>
                    {isRunning(now.State) ? button("Stop", _("Stop pass"))
                               : !now.Paused && button("Start", _("Start pass"), "primary")}
                    {now.Paused
                        ? button("Resume", _("Resume"), "primary")
                        : <FlexItem>
                            <Dropdown isOpen={isOpen} onOpenChange={setIsOpen} toggle={reference => (
                                <MenuToggle ref={reference} isDisabled={admin === false} isExpanded={isOpen}
                                            onClick={() => setIsOpen(!isOpen)}>{_("Pause")}</MenuToggle>)}>
                                <DropdownList>
                                    <DropdownItem onClick={() => pause(3600)}>{_("For 1 hour")}</DropdownItem>
                                    <DropdownItem onClick={() => pause(8 * 3600)}>{_("For 8 hours")}</DropdownItem>
                                    <DropdownItem onClick={() => pause(null)}>{_("Until resumed")}</DropdownItem>
                                </DropdownList>
                            </Dropdown>
                        </FlexItem>}
                    <FlexItem>
                        <ActionButton variant="secondary" act={toggleHold}>{held ? _("Release hold") : _("Hold")}</ActionButton>
                    </FlexItem>
                    <FlexItem>
                        <ActionButton variant="link" isDanger act={() => change("disable", row.uuid).then(again)}>{_("Disable")}</ActionButton>
                    </FlexItem>
                </>}
        </Flex>);
}

function SkippedTable({ skipped }: { skipped: Skipped[] }) {
    if (!skipped.length)
        return <p>{_("The last pass skipped nothing.")}</p>;
    return (
        <Table {...TABLE} aria-label={_("Skipped by the last pass")}>
            <Thead><Tr><Th>{_("Reason")}</Th><Th modifier="fitContent" className="dedupd-number">{_("Files")}</Th><Th modifier="fitContent" className="dedupd-number">{_("Size")}</Th>
                <Th width={40}>{_("What would change it")}</Th><Th width={25}>{_("Example")}</Th></Tr></Thead>
            <Tbody>
                {skipped.map(one => (
                    <Tr key={one.reason}>
                        <Td dataLabel={_("Reason")}>{one.reason}</Td>
                        <Td dataLabel={_("Files")} className="dedupd-number">{count(one.count)}</Td>
                        <Td dataLabel={_("Size")} className="dedupd-number">{bytes(one.bytes)}</Td>
                        <Td dataLabel={_("What would change it")}>{one.advice ?? NONE}</Td>
                        <Td dataLabel={_("Example")}>{one.examples[0] ? <Name>{one.examples[0]}</Name> : NONE}</Td>
                    </Tr>))}
            </Tbody>
        </Table>);
}

export function FilesystemScreen({ filesystems, path }: ScreenProps) {
    const uuid = path[1] ?? "";
    const row = filesystems.rows.find(one => one.uuid === uuid);
    const state = row?.live?.State;

    if (!row)
        return filesystems.isKnown ? <Nothing title={_("This filesystem is not known")} /> : <Loading />;
    const stored = row.stored;
    return (
        <div className="dedupd-sections">
            <div>
                <ScreenLink path={[]}>{_("All filesystems")}</ScreenLink>
                <Flex className="dedupd-head">
                    <Title headingLevel="h2"><Name>{row.mountPoint}</Name></Title>
                    {row.state && <Word>{row.state}</Word>}
                    {row.live?.Paused && <Word>{_("paused")}</Word>}
                </Flex>
                <div className="dedupd-small">
                    <Name>{[row.kind, row.uuid].join(" · ")}</Name>
                    {row.why && !isRunning(state) && <div><Name>{row.why}</Name></div>}
                </div>
                {row.live && <Controls row={row} again={filesystems.again} />}
                {row.stored?.trouble && <Alert isInline component="h2" variant="warning" title={row.stored.trouble} />}
                {holds.has(uuid) &&
                    <Alert isInline component="h2" variant="info" title={_("You hold this filesystem: no pass begins until you release it or close this page.")} />}
                {stored?.holds?.map((one, index) =>
                    <Alert key={index} isInline component="h2" isPlain variant="info"
                           title={cockpit.format(_("User $0 (process $1) holds it since $2. $3"), one.uid, one.pid ?? NONE, time(one.since), one.why ?? "")} />)}
            </div>
            {isRunning(state) && <RunningPass now={row.live!} />}
            {stored &&
                <DescriptionList isCompact columnModifier={{ default: "2Col", md: "3Col", xl: "3Col" }} className="dedupd-facts">
                    <Fact term={_("Freed by all passes")}>{bytes(stored.freed_total_bytes)}</Fact>
                    <Fact term={_("Freed by the last pass")}>{bytes(stored.freed_bytes)}</Fact>
                    <Fact term={_("Last pass")}>{stored.last_pass ? time(stored.last_pass) : NONE} {stored.outcome && <Word>{stored.outcome}</Word>}</Fact>
                    <Fact term={_("Next pass")}>{row.nextPass ? relative(row.nextPass) : NONE}</Fact>
                    <Fact term={_("Deferred to the deletion of snapshots")}>{bytes(stored.deferred_bytes)}</Fact>
                    <Fact term={_("Pinned: duplicates that cannot be freed yet")}>{bytes(stored.pinned_bytes)}</Fact>
                    <Fact term={_("Files and extents remembered")}>{count(stored.objects)}</Fact>
                    <Fact term={_("Size of the store")}>{bytes(stored.store_bytes)}</Fact>
                </DescriptionList>}
            {stored?.objects != null &&
                <>
                    <ExpandableSection toggleText={_("Skipped by the last pass")}><SkippedTable skipped={stored.skipped ?? []} /></ExpandableSection>
                    <PassHistory uuid={uuid} key={`${uuid} ${state}`} />
                </>}
            {row.live === null && filesystems.service.runs === false && <Button component="a" variant="link" isInline
                href="/system/services#/dedupd.service" target="_top">{_("Start the service")}</Button>}
        </div>);
}
