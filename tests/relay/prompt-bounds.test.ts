/** What a prompt costs at most has a bound that its author cannot lower, wherever the words lie and whatever they are called. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { mediaIn } from '../../server/relay/intake/media.ts';
import { readPrompt } from '../../server/relay/intake/prompt.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

/** Four bytes a token. */
const counter = {
  count: async (_model: string, texts: readonly string[]) =>
    texts.map((text) => Math.ceil(Buffer.byteLength(text) / 4)),
  close: () => undefined,
};

let gateway: TestGateway;
let upstream: Upstream;
const open = async (quota: number) => {
  gateway = await createTestGateway({ quota, relay: { counter } });
  await gateway.channel(upstream.url, { models: 'gpt-4o,text-embedding-3-small,tts-1,picture-model' });
  await gateway.channel(upstream.url, { type: 14, models: 'claude-3-5-haiku-20241022' });
  const ratios = { 'gpt-4o': 1, 'claude-3-5-haiku-20241022': 1, 'text-embedding-3-small': 1, 'picture-model': 1 };
  await gateway.option('ModelRatio', JSON.stringify(ratios));
  return (await gateway.token()).key;
};
beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(10, 1)));
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const post = async (key: string, path: string, body: unknown) => {
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, text: await response.text() };
};

const words = 'some words '.repeat(20_000);
const chat = (content: unknown, more: object = {}) => [
  '/v1/chat/completions',
  { model: 'gpt-4o', max_tokens: 16, messages: [{ role: 'user', content }], ...more },
];
const claude = (content: unknown) => [
  '/v1/messages',
  { model: 'claude-3-5-haiku-20241022', max_tokens: 16, messages: [{ role: 'user', content }] },
];
const image = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(90_000, 7)]).toString('base64');

describe('words that do not fit the balance are refused', () => {
  test.each<readonly [string, readonly unknown[]]>([
    ['as plain text', chat(words)],
    [
      'behind data:',
      chat([
        { type: 'text', text: 'hi' },
        { type: 'text', text: `data: ${words}` },
      ]),
    ],
    ['as the type of a part', chat([{ type: words, text: 'hi' }])],
    ['as a picture that is none', chat([{ type: 'image_url', image_url: { url: `data:image/png;base64,${words}` } }])],
    [
      'as the description of a tool',
      chat('hi', { tools: [{ type: 'function', function: { name: 'x', description: `data:${words}` } }] }),
    ],
    [
      'as a name in a tool',
      chat('hi', { tools: [{ type: 'function', function: { name: 'x', parameters: { [words]: {} } } }] }),
    ],
    ['as numbers in a tool', chat('hi', { tools: [{ data: Array.from({ length: 20_000 }, (_, at) => at) }] })],
    [
      'as a text document',
      claude([{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: words } }]),
    ],
    [
      'as a text document in base64',
      claude([
        {
          type: 'document',
          source: { type: 'base64', media_type: 'text/plain', data: Buffer.from(words).toString('base64') },
        },
      ]),
    ],
    ['as the id in the input of a call', claude([{ type: 'tool_use', id: 't', name: 'x', input: { id: words } }])],
    [
      'as a real picture in the input of a call',
      claude([
        { type: 'tool_use', id: 't', name: 'x', input: { data: image, source: { type: 'base64', data: image } } },
      ]),
    ],
    [
      'as a file that is named by its address',
      [
        '/v1/responses',
        {
          model: 'gpt-4o',
          max_output_tokens: 16,
          input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://example.com/long.pdf' }] }],
        },
      ],
    ],
    ['as a stored prompt', ['/v1/responses', { model: 'gpt-4o', max_output_tokens: 16, prompt: { id: 'pmpt_1' } }]],
    [
      'as tokens',
      ['/v1/embeddings', { model: 'text-embedding-3-small', input: Array.from({ length: 10_000 }, () => 1) }],
    ],
  ])('%s', async (_name, [path, body]) => {
    const key = await open(3000);
    const { status, text } = await post(key, String(path), body);
    expect([status, text]).toEqual([
      /responses$|messages$/.test(String(path)) ? 429 : 403,
      expect.stringContaining('user_exhausted'),
    ]);
    expect(upstream.requests).toEqual([]);
  });
});

