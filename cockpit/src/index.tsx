// SPDX-License-Identifier: GPL-2.0-or-later
import "@patternfly/patternfly/patternfly-base.css";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import "./dedupd.css";
import { followTheme } from "./theme";

followTheme();
document.documentElement.lang = cockpit.language.replace("_", "-") || "en";
createRoot(document.getElementById("app")!).render(<App />);
