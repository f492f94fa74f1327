/** An error of the relay has one language: that of Accept-Language, else the one the key's owner saved, else English. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { storedIn } from '../../server/contract/stored-texts.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let key: string;
beforeEach(async () => {
  gateway = await createTestGateway();
  await gateway.channel('http://127.0.0.1:9', { models: 'unpriced,gpt-4o' });
  key = (await gateway.token()).key;
});
afterEach(() => gateway.close());

const han = /\p{Script=Han}/u;
const english = /[a-z]{4,} [a-z]{2,} /i;
const peer = { ip: () => '127.0.0.1' };

const unreadable = (async () => new Response('<html></html>')) as unknown as typeof fetch;

const languageIn = (text: string): string =>
  [english.test(text) ? 'en' : '', han.test(text) ? 'zh' : ''].filter((one) => one !== '').join(' and ');

const post = (path: string, accepted: string | null, credential: string, body: object): Request =>
  new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${credential}`,
      ...(accepted === null ? {} : { 'accept-language': accepted }),
    },
    body: JSON.stringify(body),
  });

const chat = (model: string) => ({
  model,
  max_tokens: 16,
  messages: [{ role: 'user', content: 'hi' }],
  prompt: 'hi',
});

async function textOf(response: Response | null): Promise<string> {
  expect(response?.status).toBeGreaterThanOrEqual(400);
  return (await response?.text())?.replace(/request id: \w+/, '') ?? '';
}

const refusalText = async (path: string, accepted: string | null, credential: string, model: string): Promise<string> =>
  textOf(await gateway.relay.handle(post(path, accepted, credential, chat(model)), path, peer));

/** As the console does it when its user picks a language. */
async function save(language: 'zh' | 'en'): Promise<void> {
  await gateway.services.settings.change(gateway.userId, { language }, async () => undefined);
  await gateway.sync();
}

const refusals = [
  ['a wrong key', 'sk-none', 'gpt-4o'],
  ['a model without a price', '', 'unpriced'],
  ['an upstream that cannot be reached', '', 'gpt-4o'],
] as const;

test.each(
  ['/v1/chat/completions', '/v1/messages', '/mj/submit/imagine', '/suno/submit/music'].flatMap((path) =>
    refusals.map(([what, credential, model]) => [path, what, credential, model] as const),
  ),
)('%s, %s: the language that the client names, English where it names none', async (path, _what, credential, model) => {
  const presented = credential === '' ? `sk-${key}` : credential;
  for (const [accepted, language] of [
    ['en-US,en;q=0.9', 'en'],
    ['fr, en;q=0.5', 'en'],
    ['zh-CN,zh;q=0.9,en;q=0.8', 'zh'],
    [null, 'en'],
    ['*', 'en'],
    ['fr', 'en'],
  ] as const)
    expect([accepted, languageIn(await refusalText(path, accepted, presented, model))]).toEqual([accepted, language]);
});

test.each(['/v1/chat/completions', '/v1/messages', '/mj/submit/imagine'])(
  '%s: a client that names no language reads the one that the key’s owner saved',
  async (path) => {
    const languages = async (accepted: string | null) => [
      languageIn(await refusalText(path, accepted, `sk-${key}`, 'unpriced')),
      languageIn(await refusalText(path, accepted, `sk-${key}`, 'gpt-4o')),
    ];
    await save('zh');
    expect(await languages(null)).toEqual(['zh', 'zh']);
    expect(await languages('en')).toEqual(['en', 'en']);
    await save('en');
    expect(await languages(null)).toEqual(['en', 'en']);
    expect(await languages('zh')).toEqual(['zh', 'zh']);
  },
);

test('a key that is refused itself still names its owner’s language', async () => {
  const { key: expired } = await gateway.token({ expired_time: 1 });
  await save('zh');
  const path = '/v1/chat/completions';
  expect(languageIn(await refusalText(path, null, `sk-${expired}`, 'gpt-4o'))).toBe('zh');
  // An unknown key has no owner.
  expect(languageIn(await refusalText(path, null, 'sk-none', 'gpt-4o'))).toBe('en');
});

test('a list of models, a stream that waits and a refused socket follow the same rule', async () => {
  await save('zh');
  const models = new Request('http://gateway/v1/models/none', { headers: { authorization: `Bearer sk-${key}` } });
  expect(languageIn(await textOf(await gateway.relay.handle(models, '/v1/models/none', peer)))).toBe('zh');
  await gateway.option('general_setting.ping_interval_enabled', 'true');
  await gateway.option('general_setting.ping_interval_seconds', '1');
  const path = '/v1/chat/completions';
  const stream = { ...chat('gpt-4o'), stream: true };
  const response = await gateway.relay.handle(post(path, null, `sk-${key}`, stream), path, peer);
  expect(languageIn((await response.text()).replace(/request id: \w+/, ''))).toBe('zh');
  const socket = new Request('http://gateway/v1/realtime?model=unpriced', {
    headers: { authorization: `Bearer sk-${key}`, upgrade: 'websocket' },
  });
  const refused = await gateway.relay.realtime(socket, peer);
  expect(languageIn(await textOf(refused instanceof Response ? refused : null))).toBe('zh');
});

test('a server that sheds load answers in the language of the key’s owner', async () => {
  await gateway.close();
  gateway = await createTestGateway({ relay: { isOverloaded: () => true } });
  ({ key } = await gateway.token());
  const path = '/v1/chat/completions';
  const shed = async (accepted: string | null, credential: string) =>
    languageIn(await textOf(gateway.relay.reject(post(path, accepted, credential, chat('gpt-4o')), path, peer)));
  expect([await shed(null, `sk-${key}`), await shed('zh', `sk-${key}`), await shed(null, 'sk-none')]).toEqual([
    'en',
    'zh',
    'en',
  ]);
  await save('zh');
  expect([await shed(null, `sk-${key}`), await shed('en', `sk-${key}`), await shed(null, 'sk-none')]).toEqual([
    'zh',
    'en',
    'en',
  ]);
});

test('the log row of a refusal keeps both languages, and reads in the reader’s', async () => {
  await refusalText('/v1/chat/completions', 'en', `sk-${key}`, 'gpt-4o');
  const row = (await gateway.logs()).find(({ type }) => type === 5);
  const content = row?.content ?? '';
  expect(han.test(storedIn(content, 'en'))).toBe(false);
  expect(languageIn(storedIn(content, 'zh').replace(/request id: \w+/, ''))).toBe('zh');
});

test('a channel’s test keeps both languages: its result is stored for every reader', async () => {
  await gateway.close();
  gateway = await createTestGateway({ channelTests: true, upstreamFetch: unreadable });
  const channel = await gateway.channel('http://127.0.0.1:9', { models: 'gpt-4o' });
  const { message } = await gateway.services.channels.test(channel, 'gpt-4o', false);
  expect([languageIn(storedIn(message, 'en')), han.test(storedIn(message, 'zh'))]).toEqual(['en', true]);
});
