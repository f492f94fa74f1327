/** Errors of the relay in the language that the caller names. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { storedIn } from '../../server/contract/stored-texts.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await createTestGateway();
  await gateway.channel('http://127.0.0.1:9', { models: 'unpriced,gpt-4o' });
  key = (await gateway.token()).key;
});
afterAll(() => gateway.close());

const han = /\p{Script=Han}/u;
const english = /[a-z]{4,} [a-z]{2,} /i;

async function messageOf(path: string, language: string | null, credential: string, model: string): Promise<string> {
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${credential}`,
        ...(language === null ? {} : { 'accept-language': language }),
      },
      body: JSON.stringify({ model, max_tokens: 16, messages: [{ role: 'user', content: 'hi' }], prompt: 'hi' }),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
  expect(response.status).toBeGreaterThanOrEqual(400);
  return (await response.text()).replace(/request id: \w+/, '');
}

const refusals = [
  ['a wrong key', 'sk-none', 'gpt-4o'],
  ['a model without a price', '', 'unpriced'],
  ['an upstream that cannot be reached', '', 'gpt-4o'],
] as const;

test.each(
  ['/v1/chat/completions', '/v1/messages', '/mj/submit/imagine'].flatMap((path) =>
    refusals.map(([what, credential, model]) => [path, what, credential, model] as const),
  ),
)('%s, %s: one language for a client that names one', async (path, _what, credential, model) => {
  const requested = credential === '' ? `sk-${key}` : credential;
  for (const language of ['en-US,en;q=0.9', 'fr, en;q=0.5']) {
    const text = await messageOf(path, language, requested, model);
    expect([language, han.test(text)]).toEqual([language, false]);
  }
  const chinese = await messageOf(path, 'zh-CN,zh;q=0.9,en;q=0.8', requested, model);
  expect([han.test(chinese), english.test(chinese)]).toEqual([true, false]);
  // Programs that name none may look for words of either.
  for (const language of [null, '*']) {
    const text = await messageOf(path, language, requested, model);
    expect([han.test(text), english.test(text)]).toEqual([true, true]);
  }
});

test('the log row of a refusal reads in the reader’s language', async () => {
  await messageOf('/v1/chat/completions', null, `sk-${key}`, 'gpt-4o');
  const row = (await gateway.logs()).find(({ type }) => type === 5);
  const content = row?.content ?? '';
  expect(han.test(storedIn(content, 'en'))).toBe(false);
  expect(english.test(storedIn(content, 'zh').replace(/request id: \w+/, ''))).toBe(false);
});
