/** A page of another origin in a real browser: it talks to models with a key, and to nothing else of the site. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Inside, openInside } from './inside.ts';

let inside: Inside;
let elsewhere: ReturnType<typeof Bun.serve>;
beforeAll(async () => {
  inside = await openInside();
  elsewhere = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response('<!doctype html><title>chat</title>', { headers: { 'content-type': 'text/html' } }),
  });
});
afterAll(async () => {
  void elsewhere?.stop(true);
  await inside?.stage.close();
});

test('streams and refusals are read there, what a session opens is not', async () => {
  const { page, key } = inside;
  const { url } = inside.stage;
  // The session's cookies are known to this browser.
  const guest = await page.context().newPage();
  await guest.goto(`http://127.0.0.1:${elsewhere.port}/`);
  const results = await guest.evaluate(
    async ({ url, key }) => {
      const read = async (path: string, init: RequestInit) => {
        try {
          const answer = await fetch(`${url}${path}`, init);
          const text = await answer.text();
          return { status: answer.status, id: answer.headers.get('x-oneapi-request-id') !== null, text };
        } catch (error) {
          return { status: 0, id: false, text: String(error) };
        }
      };
      const chat = (authorization: string): RequestInit => ({
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json', 'x-stainless-lang': 'js' },
        body: JSON.stringify({ model: 'practice-small', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
      });
      return {
        streamed: await read('/v1/chat/completions', chat(`Bearer ${key}`)),
        refused: await read('/v1/chat/completions', chat('Bearer sk-nobody')),
        self: await read('/api/user/self', { credentials: 'include', headers: { 'new-api-user': '1' } }),
        status: await read('/api/status', {}),
        playground: await read('/pg/chat/completions', { ...chat(''), credentials: 'include' }),
        cookies: await read('/v1/models', { credentials: 'include', headers: { authorization: `Bearer ${key}` } }),
      };
    },
    { url, key: key.startsWith('sk-') ? key : `sk-${key}` },
  );
  expect(results.streamed).toMatchObject({ status: 200, id: true, text: expect.stringContaining('data: [DONE]') });
  expect(results.refused).toMatchObject({ status: 401, id: true, text: expect.stringContaining('token_invalid') });
  for (const one of ['self', 'status', 'playground', 'cookies'] as const)
    expect([one, results[one].status]).toEqual([one, 0]);
  await guest.close();
});
