/** What a model answered, as the Markdown it is. */
import { useEffect, useRef } from 'react';

export function Answer({ text }: { readonly text: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let current = true;
    void import('../../lib/markdown.ts').then(({ toSafeHtml }) => {
      if (current && place.current !== null) place.current.innerHTML = toSafeHtml(text);
    });
    return () => {
      current = false;
    };
  }, [text]);
  return <div ref={place} className="markdown break-words" />;
}