test('a real picture at its place is no words, and fits a small balance', async () => {
  const key = await open(6000);
  const [path, body] = chat([{ type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }]);
  expect((await post(key, String(path), body)).status).toBe(200);
});

test('a file of unknown length is held for with all that the model reads', async () => {
  const key = await open(10_000_000);
  let held = 0;
  upstream.script((response) => {
    held = 10_000_000 - gateway.balances.account(gateway.userId, 0).available();
    sendJson(response, completion(10, 1));
  });
  const pdf = Buffer.concat([Buffer.from('%PDF-1.7'), Buffer.alloc(900)]).toString('base64');
  const [path, body] = chat([{ type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } }]);
  expect((await post(key, String(path), body)).status).toBe(200);
  expect(held).toBeGreaterThanOrEqual(128_000);
  expect(held).toBeLessThan(130_000);
});

test.each([
  ['sound', 'audio_url', 'https://media.example/a.wav', 'file'],
  ['a film', 'video_url', 'https://media.example/a.mp4', 'file'],
  ['a picture', 'image_url', 'https://media.example/a.png', 'imageInput'],
])(
  '%s that is named by its address is reserved as what it may be, not as a few words',
  async (_what, type, url, bucket) => {
    await open(1000);
    const found = mediaIn(url, { key: 'url', owner: { url }, ownerKey: type, part: { type, [type]: { url } } });
    expect(found?.bucket).toBe(bucket);
  },
);

test.each([
  ['image', 'imageInput'],
  ['document', 'file'],
])('a source by its address is reserved as what its part is: %s', async (type, bucket) => {
  await open(1000);
  const url = 'https://media.example/a';
  const place = (kind: string) => ({
    key: 'url',
    owner: { type: kind, url },
    ownerKey: 'source',
    part: { type, source: { type: kind, url } },
  });
  expect(mediaIn(url, place('url'))?.bucket).toBe(bucket);
  expect(mediaIn(url, place('text'))).toBeNull();
});

test('tokens that are sent as numbers are charged where no usage is reported', async () => {
  const key = await open(1_000_000);
  upstream.script((response) => sendJson(response, { object: 'list', data: [] }));
  await post(key, '/v1/embeddings', {
    model: 'text-embedding-3-small',
    input: [
      [1, 2, 3],
      [4, 5],
    ],
  });
  expect((await gateway.lastLog())?.prompt_tokens).toBe(5);
});

test.each([[['hello']], [{ text: 'hello' }], [12]])('speech of %j is refused', async (input) => {
  const key = await open(1_000_000);
  const { status, text } = await post(key, '/v1/audio/speech', { model: 'tts-1', input, voice: 'alloy' });
  expect([status, text]).toEqual([400, expect.stringContaining('input must be a string')]);
  expect(upstream.requests).toEqual([]);
});

test.each(['constructor', '__proto__', 'hasOwnProperty', 'toString'])(
  'a picture may be asked for with the size and quality %s',
  async (word) => {
    const key = await open(1_000_000);
    upstream.script((response) => sendJson(response, { data: [{ b64_json: 'AA==' }] }));
    const { status } = await post(key, '/v1/images/generations', {
      model: 'picture-model',
      prompt: 'x',
      size: word,
      quality: word,
    });
    expect(status).toBe(200);
  },
);

