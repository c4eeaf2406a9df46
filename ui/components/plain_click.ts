/** Returns whether a click opens a link in this tab, not in a new tab or as a download. */
export const isPlainClick = (event: MouseEvent): boolean =>
  event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey &&
  !event.altKey;
