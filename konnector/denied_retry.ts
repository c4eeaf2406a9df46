/** Returns when to ask again for a refused right: after 30 s, give or take 5 s. */
export const deniedRetryMs = (): number => 25_000 + Math.random() * 10_000;
