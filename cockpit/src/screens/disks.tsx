// SPDX-License-Identifier: GPL-2.0-or-later
// The disks below enabled filesystems: their limits, and dedupd's share of what they do now.

import { Card, CardBody, CardTitle, Flex, FlexItem, FormGroup, TextInput } from "@patternfly/react-core";
import { useRef, useState } from "react";
import type { ScreenProps } from "../app";
import { type Disk, disks, setBudget, usePolled } from "../bus";
import { ActionButton, Loading, Name, Nothing } from "../parts";
import { Plot } from "../plot";
import { bytes, count, duration, parseSize, percent, rate, sizeText } from "../units";

const _ = cockpit.gettext;
const POLL_MS = 1000;
const PLOTTED = 120;
const SECTOR_BYTES = 512;

interface Sample { at: number; charged: number; all: number | null }

// Bytes that each disk read and wrote since boot.
async function diskBytes(): Promise<Map<string, number>> {
    const text = await cockpit.spawn(["cat", "/proc/diskstats"], { err: "ignore" });
    return new Map(text.split("\n").map(line => line.trim().split(/\s+/)).filter(words => words.length > 9)
        .map(words => [words[2]!, (Number(words[5]) + Number(words[9])) * SECTOR_BYTES]));
}

function perSecond(samples: Sample[], of: (sample: Sample) => number | null): [number, number][] {
    return samples.slice(1).flatMap((sample, index): [number, number][] => {
        const [now, before] = [of(sample), of(samples[index]!)];
        return now === null || before === null ? [] : [[sample.at, Math.max(now - before, 0) * 1000 / (sample.at - samples[index]!.at)]];
    });
}

function Limit({ disk }: { disk: Disk }) {
    const [size, setSize] = useState(disk.bytesPerSecond ? sizeText(disk.bytesPerSecond) : "");
    const [requests, setRequests] = useState(disk.requestsPerSecond ? String(disk.requestsPerSecond) : "");
    const bytesPerSecond = size.trim() === "" ? 0 : parseSize(size);
    const isRight = bytesPerSecond !== null && /^\d*$/.test(requests);
    const id = `limit-${disk.name}`;

    return (
        <Flex alignItems={{ default: "alignItemsFlexEnd" }} className="dedupd-limit">
            <FlexItem>
                <FormGroup label={_("Bytes per second")} fieldId={`${id}-bytes`}>
                    <TextInput id={`${id}-bytes`} value={size} placeholder={_("no limit")} onChange={(_event, text) => setSize(text)}
                               validated={bytesPerSecond === null ? "error" : "default"} aria-describedby={`${id}-help`} />
                </FormGroup>
            </FlexItem>
            <FlexItem>
                <FormGroup label={_("Requests per second")} fieldId={`${id}-requests`}>
                    <TextInput id={`${id}-requests`} value={requests} placeholder={_("no limit")} inputMode="numeric"
                               onChange={(_event, text) => setRequests(text)}
                               validated={/^\d*$/.test(requests) ? "default" : "error"} />
                </FormGroup>
            </FlexItem>
            <FlexItem>
                <ActionButton variant="primary" isDisabled={!isRight}
                              act={() => setBudget(disk.name, bytesPerSecond ?? 0, Number(requests))}>{_("Apply now")}</ActionButton>
            </FlexItem>
            <FlexItem className="dedupd-small" id={`${id}-help`}>
                {_("Sizes as 20M or 1G. The limit applies at once, until the service ends. Configuration keeps one for good.")}
            </FlexItem>
        </Flex>);
}

function DiskCard({ disk, samples }: { disk: Disk; samples: Sample[] }) {
    const own = perSecond(samples, sample => sample.charged);
    const all = perSecond(samples, sample => sample.all);
    const last = <T,>(list: T[]) => list[list.length - 1];
    const share = last(own) && last(all) && last(all)![1] > 0
        ? percent(Math.min(last(own)![1], last(all)![1]), last(all)![1]) : null;
    const limit = [disk.bytesPerSecond ? rate(disk.bytesPerSecond) : null,
                   disk.requestsPerSecond ? cockpit.format(_("$0 requests/s"), count(disk.requestsPerSecond)) : null]
        .filter(text => text).join(", ") || _("no limit");

    return (
        <Card isCompact>
            <CardTitle component="h2"><Name>{disk.name}</Name></CardTitle>
            <CardBody>
                <p>
                    <b>{limit}</b>{" · "}{disk.isSet ? _("set until the service ends") : _("as configured")}{" · "}
                    {disk.yields ? _("yields to other work") : _("does not yield to other work")}{" · "}
                    {disk.rotates ? _("rotates") : _("does not rotate")}{" · "}
                    {cockpit.format(_("$0 charged since the service began"), bytes(disk.chargedBytes))}
                </p>
                <Plot label={share ? cockpit.format(_("dedupd's share of the disk: $0"), share) : _("dedupd's share of the disk")}
                      height={120} value={rate} from={Date.now() - PLOTTED * POLL_MS} to={Date.now()}
                      when={at => at > Date.now() - 2000 ? _("now") : duration((Date.now() - at) / 1000)}
                      series={[{ name: _("all programs"), className: "dedupd-series-1", points: all, area: true },
                               { name: "dedupd", className: "dedupd-series-0", points: own, area: true }]} />
                <Limit disk={disk} />
            </CardBody>
        </Card>);
}

export function Disks({ filesystems }: ScreenProps) {
    const { runs } = filesystems.service;
    const samples = useRef(new Map<string, Sample[]>());
    const found = usePolled(runs ? async () => {
        const [own, all] = await Promise.all([disks(), diskBytes()]);
        const at = Date.now();
        for (const disk of own) {
            const kept = [...samples.current.get(disk.name) ?? [], { at, charged: disk.chargedBytes, all: all.get(disk.name) ?? null }];
            samples.current.set(disk.name, kept.slice(-PLOTTED));
        }
        return own;
    } : null, POLL_MS, runs);

    if (runs === false)
        return <Nothing title={_("The service is not running")}>{_("Only the running service limits disks. Configuration has the limits that it begins with.")}</Nothing>;
    if (!found)
        return <Loading />;
    if (!found.length)
        return <Nothing title={_("There are no disks")}>{_("The disks below enabled filesystems are shown here.")}</Nothing>;
    return (
        <div className="dedupd-sections">
            {found.map(disk => <DiskCard key={disk.name} disk={disk} samples={samples.current.get(disk.name) ?? []} />)}
        </div>);
}
