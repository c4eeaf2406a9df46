import { join } from "node:path";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { Backend } from "./backend.ts";

const SOURCE = join(import.meta.dirname ?? "", "../../../konnector/main.ts");

/** Starts a konnector with the permissions that it ships with, as the user of a kubeconfig. */
export async function startKonnector(
  plane: ControlPlane,
  kubeconfig: string,
  flags: readonly string[] = [],
): Promise<Backend> {
  return await Backend.start(plane, {
    kubeconfig,
    flags,
    launch: [
      Deno.execPath(),
      "run",
      "--no-prompt",
      "--allow-net",
      "--allow-read",
      "--allow-env",
      "--allow-sys=hostname,ca",
      SOURCE,
    ],
  });
}
