/** No member of a request is lost silently: a lost member is listed, or stands here with the reason why its loss does no harm. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { relayRouteFor } from '../../server/relay/intake/routes.ts';
import { fixtures } from './fixtures.ts';

/** Recorded requests of agents and SDKs, where they are at hand. */
const folder = resolve(import.meta.dirname, '../../../shared/client-captures');
interface Requested {
  readonly name: string;
  readonly from: ProtocolId;
  readonly body: Readonly<Record<string, unknown>>;
}
const recorded = (existsSync(folder) ? readdirSync(folder) : [])
  .filter((file) => file.endsWith('.json'))
  .flatMap((file): Requested[] => {
    const { url, body } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { url?: string; body?: unknown };
    const route = relayRouteFor(String(url).split('?')[0] ?? '')?.route;
    if (route?.operation !== 'chat' || typeof body !== 'object' || body === null) return [];
    return [{ name: file, from: route.protocol, body: body as Record<string, unknown> }];
  });
const written = fixtures.flatMap(({ name, dialect, request }): Requested[] =>
  request === null ? [] : [{ name, from: dialect, body: request }],
);

/** Members by path, `*` = any item of a list, and why their loss does no harm. */
const harmless: readonly (readonly [RegExp, string])[] = [
  [/^(model|stream)$/, 'outside of the body'],
  [/(^|\.)role$/, 'the only one that fits the place'],
  [/(^|\.)(type|media_type|mimeType)$/, 'follows from what stands beside it'],
  [/cache_control(\.type|\.ttl)?$/, 'the others cache by themselves; of two lifetimes the longer is asked for'],
  [
    /^(store|include|stream_options(\.include_usage)?|metadata(\..*)?|client_metadata(\..*)?)$/,
    'bookkeeping of the client',
  ],
  [/internal_chat_message_metadata_passthrough/, 'bookkeeping of the client'],
  [/^input\.\*\.(id|status)$/, 'names that only the maker knows'],
  [/^thinking(\.type|\.display)?$/, 'adaptive is how the others think'],
  [
    /^(reasoning\.summary|generationConfig\.thinkingConfig\.includeThoughts)$/,
    'thoughts are shown wherever there are any',
  ],
  [/^messages\.\*\.content\.\*\.(thinking|signature|data)$/, 'the thought is listed as a whole'],
  [/^messages\.\*\.content\.\*\.input_audio$/, 'the sound is listed as a whole'],
  [
    /^tools\.\*\.(execution|description|external_web_access|search_content_types)$/,
    'the hosted tool is listed as a whole',
  ],
  [/^max_(output_)?tokens$/, 'raised to what the wished thinking takes'],
  [/^messages\.\*\.reasoning_(content|details.*)$/, 'the thought is listed as a whole'],
  [/^contents\.\*\.parts\.\*\.(text|thought|thoughtSignature)$/, 'the thought is listed as a whole'],
  [/^input\.\*\.(summary(\.\*\.text)?|encrypted_content)$/, 'the thought is listed as a whole'],
  [/^(messages|input)\.\*\.content$/, 'empty'],
  [/^input\.\*\.content\.\*\.annotations$/, 'empty'],
  [/^tools$|^generationConfig$/, 'empty'],
  [/^tools\.\*\.(defer_loading|eager_input_streaming)$/, 'hints about loading: every tool is sent in full'],
  [/\.(input_schema|parameters|parametersJsonSchema)(\.properties|\.\$schema)?$/, 'a tool without arguments'],
  [/functionResponse\.(id|name)$/, 'results belong to their calls in order'],
  [/^generationConfig\.(responseMimeType)$/, 'follows from the schema'],
  [/^generationConfig\.(temperature|topP)$/, 'the default, or listed beside the other'],
  [
    /^toolConfig\.functionCallingConfig\.allowedFunctionNames$/,
    'calls cannot be forced while thinking, which is listed',
  ],
  [/(json_schema|format)\.(name|strict)$/, 'schemas are enforced and need no name'],
  [/^(parallel_tool_calls|tool_choice|toolConfig)$/, 'the default'],
  [/\.strict$/, 'the default'],
  [/\.detail$/, 'the default'],
  [/input_audio\.format$/, 'the default'],
];

