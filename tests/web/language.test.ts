/** The language that a page starts with. */
import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => vi.unstubAllGlobals());

test('a page starts with what is remembered at that moment, not with what was when the module was loaded', async () => {
  let remembered = 'en';
  vi.stubGlobal('localStorage', { getItem: () => remembered, setItem: () => undefined });
  vi.stubGlobal('document', { documentElement: {} });
  const { currentLanguage, startLanguage } = await import('../../web/lib/i18n.ts');
  const started: string[] = [];
  for (remembered of ['en', 'zh', 'zh-Hant', 'fr', 'zh']) {
    await startLanguage();
    started.push(currentLanguage());
  }
  expect(started).toEqual(['en', 'zh', 'zh', 'en', 'zh']);
});
