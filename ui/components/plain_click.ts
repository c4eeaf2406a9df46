/** Whether a click on a link means "here": not a new tab, window or download. */
export const isPlainClick = (event: MouseEvent): boolean =>
  event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey &&
  !event.altKey;
