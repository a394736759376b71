// SPDX-License-Identifier: GPL-2.0-or-later
// The service on the system bus: its filesystems as they change, its disks, and calls that change something.

import { useEffect, useState } from "react";

const _ = cockpit.gettext;
const NAME = "org.dedupd1";
const BUS = "org.freedesktop.DBus";
const OBJECTS = "org.freedesktop.DBus.ObjectManager";
const PROPERTIES = "org.freedesktop.DBus.Properties";
const ROOT = "/org/dedupd1";
const MANAGER = "org.dedupd1.Manager";
const FILESYSTEM = "org.dedupd1.Filesystem";

// Properties of org.dedupd1.Filesystem; times are microseconds.
export interface Live {
    UUID: string;
    Kind: string;
    MountPoint: string;
    State: string;
    Paused: boolean;
    WaitsFor: string;
    WaitsUntil: number;
    Deadline: number;
    Disks: string[];
    PassStarted: number;
    Stage: string;
    StageStarted: number;
    StageFiles: number;
    StageBytes: number;
    StageTotalBytes: number;
    PassFreedBytes: number;
    Refusal: string;
}

export interface Disk {
    name: string;
    bytesPerSecond: number;
    requestsPerSecond: number;
    isSet: boolean;
    yields: boolean;
    rotates: boolean;
    chargedBytes: number;
}

// null: the service does not run.
let client: CockpitBus | null = null;

// Without the type, Cockpit would ask the service for it first.
function call(path: string, face: string, method: string, words: unknown[] = [], type = ""): Promise<unknown[]> {
    return client ? client.call(path, face, method, words, { type }) : Promise.reject(new Error(_("The service is not running.")));
}

const objectPath = (uuid: string) => `${ROOT}/filesystem/${uuid.replaceAll("-", "_")}`;

export type Action = "Start" | "Stop" | "Pause" | "Resume" | "Forget";

export const act = (uuid: string, action: Action) => call(objectPath(uuid), FILESYSTEM, action);

export const pauseFor = (uuid: string, seconds: number) =>
    call(objectPath(uuid), FILESYSTEM, "PauseFor", [seconds * 1e6], "t");

export const reload = () => call(ROOT, MANAGER, "Reload");

export const setBudget = (disk: string, bytes: number, requests: number) =>
    call(ROOT, MANAGER, "SetBudget", [disk, bytes, requests], "stt");

export async function disks(): Promise<Disk[]> {
    const [rows] = await call(ROOT, MANAGER, "ListDisks") as [[string, number, number, boolean, boolean, boolean, number][]];
    return rows.map(([name, bytesPerSecond, requestsPerSecond, isSet, yields, rotates, chargedBytes]) =>
        ({ name, bytesPerSecond, requestsPerSecond, isSet, yields, rotates, chargedBytes }));
}

// null while nobody knows yet whether the service runs.
export interface Service { runs: boolean | null; filesystems: Map<string, Live> }

type Listener = (service: Service) => void;
const listeners = new Set<Listener>();
let service: Service = { runs: null, filesystems: new Map() };

// The filesystems by the paths of their objects.
let objects = new Map<string, Live>();

// Values on the bus have their types with them.
type Values = Record<string, { t: string; v: unknown }>;
type Faces = Record<string, Values>;

const AGAIN_MILLISECONDS = 1000;

// Many objects change at once; one render is enough.
let scheduled = false;
function changed(): void {
    if (scheduled)
        return;
    scheduled = true;
    window.setTimeout(() => {
        scheduled = false;
        const filesystems = new Map<string, Live>();
        if (service.runs) {
            for (const live of objects.values())
                filesystems.set(live.UUID, live);
        }
        service = { ...service, filesystems };
        listeners.forEach(listener => listener(service));
    }, 50);
}

function take(path: string, values: Values | undefined): void {
    if (!values)
        return;
    const news = Object.fromEntries(Object.entries(values).map(([name, { v }]) => [name, v]));
    objects.set(path, { ...objects.get(path), ...news } as Live);
    changed();
}

