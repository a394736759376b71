// SPDX-License-Identifier: GPL-2.0-or-later
// All filesystems, of the stores, the mounts and the service, as one list.

import { useEffect, useRef } from "react";
import { type Live, type Service, useService } from "./bus";
import { type Asked, type Documents, type Filesystem, useDedupctl } from "./dedupctl";

export interface Row {
    uuid: string;
    mountPoint: string;
    kind: string;
    state: string | null;
    why: string;
    nextPass: number | string | null;
    live: Live | null;
    stored: Filesystem | null;
    canEnable: boolean;
}

export const isRunning = (state: string | null | undefined) => state === "running" || state === "stopping";

export interface Filesystems {
    service: Service;
    rows: Row[];
    // The service, and the stores, answered or refused to.
    isKnown: boolean;
    status: Asked<Documents["status"] & { note: string }>;
    again: () => void;
}

export function useFilesystems(): Filesystems {
    const service = useService();
    const status = useDedupctl("status", []);
    const list = useDedupctl("list", []);
    const rows = new Map<string, Row>();

    for (const listed of list.value?.filesystems ?? []) {
        if (listed.uuid)
            rows.set(listed.uuid, {
                uuid: listed.uuid, mountPoint: listed.mount_point ?? listed.uuid, kind: listed.kind,
                state: listed.enabled === "no" ? "disabled" : null, why: listed.why ?? "", nextPass: null, live: null, stored: null,
                canEnable: listed.enabled === "no" && listed.eligible === "yes" && listed.mount_point !== null,
            });
    }
    for (const stored of status.value?.filesystems ?? []) {
        const row = rows.get(stored.uuid);
        rows.set(stored.uuid, {
            uuid: stored.uuid, mountPoint: row?.mountPoint ?? stored.mount_point ?? stored.uuid, kind: stored.kind ?? row?.kind ?? "",
            state: stored.state ?? row?.state ?? null, why: stored.why ?? row?.why ?? "", nextPass: stored.next_pass,
            live: null, stored, canEnable: row?.canEnable ?? false,
        });
    }
    for (const live of service.filesystems.values()) {
        const row = rows.get(live.UUID);
        rows.set(live.UUID, {
            uuid: live.UUID, mountPoint: live.MountPoint, kind: live.Kind, state: live.State,
            why: live.Refusal || live.WaitsFor || (live.State === "running" ? live.Stage : ""),
            nextPass: live.WaitsUntil ? live.WaitsUntil / 1000 : null,
            live, stored: row?.stored ?? null, canEnable: live.State === "disabled" && (row?.canEnable ?? true),
        });
    }
    const again = () => {
        status.again();
        list.again();
    };
    // A pass that began or ended changed the stores, and so did a service that ended.
    const states = service.runs === null ? null : [service.runs, ...[...service.filesystems.values()].map(live => live.UUID + live.State)].join();
    const seen = useRef<string | null>(null);
    useEffect(() => {
        if (seen.current !== null)
            again();
        seen.current = states;
    }, [states]);

    return {
        service, status, again,
        rows: [...rows.values()].sort((one, other) => Number(one.state === "disabled") - Number(other.state === "disabled") ||
                                                      one.mountPoint.localeCompare(other.mountPoint)),
        isKnown: service.filesystems.size > 0 || (!list.busy && !status.busy),
    };
}
