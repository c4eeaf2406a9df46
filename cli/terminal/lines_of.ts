/** The lines of a text of our own making, whose line breaks are meant. */
export const linesOf = (text: string): string[] => text.replace(/\n$/, "").split("\n");
