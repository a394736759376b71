// SPDX-License-Identifier: GPL-2.0-or-later
// The page: its screens, and what holds for all of them.

import { Alert, AlertActionCloseButton, Nav, NavItem, NavList } from "@patternfly/react-core";
import { type ComponentType, useEffect, useState } from "react";
import { useAdmin } from "./bus";
import { type Filesystems, useFilesystems } from "./filesystems";
import { Admin, Failed } from "./parts";
import { Configuration } from "./screens/configuration";
import { Disks } from "./screens/disks";
import { Doctor } from "./screens/doctor";
import { FilesystemScreen } from "./screens/filesystem";
import { History } from "./screens/history";
import { Journal } from "./screens/journal";
import { Overview } from "./screens/overview";
import { Snapshots } from "./screens/snapshots";
import { Duplicates } from "./screens/duplicates";
import { Why } from "./screens/why";

const _ = cockpit.gettext;

export interface ScreenProps { filesystems: Filesystems; path: string[]; options: Record<string, string> }

const SCREENS: { name: string; title: string; screen: ComponentType<ScreenProps> }[] = [
    { name: "", title: _("Filesystems"), screen: Overview },
    { name: "disks", title: _("Disks"), screen: Disks },
    { name: "history", title: _("History"), screen: History },
    { name: "duplicates", title: _("Duplicates"), screen: Duplicates },
    { name: "why", title: _("Why?"), screen: Why },
    { name: "snapshots", title: _("Snapshots"), screen: Snapshots },
    { name: "doctor", title: _("Doctor"), screen: Doctor },
    { name: "configuration", title: _("Configuration"), screen: Configuration },
    { name: "journal", title: _("Journal"), screen: Journal },
];

function useLocation() {
    const read = () => ({ path: cockpit.location.path, options: cockpit.location.options });
    const [location, setLocation] = useState(read);
    useEffect(() => {
        const update = () => setLocation(read());
        cockpit.addEventListener("locationchanged", update);
        return () => cockpit.removeEventListener("locationchanged", update);
    }, []);
    return location;
}

export function App() {
    const { path, options } = useLocation();
    const [failed, setFailed] = useState<string | null>(null);
    const admin = useAdmin();
    const filesystems = useFilesystems();
    const name = path[0] ?? "";
    const isFilesystem = name === "filesystem";
    const Screen = isFilesystem ? FilesystemScreen : (SCREENS.find(screen => screen.name === name) ?? SCREENS[0]!).screen;

    useEffect(() => setFailed(null), [path.join("/")]);

    return (
        <Admin.Provider value={admin}>
            <Failed.Provider value={setFailed}>
                <div className="dedupd-page">
                    <header>
                        <h1 className="pf-v6-screen-reader">{_("Deduplication")}</h1>
                        <Nav variant="horizontal-subnav" aria-label={_("Screens")}>
                            <NavList>
                                {SCREENS.map(screen => (
                                    <NavItem key={screen.name} isActive={screen.name === (isFilesystem ? "" : name)}
                                             to={"#" + cockpit.location.encode(screen.name ? [screen.name] : [])}
                                             onClick={event => {
                                                 event.preventDefault();
                                                 cockpit.location.go(screen.name ? [screen.name] : []);
                                             }}>{screen.title}</NavItem>))}
                            </NavList>
                        </Nav>
                        {filesystems.service.runs === false &&
                            <Alert isInline component="h2" variant="info" title={_("The service is not running.")}>
                                {_("The page shows what the stores have. No pass begins until dedupd.service or dedupd.timer is started.")}
                            </Alert>}
                        {admin === false &&
                            <Alert isInline component="h2" variant="info" title={_("Limited access")}>
                                {_("You can look at most things. Turn on administrative access to change anything, and to see names of files.")}
                            </Alert>}
                        {failed !== null &&
                            <Alert isInline component="h2" variant="danger" title={failed}
                                   actionClose={<AlertActionCloseButton onClose={() => setFailed(null)} />} />}
                    </header>
                    <main>
                        <Screen key={name} filesystems={filesystems} path={path} options={options} />
                    </main>
                </div>
            </Failed.Provider>
        </Admin.Provider>);
}
