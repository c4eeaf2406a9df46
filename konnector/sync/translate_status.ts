import { type Fields, isFields } from "./fields.ts";

/** The generation of one content on both sides. */
export interface Generations {
  readonly provider: number;
  readonly consumer: number;
}

/**
 * Rewrites `observedGeneration` in a provider's status, at the top and in conditions, to the
 * numbers of the consumer. Otherwise `kubectl wait` on the consumer would compare numbers that have
 * nothing to do with each other.
 */
export function translateStatus(status: unknown, generations: Generations): unknown {
  if (!isFields(status)) return status;
  const translated = translateFields(status, generations);
  const { conditions } = translated;
  if (!Array.isArray(conditions)) return translated;
  const each = (item: unknown) => isFields(item) ? translateFields(item, generations) : item;
  return { ...translated, conditions: conditions.map(each) };
}

function translateFields(fields: Fields, { provider, consumer }: Generations): Fields {
  const observed = fields["observedGeneration"];
  if (typeof observed !== "number" || consumer === 0) return fields;
  // An older generation of the provider stands for an older one of the consumer, never the current.
  const translated = observed >= provider ? consumer : consumer - (provider - observed);
  return { ...fields, observedGeneration: Math.max(translated, 0) };
}
