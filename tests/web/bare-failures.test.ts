/** Failures that come without a message of ours, as from a proxy, in the words of the documents. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { aroundPages } from './rendered.tsx';

beforeAll(() => aroundPages());
afterAll(() => vi.unstubAllGlobals());

test.each([
  [429, '请求过于频繁，请稍候（HTTP 429）'],
  [500, '服务器内部错误，请联系管理员（HTTP 500）'],
  [405, '本站仅供演示，没有后端（HTTP 405）'],
  [418, '意外的响应（HTTP 418）'],
])('a page of a proxy with status %i says it in words', async (status, words) => {
  vi.stubGlobal('fetch', async () => new Response('<html><h1>Nope</h1></html>', { status }));
  const { call } = await import('../../web/lib/api.ts');
  await expect(call('status.notice')).rejects.toThrow(words);
});