// Ask for all filesystems at once; the service refuses that while it answers many others.
function askForAll(bus: CockpitBus): void {
    bus.call(ROOT, OBJECTS, "GetManagedObjects", [], { type: "" }).then(([all]) => {
        if (bus !== client)
            return;
        for (const [path, faces] of Object.entries(all as Record<string, Faces>))
            take(path, faces[FILESYSTEM]);
    }, () => {
        if (bus === client)
            window.setTimeout(() => bus === client && askForAll(bus), AGAIN_MILLISECONDS);
    });
}

// Keep up with the filesystems.  What changes before they are known is in the answer to askForAll().
function follow(bus: CockpitBus): void {
    bus.subscribe({ path: ROOT, interface: OBJECTS, member: "InterfacesAdded" }, (_path, _face, _signal, words) => {
        const [path, faces] = words as [string, Faces];
        take(path, faces[FILESYSTEM]);
    });
    bus.subscribe({ path: ROOT, interface: OBJECTS, member: "InterfacesRemoved" }, (_path, _face, _signal, words) => {
        const [path, faces] = words as [string, string[]];
        if (faces.includes(FILESYSTEM) && objects.delete(path))
            changed();
    });
    bus.subscribe({ path_namespace: ROOT, interface: PROPERTIES, member: "PropertiesChanged" }, (path, _face, _signal, words) => {
        const [face, values] = words as [string, Values];
        if (face === FILESYSTEM && objects.has(path))
            take(path, values);
    });
    askForAll(bus);
}

// The client of a service that ended is of no use to the next one.
function setRuns(runs: boolean): void {
    client?.close();
    client = null;
    objects = new Map();
    if (runs) {
        client = cockpit.dbus(NAME, { bus: "system", superuser: "try" });
        follow(client);
    }
    service = { ...service, runs };
    changed();
}

let isWatched = false;
function watch(): void {
    if (isWatched)
        return;
    isWatched = true;
    const daemon = cockpit.dbus(BUS, { bus: "system" });
    daemon.subscribe({ interface: BUS, member: "NameOwnerChanged", arg0: NAME }, (_path, _face, _signal, [, , owner]) => setRuns(owner !== ""));
    daemon.call("/org/freedesktop/DBus", BUS, "NameHasOwner", [NAME]).then(([owned]) => setRuns(owned as boolean), () => setRuns(false));
}

export function useService(): Service {
    const [current, setCurrent] = useState(service);
    useEffect(() => {
        watch();
        listeners.add(setCurrent);
        setCurrent(service);
        return () => { listeners.delete(setCurrent); };
    }, []);
    return current;
}

// Whether this session may change things; null: not known yet.
const superuser = cockpit.dbus(null, { bus: "internal" }).proxy("cockpit.Superuser", "/superuser");

export function useAdmin(): boolean | null {
    const read = () => !superuser.valid || superuser["Current"] === "init" ? null : superuser["Current"] !== "none";
    const [admin, setAdmin] = useState(read);
    useEffect(() => {
        const update = () => setAdmin(read());
        update();
        superuser.addEventListener("changed", update);
        return () => superuser.removeEventListener("changed", update);
    }, []);
    return admin;
}

// Call something once, and again after each number of milliseconds while the page is visible.
export function usePolled<T>(read: (() => Promise<T>) | null, milliseconds: number, key: unknown): T | null {
    const [value, setValue] = useState<T | null>(null);
    useEffect(() => {
        let timer = 0;
        let current = true;
        const turn = async () => {
            if (!cockpit.hidden && read) {
                const got = await read().catch(() => null);
                if (current)
                    setValue(got);
            }
            if (current && read)
                timer = window.setTimeout(turn, milliseconds);
        };
        void turn();
        return () => {
            current = false;
            window.clearTimeout(timer);
        };
    }, [key, milliseconds, read === null]);
    return value;
}
