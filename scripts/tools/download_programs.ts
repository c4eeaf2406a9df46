import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { deadline } from "../../common/time/deadline.ts";
import type { Guard } from "../controlplane/guard.ts";
import type { Progress, Report } from "./progress.ts";
import { tailOf } from "./tail_of.ts";

/** The addresses of a program's official release. */
export interface Release {
  /** The program, or a tar.gz archive that contains it. */
  readonly url: string;
  /** A text file with the SHA-256 of the above. */
  readonly sums: string;
  /** The path of the program in the archive. */
  readonly member?: string;
}

/** The official release of each program that has one. */
export type Releases<Name extends string> = Readonly<Partial<Record<Name, Release>>>;

/** How long a download may be silent. */
export interface DownloadLimits {
  /** Until a sum has arrived: shows soon that there is no network. */
  readonly answerMs: number;
  /** Between two parts of a file. */
  readonly silenceMs: number;
}

interface Program extends Release {
  readonly name: string;
}

interface Download extends Program {
  readonly sum: string;
}

/** The limits that users get. */
export const DOWNLOAD_LIMITS: DownloadLimits = { answerMs: 2_000, silenceMs: 30_000 };
const MIRROR = "XBIND_DOWNLOAD_MIRROR";
const ARCHITECTURES = { x86_64: "amd64", aarch64: "arm64" };

/** This machine's processor as releases name it; undefined on systems without official servers. */
export const releaseArch = (
  { os, arch }: Pick<typeof Deno.build, "os" | "arch"> = Deno.build,
): string | undefined => os === "linux" ? ARCHITECTURES[arch] : undefined;

const isMirror = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) &&
    !url.username && !url.password && !url.search && !url.hash;
};

/** The mirror's address without a slash at the end, "off", or "" for the official addresses. */
const mirrorFrom = (env: Record<string, string>): string => {
  const mirror = (env[MIRROR] ?? "").replace(/\/+$/, "");
  if (mirror === "" || mirror === "off" || isMirror(mirror)) return mirror;
  // The message does not show the value, because it may contain a password.
  throw new Error(
    `Cannot use ${MIRROR}: it must be "off", or an http or https URL without user name and query`,
  );
};

const onMirror = (mirror: string, url: string): string =>
  mirror ? url.replace("https://", `${mirror}/`) : url;

const namesOf = (programs: readonly Program[]): string =>
  programs.map(({ name }) => name).join(", ");

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** Why a connection failed, without the address: a redirect may have put a signature into it. */
const connectionFault = (error: Error): string =>
  messageOf(error.cause ?? error).replace(/^error sending request for url \(\S*\): /, "");

const answerTo = async (url: string, signal: AbortSignal): Promise<Response> => {
  // The sums are those of the files without a further encoding.
  const headers = { "Accept-Encoding": "identity" };
  const response = await fetch(url, { signal, headers }).catch((error) => {
    signal.throwIfAborted();
    const { host } = new URL(url);
    throw new Error(`${host} cannot be reached: ${connectionFault(error)}`, { cause: error });
  });
  if (response.ok) return response;
  await response.body?.cancel();
  throw new Error(`${url} answered ${response.status}`);
};

/** Finds the sum of a file in a text: alone, or in a line with the file's name. */
const sumIn = (text: string, file: string): string | undefined =>
  text.split("\n").map((line) => line.trim().split(/\s+\*?/))
    .find(([sum = "", name = file]) => name === file && /^[0-9a-f]{64}$/.test(sum))?.[0];

const expectedSum = async (
  { url, sums }: Release,
  { answerMs }: DownloadLimits,
): Promise<string> => {
  const tooLate = () => `${new URL(sums).host} did not answer within ${answerMs / 1_000} s`;
  using limit = deadline(answerMs, undefined, () => new Error(tooLate()));
  const text = await (await answerTo(sums, limit.signal)).text();
  const sum = sumIn(text, basename(url));
  if (!sum) throw new Error(`${sums} has no SHA-256 of ${basename(url)}`);
  return sum;
};

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

