import { packBackend } from "../../../scripts/build/pack.ts";
import { type DaemonProcess, DaemonProgram } from "./daemon.ts";

/** The backend, as the image runs it. */
export const Backend: DaemonProgram = new DaemonProgram("backend", packBackend);

/** A backend process. */
export type Backend = DaemonProcess;