describe('blocked words are looked for wherever words count', () => {
  const prompt = 'please say forbidden-word now';
  const result = (content: unknown) => claude([{ type: 'tool_result', tool_use_id: 't', content }]);
  test.each<readonly [string, readonly unknown[]]>([
    ['behind data:', chat(`data: ${prompt}`)],
    [
      'in a text document',
      claude([{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: prompt } }]),
    ],
    [
      'in a text document in base64',
      claude([
        {
          type: 'document',
          source: { type: 'base64', media_type: 'text/plain', data: Buffer.from(prompt).toString('base64') },
        },
      ]),
    ],
    ['in a result', result([{ type: 'text', text: `data:${prompt}` }])],
    ['in the input of a call', claude([{ type: 'tool_use', id: 't', name: 'x', input: { id: prompt, data: 1 } }])],
    ['as a type', chat([{ type: prompt, text: 'hi' }])],
    ['with a blank of no width in it', chat(prompt.replace('den', '\u200bden'))],
    ['with a soft hyphen and a joiner in it', chat(prompt.replace('den', 'd\u00ade\u2060n'))],
    [
      'escaped in the JSON of a call',
      chat('hi', {
        messages: [
          {
            role: 'assistant',
            tool_calls: [
              { id: 'c', type: 'function', function: { name: 'x', arguments: '{"a":"forb\\u0069dden-word"}' } },
            ],
          },
        ],
      }),
    ],
  ])('%s', async (_name, [path, body]) => {
    const key = await open(1_000_000);
    await gateway.option('CheckSensitiveEnabled', 'true');
    await gateway.option('CheckSensitiveOnPromptEnabled', 'true');
    await gateway.option('SensitiveWords', 'forbidden-word');
    const { status, text } = await post(key, String(path), body);
    expect([status, text]).toEqual([400, expect.stringContaining('sensitive_words')]);
    expect(upstream.requests).toEqual([]);
  });
});

test('ids and signatures that were made by chance are counted, and no words are looked for in them', async () => {
  await open(1);
  const id = 'call_9aQ7fXbcdEFghiJ0';
  const { marks, texts, frame } = readPrompt({ messages: [{ role: 'tool', tool_call_id: id, content: 'ok' }] });
  expect({ marks, texts, frame }).toEqual({ marks: [id], texts: ['ok'], frame: ['tool'] });
  const inner = readPrompt({ messages: [{ role: 'assistant', content: [{ type: 'tool_use', input: { id } }] }] });
  expect(inner.marks).toEqual([]);
});

