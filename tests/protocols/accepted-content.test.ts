/** What other makers take of pictures, schemas, stop words and wishes for several answers. */
import Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { heldSchema } from '../../server/protocols/anthropic-messages/answer-schema.ts';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { embeddingIn } from '../../server/protocols/gemini-generate/embeddings.ts';
import { readOpenAiUsage } from '../../server/protocols/openai-chat/usage.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { pictureType, typeOfAddress } from '../../server/protocols/shared/media.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';

function translated(from: ProtocolId, to: ProtocolId, body: Record<string, unknown>) {
  const path = { model: String(body.model ?? 'm'), stream: false };
  const request = codecs[from].translation.decodeRequest(body, path);
  const dropped: string[] = [];
  const made = codecs[to].translation.encodeRequest(request, dropped, targetFor('', request.model));
  return { made: JSON.parse(JSON.stringify(made)), dropped };
}

const base64 = (start: string) => Buffer.from(`${start}${'x'.repeat(20)}`, 'latin1').toString('base64');
const png = base64('\x89PNG\r\n\x1a\n');
const jpeg = base64('\xff\xd8\xff\xe0');

test.each([
  ['image/jpg', jpeg, 'image/jpeg'],
  ['image/jpeg', png, 'image/png'],
  ['image/png', base64('GIF89a'), 'image/gif'],
  ['image/png', base64('RIFF\0\0\0\0WEBP'), 'image/webp'],
  ['image/png', base64('\0\0\0\x1cftypavif'), 'image/avif'],
  ['image/jpg', 'aGk=', 'image/jpeg'],
  ['image/svg+xml', 'aGk=', 'image/svg+xml'],
])('a picture that is labelled %s is what its first bytes say', (label, data, expected) => {
  expect(pictureType(data, label)).toBe(expected);
});

const labels: Readonly<
  Record<string, readonly [ProtocolId, (label: string, data: string) => Record<string, unknown>]>
