/** What others let run in the pages that administrators and users look at. */
import { renderToStaticMarkup } from 'react-dom/server';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { aroundPages } from '../web/rendered.tsx';
import { incident } from './incident.ts';

const own = 'https://site.example';
beforeAll(() => aroundPages());
afterAll(() => {
  vi.unstubAllGlobals();
});

const frameOf = async (content: string, asPage: boolean): Promise<{ rules: Set<string>; src: string | null }> => {
  const { Frame } = await import('../../web/components/frame.tsx');
  const html = renderToStaticMarkup(<Frame title="x" content={content} asPage={asPage} />);
  const attribute = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(html)?.[1] ?? null;
  return { rules: new Set((attribute('sandbox') ?? '').split(' ')), src: attribute('src') };
};

incident('CVE-2025-3801', 'a home page from the settings ran script in everybody’s console', async () => {
  const words = await frameOf('<script>steal()</script>', true);
  expect([words.src, words.rules.has('allow-scripts')]).toEqual([null, false]);
  const address = await frameOf('https://home.example/page', false);
  expect([address.src, address.rules.has('allow-scripts')]).toEqual([null, false]);
  // A page may have scripts or our own origin, never both.
  const mine = await frameOf(`${own}/page`, true);
  expect([mine.src, mine.rules.has('allow-scripts'), mine.rules.has('allow-same-origin')]).toEqual([
    `${own}/page`,
    true,
    false,
  ]);
  const theirs = await frameOf('https://home.example/page', true);
  expect([theirs.rules.has('allow-scripts'), theirs.rules.has('allow-same-origin')]).toEqual([true, true]);
  for (const { rules } of [words, address, mine, theirs]) expect(rules.has('allow-top-navigation')).toBe(false);
  for (const source of ['javascript:steal()', 'data:text/html,x', 'http://home.example'])
    expect((await frameOf(source, true)).src).toBe(null);
});

incident('CVE-2025-3801 (policy)', 'what had got into a page could load and run what it liked', async () => {
  const { createConsoleAssets } = await import('../../server/http/console-assets.ts');
  const assets = createConsoleAssets(() => ({ botCheck: false, payAddress: '' }), '', [
    { path: '/index.html', plain: import.meta.filename, brotli: null },
  ]);
  const policy = assets(new Request('http://gateway/'), '/')?.headers.get('content-security-policy') ?? '';
  const rules = new Map(
    policy.split(';').map((rule) => {
      const [name = '', ...sources] = rule.trim().split(/ +/);
      return [name, sources] as const;
    }),
  );
  expect(rules.get('script-src')).toEqual(["'self'"]);
  expect([rules.get('object-src'), rules.get('base-uri'), rules.get('frame-ancestors')]).toEqual([
    ["'none'"],
    ["'none'"],
    ["'none'"],
  ]);
});