/** The request as an upstream of the other dialect gets it, and what is listed as lost. */
function send(from: ProtocolId, to: ProtocolId, body: unknown): { readonly encoded: string; readonly listed: string } {
  const dropped: string[] = [];
  try {
    const requested = codecs[from].translation.decodeRequest(body as Record<string, unknown>, {
      model: 'm',
      stream: true,
    });
    const encoded = JSON.stringify(codecs[to].translation.encodeRequest(requested, dropped));
    return { encoded, listed: JSON.stringify(dropped) };
  } catch (error) {
    return { encoded: String(error), listed: '' };
  }
}

type Change = (edit: (node: unknown) => unknown) => unknown;

/** @returns places of the members that can go without anybody noticing. */
function silentLosses({ from, body }: Requested, to: ProtocolId): string[] {
  const whole = send(from, to, body);
  const lost = new Set<string>();
  const walk = (node: unknown, path: readonly string[], change: Change): void => {
    if (typeof node !== 'object' || node === null || path.length > 7) return;
    for (const [key, member] of Object.entries(node)) {
      const inList = Array.isArray(node);
      const place = [...path, inList ? '*' : key];
      const edit: Change = (inner) =>
        change((outer) =>
          Array.isArray(outer)
            ? outer.with(Number(key), inner(outer[Number(key)]))
            : { ...(outer as object), [key]: inner((outer as Record<string, unknown>)[key]) },
        );
      if (!inList) {
        const without = send(
          from,
          to,
          change((outer) => Object.fromEntries(Object.entries(outer as object).filter(([name]) => name !== key))),
        );
        if (without.encoded === whole.encoded) {
          if (without.listed === whole.listed && member !== '') lost.add(place.join('.'));
          // What is in it goes with it: it was listed, or its place is below.
          continue;
        }
      }
      walk(member, place, edit);
    }
  };
  walk(body, [], (edit) => edit(body));
  return [...lost];
}

const dialects = Object.keys(codecs) as ProtocolId[];
const cases = [...written, ...recorded].flatMap((requested) =>
  dialects.filter((to) => to !== requested.from).map((to) => [requested.name, to, requested] as const),
);

test.each(cases)('%s, encoded in %s: what is lost is listed', (_name, to, requested) => {
  const places = silentLosses(requested, to);
  expect(places.filter((place) => !harmless.some(([known]) => known.test(place)))).toEqual([]);
});

test.each([
  [
    'anthropic-messages',
    'openai-chat',
    {
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'text', data: 'x' }, citations: { enabled: true } }],
        },
        { role: 'system', content: 'y', output_config: { effort: 'low' } },
      ],
    },
    ['/messages/0/content/0/citations', '/messages/1/output_config'],
  ],
  [
    'openai-responses',
    'openai-chat',
    { input: 'x', reasoning: { effort: 'low', context: 'all_turns' } },
    ['/reasoning/context'],
  ],
  [
    'openai-responses',
    'anthropic-messages',
    {
      input: [
        { role: 'user', content: [{ type: 'input_image', image_url: 'https://a.example/b.png', detail: 'high' }] },
      ],
      tools: [
        { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: x' } },
        { type: 'function', name: 'f', parameters: {}, strict: true },
      ],
    },
    ['/messages/0/content/0/detail', '/tools/1/strict', '/tools/0/format'],
  ],
  [
    'openai-chat',
    'gemini-generate',
    {
      messages: [
        { role: 'assistant', content: 'x', reasoning_content: 'y' },
        {
          role: 'user',
          content: [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } }],
        },
      ],
    },
    ['/messages/0/content/0', '/messages/1/content/0/name'],
  ],
] as const)('%s to %s: %j', (from, to, body, expected) => {
  const listed = JSON.parse(send(from, to, { model: 'm', max_tokens: 9, ...body }).listed) as string[];
  for (const place of expected) expect(listed.some((entry) => entry.startsWith(place))).toBe(true);
});

test('a custom tool keeps its grammar among its own', () => {
  const format = { type: 'grammar', syntax: 'lark', definition: 'start: x' };
  const { encoded, listed } = send('openai-responses', 'openai-responses', {
    input: 'x',
    tools: [{ type: 'custom', name: 'patch', format }],
  });
  expect(JSON.parse(encoded).tools).toEqual([{ type: 'custom', name: 'patch', format }]);
  expect(listed).toBe('[]');
});