/** Writes the file at an address to a path, and returns its SHA-256. */
const save = async (
  url: string,
  path: string,
  report: Report,
  { silenceMs }: DownloadLimits,
): Promise<string> => {
  const silence = new AbortController();
  const onSilence = () => silence.abort(new Error(`no data came for ${silenceMs / 1_000} s`));
  let timer = setTimeout(onSilence, silenceMs);
  try {
    const { body, headers } = await answerTo(url, silence.signal);
    const total = Number(headers.get("content-length"));
    const hash = createHash("sha256");
    let bytes = 0;
    const received = () => `${megabytes(bytes)}${total ? ` of ${megabytes(total)}` : ""} MB`;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform: (part, output) => {
        clearTimeout(timer);
        timer = setTimeout(onSilence, silenceMs);
        hash.update(part);
        bytes += part.length;
        report(received());
        output.enqueue(part);
      },
    });
    const parts = (body ?? new Blob().stream()).pipeThrough(counted);
    await Deno.writeFile(path, parts, { mode: 0o755 }).catch((cause) => {
      throw new Error(`${url} stopped after ${received()}: ${messageOf(cause)}`, { cause });
    });
    return hash.digest("hex");
  } finally {
    clearTimeout(timer);
  }
};

const unpack = async (guard: Guard, archive: string, member: string): Promise<string> => {
  const args = ["-xzf", archive, "-C", guard.dir, member];
  const { success } = await guard.spawn({ name: "tar", command: "tar", args }).ended();
  if (success) return join(guard.dir, member);
  const output = await tailOf(guard.logFile("tar"), 5);
  throw new Error(`"tar" cannot unpack ${member}\n${output}`);
};

const download = async (
  guard: Guard,
  { name, url, sum, member }: Download,
  target: string,
  report: Report,
  limits: DownloadLimits,
): Promise<void> => {
  const file = join(guard.dir, `${name}.download`);
  const actual = await save(url, file, report, limits);
  if (actual !== sum) throw new Error(`${url} has the SHA-256 ${actual} instead of ${sum}`);
  const program = member ? await unpack(guard, file, member) : file;
  await Deno.rename(program, join(target, name));
};

/** Gets the sums of all programs at the same time; notes the programs without one. */
const withSums = async (
  programs: readonly Program[],
  progress: Progress,
  limits: DownloadLimits,
): Promise<Download[]> => {
  const answers = await Promise.all(
    programs.map((program) =>
      expectedSum(program, limits)
        .then((sum) => ({ ...program, sum }))
        .catch((error) => ({ ...program, fault: messageOf(error) }))
    ),
  );
  const failed = answers.filter((answer) => "fault" in answer);
  for (const [fault, same] of Map.groupBy(failed, (each) => each.fault)) {
    progress.note(`Cannot download ${namesOf(same)}: ${fault}`);
  }
  return answers.filter((answer) => "sum" in answer);
};

/**
 * Downloads the official releases of these programs into the target directory, where each appears
 * only when it is complete and its sum is right. Notes why a program could not be downloaded.
 */
export const downloadPrograms = async <Name extends string>(
  guard: Guard,
  releases: Releases<Name>,
  target: string,
  names: readonly Name[],
  progress: Progress,
  env: Record<string, string>,
  limits: DownloadLimits = DOWNLOAD_LIMITS,
): Promise<void> => {
  const mirror = mirrorFrom(env);
  if (mirror === "off") return;
  const programs = names.flatMap((name) => {
    const official = releases[name];
    if (!official) return [];
    const [url, sums] = [onMirror(mirror, official.url), onMirror(mirror, official.sums)];
    return [{ ...official, name, url, sums }];
  });
  const downloads = await withSums(programs, progress, limits);
  if (downloads.length === 0) return;
  progress.note(`Downloading ${namesOf(downloads)} into ${target}: official releases, once`);
  for (const [index, each] of downloads.entries()) {
    const label = `[${index + 1}/${downloads.length}] ${each.name}`;
    await progress.run(label, (report) => download(guard, each, target, report, limits))
      .catch((error) => progress.note(`Cannot download ${each.name}: ${messageOf(error)}`));
  }
};
