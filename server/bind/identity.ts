/** Who binds: the subject identifies, the rest is metadata. */
export interface Identity {
  readonly subject: string;
  readonly displayName?: string;
  readonly groups?: readonly string[];
}
