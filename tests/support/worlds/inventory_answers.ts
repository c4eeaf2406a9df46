import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { Instances } from "../../../common/api/wire.ts";
import type { InventoryAnswer } from "../../../server/inventory/inventory.ts";

/** Parses the body of an answer. */
export const decoded = <T>({ body }: InventoryAnswer): T =>
  JSON.parse(new TextDecoder().decode(body));

/** Names each instance by its API and its place. */
export const places = ({ instances }: Instances): string[] =>
  instances.map(({ api, namespace = "", name }) => `${api} ${namespace}/${name}`);

/** Retries until the answer is wanted, and returns it. */
export const answerWhen = <T>(
  what: string,
  ask: () => Promise<InventoryAnswer>,
  isWanted: (answer: T) => boolean,
): Promise<T> =>
  eventually(what, async () => {
    const answer = decoded<T>(await ask());
    return isWanted(answer) && answer;
  }) as Promise<T>;
