/**
 * Fails when this Deno is older than the pinned one, or when a file that spells out the pinned
 * version names another.
 */
import { say } from "../say.ts";

/** The pinned version, which CI and every document name. */
export const PINNED_DENO = "2.9.5";

const PLACES = [
  ".ci/run",
  ".github/workflows/ci.yml",
  ".github/workflows/release.yml",
  ".devcontainer/devcontainer.json",
  "deploy/Containerfile",
  "README.md",
  "CONTRIBUTING.md",
  "docs/install.md",
  "docs/quick-start.md",
];

const [major = 0, minor = 0] = Deno.version.deno.split(".").map(Number);
const [pinnedMajor = 0, pinnedMinor = 0] = PINNED_DENO.split(".").map(Number);
const faults: string[] = [];
if (major < pinnedMajor || (major === pinnedMajor && minor < pinnedMinor)) {
  faults.push(`this is Deno ${Deno.version.deno}; use ${PINNED_DENO}: npx -y deno@${PINNED_DENO}`);
}
for (const place of PLACES) {
  const text = await Deno.readTextFile(place);
  for (const [found, version] of text.matchAll(/deno@(\d+\.\d+\.\d+)/g)) {
    if (version !== PINNED_DENO) faults.push(`${place} says ${found}`);
  }
}
for (const fault of faults) say(`Cannot use this set-up: ${fault}`);
if (faults.length > 0) Deno.exit(1);
