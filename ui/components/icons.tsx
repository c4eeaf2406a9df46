const outline = {
  width: "16",
  height: "16",
  viewBox: "0 0 16 16",
  fill: "none",
  stroke: "currentColor",
  "stroke-width": "1.5",
  "stroke-linecap": "round",
  "stroke-linejoin": "round",
  "aria-hidden": "true",
  class: "glyph",
};

/** Draws an icon that only repeats the text beside it, so screen readers skip it. */
const glyph = (path: string) => () => (
  <svg {...outline}>
    <path d={path} />
  </svg>
);

export const CloseIcon = glyph("M4 4l8 8M12 4l-8 8");
export const SearchIcon = glyph("M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7 14 14");
export const ToYouIcon = glyph("M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10");
export const FromYouIcon = glyph("M8 11V3M4.5 6 8 2.5 11.5 6M3 13.5h10");
export const OutsideIcon = glyph("M6.5 3.5h-3v9h9v-3M9.5 2.5h4v4M13 3 7.5 8.5");
export const CopyIcon = glyph("M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3");
export const CheckIcon = glyph("M3 8.5 6.5 12 13 4.5");
export const WarningIcon = glyph("M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 12v.1");
export const LockIcon = glyph("M3.5 7.5h9v6h-9zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5");
export const PlusIcon = glyph("M8 3v10M3 8h10");

/** Draws the logo: two halves that meet. */
export const BrandMark = () => (
  <svg class="brand-mark" width="24" height="24" viewBox="0 0 32 32" aria-hidden="true">
    <rect class="brand-tile" width="32" height="32" rx="8" />
    <path class="brand-halves" d="M9 9c6 3.5 6 10.5 0 14M23 9c-6 3.5-6 10.5 0 14" />
  </svg>
);
