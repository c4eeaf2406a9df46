/** The name of an Export, given as such or as `-o name` prints it. */
export const exportNameOf = (text: string): string =>
  text.replace(/^exports?(?:\.catalog\.xbind\.io)?\//, "");
