import { packKonnector } from "../../../scripts/build/pack.ts";
import { type DaemonProcess, DaemonProgram } from "./daemon.ts";

/** The konnector, as the image runs it. */
export const Konnector: DaemonProgram = new DaemonProgram("konnector", packKonnector);

/** A konnector process. */
export type Konnector = DaemonProcess;
