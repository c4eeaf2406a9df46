/** One thing in an archive; whoever unpacks it becomes its owner. */
export type ArchiveEntry =
  | {
    readonly kind: "file";
    /** Relative, with forward slashes. */
    readonly path: string;
    readonly content: Uint8Array;
    readonly isExecutable?: boolean;
  }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string };

/** Permission bits of an entry; one of three, so that no umask shows in an archive. */
export function modeOf(entry: ArchiveEntry): number {
  if (entry.kind === "link") return 0o777;
  return entry.kind === "folder" || entry.isExecutable ? 0o755 : 0o644;
}

/** Entries by path, so that the order of a directory listing shows in no archive. */
export const inOrder = (entries: readonly ArchiveEntry[]): ArchiveEntry[] =>
  [...entries].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));

/** These folders and all above them, for archives whose readers do not make them. */
export function foldersOf(paths: readonly string[]): ArchiveEntry[] {
  const folders = new Set<string>();
  for (const path of paths) {
    const parts = path.split("/");
    for (let end = 1; end < parts.length; end++) folders.add(parts.slice(0, end).join("/"));
  }
  return [...folders].map((path) => ({ kind: "folder", path }));
}