describe('what a request makes the model read is held for', () => {
  const quota = 100_000_000;
  const png = `data:image/png;base64,${image}`;
  const film = Buffer.concat([Buffer.from('0000001866747970', 'hex'), Buffer.from('isom'), Buffer.alloc(60_000, 1)]);
  const play = (more: object = {}) => ({
    contents: [
      { role: 'user', parts: [{ inlineData: { mimeType: 'video/mp4', data: film.toString('base64') }, ...more }] },
    ],
    generationConfig: { maxOutputTokens: 16 },
  });
  const heldFor = async (path: string, body: object, headers: Record<string, string> = {}) => {
    gateway = await createTestGateway({ quota, relay: { counter } });
    let held = 0;
    upstream.script((response) => {
      held = quota - gateway.balances.account(gateway.userId, 0).available();
      sendJson(response, {});
    });
    await gateway.channel(upstream.url, { models: 'gpt-4o-mini,gpt-5.4,gpt-5.6,gpt-6-mini,qwen3-vl-plus,gpt-4o' });
    await gateway.channel(upstream.url, { type: 14, models: 'claude-sonnet-4-5' });
    await gateway.channel(upstream.url, { type: 24, models: 'gemini-2.5-flash' });
    await gateway.channel(upstream.url, { type: 38, models: 'rerank' });
    const models = [
      'gpt-4o-mini',
      'gpt-5.4',
      'gpt-5.6',
      'gpt-6-mini',
      'qwen3-vl-plus',
      'gpt-4o',
      'claude-sonnet-4-5',
      'gemini-2.5-flash',
    ];
    const ones = JSON.stringify(Object.fromEntries([...models, 'rerank'].map((model) => [model, 1])));
    await gateway.option('ModelRatio', ones);
    await gateway.option('CompletionRatio', ones);
    await gateway.option('AudioRatio', '{"gemini-2.5-flash":10}');
    const { key } = await gateway.token();
    const request = new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    await (await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' })).text();
    return held;
  };

  test.each([
    ['gpt-4o-mini', 48_169],
    ['gpt-5.4', 10_000],
    ['gpt-5.6', 36_000],
    ['gpt-6-mini', 36_000],
    ['qwen3-vl-plus', 16_384],
  ])('a picture, as finely as %s reads one', async (model, tokens) => {
    const [path, body] = chat([{ type: 'image_url', image_url: { url: png, detail: 'high' } }], { model });
    expect(await heldFor(String(path), body as object)).toBeGreaterThanOrEqual(tokens);
  });

  const side = (pixels: number) => Buffer.from([pixels >> 8, pixels & 255]);
  const asPng = (width: number, height: number, start = '\u0089PNG\r\n\u001a\n') =>
    Buffer.concat([
      Buffer.from(`${start.padEnd(11, '\0')}\rIHDR\0\0`, 'latin1'),
      side(width),
      Buffer.alloc(2),
      side(height),
      Buffer.alloc(80),
    ]);
  const asJpeg = (width: number, height: number, before = '\u00ff\u00e0\0\u0004ab') =>
    Buffer.concat([
      Buffer.from(`\u00ff\u00d8${before}\u00ff\u00c0\0\u0011\u0008`, 'latin1'),
      side(height),
      side(width),
      Buffer.alloc(80),
    ]);

  test.each<readonly [string, string, Buffer, number, number]>([
    ['a screen', 'gpt-5.6', asPng(1920, 1080), 0, 6000],
    ['a screen', 'gpt-5.6', asJpeg(2560, 1440), 0, 6000],
    ['a screen', 'gpt-4o-mini', asPng(64, 64), 48_169, 60_000],
    ['a large one', 'gpt-5.6', asPng(5500, 5500), 36_000, 40_000],
    ['a large one', 'gpt-5.6', asJpeg(5500, 5500), 36_000, 40_000],
    ['one that another reader reads otherwise', 'gpt-5.6', asPng(64, 64, 'GIF89a'), 36_000, 40_000],
    ['one that another reader reads otherwise', 'gpt-5.6', asJpeg(64, 64, '\u00ff\u0001\0\u0004ab'), 36_000, 40_000],
    ['one without a size', 'gpt-5.6', asJpeg(0, 0), 36_000, 40_000],
  ])('%s is held for by its size: %s', async (_name, model, picture, least, most) => {
    const url = `data:image/png;base64,${picture.toString('base64')}`;
    const [path, body] = chat([{ type: 'image_url', image_url: { url } }], { model });
    const found = await heldFor(String(path), body as object);
    expect(found).toBeGreaterThanOrEqual(least);
    expect(found).toBeLessThan(most);
  });

  test.each([
    ['videoMetadata', { videoMetadata: { fps: 24 } }],
    ['video_metadata', { video_metadata: { fps: 24 } }],
  ])('a film, with as many pictures of a second as %s asks for', async (_name, more) => {
    // Some ten seconds, of 24 pictures each.
    expect(await heldFor('/v1beta/models/gemini-2.5-flash:generateContent', play(more))).toBeGreaterThanOrEqual(
      10 * 24 * 300,
    );
  });

  test('a longer prompt than the model usually takes, where a header asks for that', async () => {
    const [, body] = claude('words '.repeat(150_000));
    const long = { ...(body as object), model: 'claude-sonnet-4-5' };
    const held = await heldFor('/v1/messages', long, { 'anthropic-beta': 'context-1m-2025-08-07' });
    expect(held).toBeGreaterThanOrEqual(900_000);
  });

  test('pages beyond what the model usually takes, where a header asks for that', async () => {
    const fetching = {
      model: 'claude-sonnet-4-5',
      max_tokens: 16,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }],
    };
    const held = await heldFor('/v1/messages', fetching, { 'anthropic-beta': 'context-1m-2025-08-07' });
    expect(held).toBeGreaterThanOrEqual(1_000_000);
  });

  test.each([
    ['in objects', { query: { text: 'q'.repeat(1000) }, documents: Array<string>(100).fill('a') }],
    ['in lists of an object', { query: 'q'.repeat(1000), documents: { content: Array<string>(100).fill('a') } }],
    ['under other names', { query: { text: 'q'.repeat(1000) }, passages: Array<object>(100).fill({ text: 'a' }) }],
  ])('a question with each of the documents: %s', async (_name, body) => {
    expect(await heldFor('/v1/rerank', { model: 'rerank', ...body })).toBeGreaterThanOrEqual(100_000);
  });

  test('an answer that speaks, whatever another member says of it', async () => {
    const speaking = {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      modalities: ['text'],
      generationConfig: { maxOutputTokens: 1000, responseModalities: ['AUDIO'] },
    };
    const held = await heldFor('/v1beta/models/gemini-2.5-flash:generateContent', speaking);
    expect(held).toBeGreaterThanOrEqual(10_000);
  });
});