> = {
  chat: [
    'openai-chat',
    (label, data) => ({
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:${label};base64,${data}` } }] },
      ],
    }),
  ],
  responses: [
    'openai-responses',
    (label, data) => ({
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: `data:${label};base64,${data}` }] }],
    }),
  ],
  messages: [
    'anthropic-messages',
    (media_type, data) => ({
      max_tokens: 5,
      messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type, data } }] }],
    }),
  ],
  gemini: [
    'gemini-generate',
    (mimeType, data) => ({ contents: [{ role: 'user', parts: [{ inlineData: { mimeType, data } }] }] }),
  ],
};

test.each(Object.entries(labels))(
  'a %s client’s wrong label is right at Gemini and Anthropic',
  (_name, [from, make]) => {
    for (const [label, data, right] of [
      ['image/jpg', jpeg, 'image/jpeg'],
      ['image/jpeg', png, 'image/png'],
    ] as const) {
      const body = make(label, data);
      if (from !== 'gemini-generate')
        expect(translated(from, 'gemini-generate', body).made.contents[0].parts[0].inlineData.mimeType).toBe(right);
      if (from !== 'anthropic-messages')
        expect(translated(from, 'anthropic-messages', body).made.messages[0].content[0].source.media_type).toBe(right);
    }
  },
);

test('a picture at an address is what the ending of its path says', () => {
  expect(typeOfAddress('https://x.y/a/cat.PNG?size=1#top')).toBe('image/png');
  expect(typeOfAddress('https://x.y/cat')).toBeNull();
  expect(typeOfAddress('https://x.png/cat')).toBeNull();
  const body = (url: string) => ({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  });
  const mimeOf = (url: string) =>
    translated('openai-chat', 'gemini-generate', body(url)).made.contents[0].parts[0].fileData.mimeType;
  expect([mimeOf('https://x.y/cat.png'), mimeOf('https://x.y/cat')]).toEqual(['image/png', 'image/jpeg']);
});

const person = {
  type: 'object',
  description: 'Somebody.',
  properties: {
    age: { type: 'integer', minimum: 1, maximum: 150 },
    tags: { type: 'array', items: { type: 'string', maxLength: 5 }, minItems: 2, maxItems: 4 },
    one: { type: 'array', items: { type: 'string' }, minItems: 1 },
    mail: { type: 'string', format: 'email' },
    size: { type: 'string', format: 'size', enum: ['s', 'm'] },
    either: { oneOf: [{ type: 'string' }, { type: 'null' }] },
    home: { $ref: '#/$defs/place' },
  },
  required: ['age'],
  $defs: { place: { type: 'object', properties: { zip: { type: 'string', pattern: '^\\d+$' } } } },
};

test('bounds of a schema go into descriptions exactly as the maker’s own package puts them', async () => {
  const { transformJSONSchema } = await import('@anthropic-ai/sdk/lib/transform-json-schema');
  expect(Anthropic).toBeDefined();
  expect(heldSchema(person)).toEqual({ schema: transformJSONSchema(person), moved: true });
  const plain = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false };
  expect(heldSchema(plain)).toEqual({ schema: plain, moved: false });
});

test('a schema of which each part is each of several types stays small, or is asked for in words', () => {
  const types = ['object', 'string', 'array', 'number'];
  let nested: unknown = { type: 'string' };
  for (let depth = 0; depth < 40; depth++) nested = { type: types, anyOf: [nested] };
  expect(JSON.stringify(heldSchema(nested)).length).toBeLessThan(5000);
  let worded: unknown = { type: 'string', pattern: 'x'.repeat(60_000) };
  for (let depth = 0; depth < 40; depth++)
    worded = { type: ['object', 'string'], additionalProperties: false, properties: { a: worded } };
  expect(heldSchema(worded)).toBeNull();
});

test.each<[string, unknown]>([
  ['refers to itself', { type: 'object', properties: { next: { $ref: '#' } } }],
  [
    'refers to itself over a definition',
    {
      $ref: '#/$defs/a',
      $defs: { a: { type: 'array', items: { $ref: '#/$defs/b' } }, b: { anyOf: [{ $ref: '#/$defs/a' }] } },
    },
  ],
  ['leaves open what an object has', { type: 'object', properties: { map: { type: 'object' } } }],
  [
    'takes any name',
    { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } },
  ],
  ['has no type', { type: 'object', properties: { a: {} } }],
  ['is no schema', true],
])('a schema that %s is asked for in words', (_name, schema) => {
  expect(heldSchema(schema)).toBeNull();
  const { made, dropped } = translated('openai-chat', 'anthropic-messages', {
    messages: [{ role: 'user', content: 'hi' }],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
  });
  expect(made).not.toHaveProperty('output_config');
  expect(JSON.stringify(made.system ?? made.messages)).toContain('JSON');
  expect(dropped).toContain('/response_format: a schema that is open or refers to itself is asked for in words');
});

test('several types are several schemas, each with its own bounds', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: ['array', 'null'], items: { type: 'string' }, maxItems: 3 } },
  };
  expect(heldSchema(schema)?.schema).toMatchObject({
    properties: {
      a: { anyOf: [{ type: 'array', items: { type: 'string' }, description: '{maxItems: 3}' }, { type: 'null' }] },
    },
  });
});

test('a schema within goes to the one type that it is about, however often types are nested', () => {
  let schema: Record<string, unknown> = { type: 'string' };
  for (let level = 0; level < 24; level++)
    schema = {
      type: ['object', 'array', 'object'],
      properties: { a: schema },
      items: { type: 'string' },
      required: ['a'],
    };
  const held = heldSchema({ type: 'object', properties: { a: schema } });
  expect(JSON.stringify(held).length).toBeLessThan(10_000);
  expect(
    heldSchema({ type: ['object', 'array'], properties: { a: { type: 'string' } }, items: { type: 'number' } }),
  ).toEqual({
    schema: {
      anyOf: [
        { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false },
        { type: 'array', items: { type: 'number' } },
      ],
    },
    moved: false,
  });
  expect(heldSchema({ type: ['string', 1] })).toBeNull();
});

test('blank stop words stay away from Anthropic, the others go there', () => {
  const { made, dropped } = translated('openai-chat', 'anthropic-messages', {
    messages: [{ role: 'user', content: 'hi' }],
    stop: ['\n', '  ', 'END'],
  });
  expect(made.stop_sequences).toEqual(['END']);
  expect(dropped).toContain('/stop: blank words are not taken');
  const none = translated('openai-chat', 'anthropic-messages', {
    messages: [{ role: 'user', content: 'hi' }],
    stop: '\n',
  });
  expect(none.made).not.toHaveProperty('stop_sequences');
});

test('one answer is bought where a translation delivers one, and it is said', () => {
  const several = translated('openai-chat', 'gemini-generate', { messages: [{ role: 'user', content: 'hi' }], n: 2 });
  expect(several.made.generationConfig?.candidateCount).toBeUndefined();
  expect(several.dropped).toContain('/n: one answer only');
  const other = translated('gemini-generate', 'openai-chat', {
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    generationConfig: { candidateCount: 3 },
  });
  expect(other.made.n).toBeUndefined();
  expect(other.dropped).toContain('/n: one answer only');
  const same = translated('openai-chat', 'openai-chat', { messages: [{ role: 'user', content: 'hi' }], n: 2 });
  expect(same.made.n).toBe(2);
});

test('cached tokens are read under their second name too, and a zero under the first does not hide them', () => {
  const usage = { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cache_read_tokens: 80 } };
  expect(readOpenAiUsage(usage)).toMatchObject({ input: 20, cacheRead: 80 });
  const both = { ...usage, prompt_tokens_details: { cached_tokens: 0, cache_read_tokens: 80 } };
  expect(readOpenAiUsage(both)).toMatchObject({ input: 20, cacheRead: 80 });
});

test('numbers of another maker’s embeddings are packed as OpenAI packs them, where base64 was asked for', () => {
  const packed = Buffer.from(new Float32Array([0.5, -2]).buffer).toString('base64');
  expect(embeddingIn('base64', [0.5, -2])).toBe(packed);
  expect(embeddingIn('float', [0.5, -2])).toEqual([0.5, -2]);
});
