import { useState } from "hono/jsx/dom";
import { iconUrl } from "../logic/web_url.ts";

/** Shows the icon of a service, or the first letter of its title. */
export function ServiceIcon({ title, url }: { title: string; url: string | undefined }) {
  const [brokenUrl, setBrokenUrl] = useState<string | undefined>(undefined);
  const source = iconUrl(url, location.origin);
  if (source === undefined || source === brokenUrl) {
    const [letter = "?"] = /[^\s\p{C}]/u.exec(title) ?? []; // the first visible character
    return (
      <span class="service-icon service-letter" aria-hidden="true">
        {letter}
      </span>
    );
  }
  return (
    <img
      class="service-icon"
      alt=""
      width={40}
      height={40}
      loading="lazy"
      decoding="async"
      referrerpolicy="no-referrer"
      onError={() => setBrokenUrl(source)}
      src={source}
    />
  );
}
