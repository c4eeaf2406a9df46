import { useState } from "hono/jsx/dom";
import { webUrl } from "../logic/web_url.ts";

/** The picture of a service, or its first letter where there is none to show. */
export function ServiceIcon({ title, url }: { title: string; url: string | undefined }) {
  const [brokenUrl, setBrokenUrl] = useState<string | undefined>(undefined);
  const source = webUrl(url);
  if (source === undefined || source === brokenUrl) {
    const [letter = "?"] = title.trim();
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
