/** Words of the administrator: Markdown or HTML inside a frame where no script runs, or a page of their own. */
import { useEffect, useRef, useState } from 'react';
import { useDark } from '../lib/theme.ts';

export interface FrameProps {
  readonly title: string;
  /** Markdown or HTML. */
  readonly content: string;
  /** An https address alone is shown as that page; text that every reader sees unasked must not become one. */
  readonly asPage?: boolean;
  readonly small?: boolean;
}

const tokens = [
  '--text-1',
  '--text-2',
  '--text-3',
  '--accent-text',
  '--line',
  '--bg-sunken',
  '--font-sans',
  '--font-mono',
];

/** The frame has a document of its own: the console's tokens are carried over by value. */
function sheet(small: boolean): string {
  const values = getComputedStyle(document.documentElement);
  const root = tokens.map((name) => `${name}:${values.getPropertyValue(name)}`).join(';');
  return `:root{${root};color-scheme:${values.colorScheme}}body{margin:0;font:${small ? '11px/16px' : '14px/22px'} var(--font-sans);color:var(${small ? '--text-3' : '--text-1'});overflow-wrap:anywhere}a{color:var(--accent-text)}img{max-width:100%}p,ul,ol,pre,table{margin:0 0 ${small ? '0' : '12px'}}h1{font-size:20px;line-height:28px}h2{font-size:16px}h3{font-size:14px}pre,code{font-family:var(--font-mono);font-size:.925em;background:var(--bg-sunken)}pre{padding:8px 12px;overflow:auto}td,th{border:1px solid var(--line);padding:4px 8px}`;
}

export function Frame({ title, content, asPage = false, small = false }: FrameProps) {
  const dark = useDark();
  const [page, setPage] = useState('');
  const [height, setHeight] = useState(small ? 16 : 0);
  const frame = useRef<HTMLIFrameElement>(null);
  const address = asPage && /^https:\/\/\S+$/.test(content.trim()) ? content.trim() : null;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the values that are carried over
  useEffect(() => {
    if (address !== null) return;
    let current = true;
    void import('../lib/markdown.ts').then(({ toSafeHtml }) => {
      if (current) setPage(`<base target="_blank"><style>${sheet(small)}</style>${toSafeHtml(content)}`);
    });
    return () => {
      current = false;
    };
  }, [content, address, small, dark]);

  if (address !== null) {
    return (
      <iframe
        title={title}
        src={address}
        className="h-full min-h-96 w-full"
        sandbox={`allow-scripts allow-popups allow-forms${new URL(address).origin === location.origin ? '' : ' allow-same-origin'}`}
      />
    );
  }
  return (
    <iframe
      ref={frame}
      title={title}
      srcDoc={page}
      className="block w-full"
      style={{ height }}
      sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox"
      onLoad={() => setHeight(frame.current?.contentDocument?.documentElement.scrollHeight ?? height)}
    />
  );
}
