// SPDX-License-Identifier: GPL-2.0-or-later
// Follow the style of Cockpit's shell: light, dark, or that of the desktop.

const desktop = window.matchMedia("(prefers-color-scheme: dark)");

function apply(style = localStorage.getItem("shell:style") ?? "auto"): void {
    const dark = style === "dark" || (style === "auto" && desktop.matches);
    document.documentElement.classList.toggle("pf-v6-theme-dark", dark);
}

export function followTheme(): void {
    apply();
    desktop.addEventListener("change", () => apply());
    window.addEventListener("storage", event => event.key === "shell:style" && apply());
    window.addEventListener("cockpit-style", event => apply((event as CustomEvent<{ style: string }>).detail.style));
}
