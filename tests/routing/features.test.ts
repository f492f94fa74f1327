/** What a body asks for is found wherever its members stand and however they are spelled. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { foldedName } from '../../server/protocols/shared/member-name.ts';
import { readPrompt } from '../../server/relay/intake/prompt.ts';
import { keptIds, referencedIds } from '../../server/relay/routing/affinity.ts';
import { Feature, featuresIn, firstFileIn } from '../../server/routing/features.ts';
import { requestsThinking } from '../../server/routing/offers.ts';
import { often } from '../support/often.ts';

const dialects = Object.keys(codecs) as ProtocolId[];

/** Names in one of their spellings, by what they may ask for. */
const names: Readonly<Record<keyof typeof Feature, readonly string[]>> = {
  modifiers: ['service_tier', 'speed', 'inference_geo', 'models', 'fallbacks', 'fallback_models'],
  uses: [
    'tools',
    'definition',
    'web_search_options',
    'enable_search',
    'web_search',
    'enable_enhancement',
    'force_search_enhancement',
    'enable_deep_search',
    'search_parameters',
    'plugins',
    'connectors',
    'mcp_servers',
    'context_management',
  ],
  hosts: ['provider'],
  files: ['file_id', 'file_ids', 'vector_store_id', 'vector_store_ids', 'file_uri', 'cached_content'],
  stored: ['previous_response_id', 'conversation', 'container', 'container_id', 'id'],
  thought: [
    'reasoning_effort',
    'reasoning',
    'thinking',
    'generation_config',
    'output_config',
    'chat_template_kwargs',
    'enable_thinking',
    'think',
  ],
  strays: ['reasoning', 'reasoning_content', 'reasoning_details', 'extra_content', 'refusal', 'name'],
  answers: ['n', 'best_of', 'generation_config'],
  sound: ['modalities', 'generation_config'],
};
const plain = [
  'model',
  'messages',
  'role',
  'content',
  'extra_body',
  'metadata',
  'input',
  'type',
  'text',
  'options',
  'x',
];

const camel = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const wide = (name: string): string =>
  name.replace(/[a-z]/, (letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) - 97 + 0xff41));
const spelled = fc
  .tuple(
    fc.constantFrom(...Object.values(names).flat(), ...plain),
    fc.constantFrom<(name: string) => string>(
      (name) => name,
      (name) => name.toUpperCase(),
      camel,
      (name) => name.replaceAll('_', ''),
      (name) => name.replaceAll('_', '-'),
      (name) => ` ${name}\t`,
      (name) => `${name}\0and more`,
      (name) => name.replace('s', 'ſ').replace('i', 'ı'),
      (name) => name.replace('k', '\u212a'),
      wide,
      (name) => `${name}s`,
      (name) => `${name}${'_'.repeat(70)}`,
    ),
  )
  .map(([name, change]) => change(name));

const values = fc.constantFrom<unknown>(
  'priority',
  'fast',
  'resp_1',
  true,
  null,
  7,
  'high',
  { type: 'web_search' },
  [{ type: 'web_search' }, { googleSearch: {} }],
  [{ type: 'item_reference', id: 'msg_1' }],
  [{ id: 'msg_2' }],
  { type: 'reasoning', id: 'rs_1' },
  { only: ['somewhere'] },
  { thinkingConfig: { thinkingBudget: 9 } },
  { effort: 'high' },
  { edits: [{ type: 'compact_20260112' }] },
  ['other-model'],
);
const bodies = fc.letrec<{ object: Record<string, unknown>; value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 5 },
    values,
    tie('object'),
    fc.array(tie('object'), { maxLength: 3 }),
    fc.array(fc.array(tie('object'), { maxLength: 2 }), { maxLength: 2 }),
  ),
  object: fc.dictionary(spelled, tie('value'), { maxKeys: 4 }),
})).object;

/** The same JSON with units of its strings written as escapes. */
const escapedText = (body: unknown, every: number): string => {
  let count = 0;
  const unit = (one: string): string =>
    ++count % every === 0 ? `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}` : JSON.stringify(one).slice(1, -1);
  return JSON.stringify(body).replaceAll(
    /"(?:[^"\\]|\\.)*"/g,
    (literal) => `"${(JSON.parse(literal) as string).split('').map(unit).join('')}"`,
  );
};

function scan(value: unknown, found: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) for (const name of Object.keys(value)) found.add(foldedName(name).replaceAll(/[_-]/g, ''));
  for (const inner of Object.values(value)) scan(inner, found);
}

function featuresByScan(body: unknown): number {
  const found = new Set<string>();
  scan(body, found);
  let features = 0;
  for (const [feature, list] of Object.entries(names))
    if (list.some((name) => found.has(name.replaceAll('_', '')))) features |= Feature[feature as keyof typeof Feature];
  return features;
}

test('the walk over a prompt finds the features that a scan of all folded names finds', () => {
  fc.assert(
    fc.property(bodies, fc.integer({ min: 1, max: 5 }), (body, every) => {
      const text = escapedText(body, every);
      expect(readPrompt(JSON.parse(text) as Record<string, unknown>).features).toBe(featuresByScan(body));
    }),
    { numRuns: often(700, 50_000) },
  );
});

test('nothing that is read out of a body is read where its feature is missing', () => {
  let read = 0;
  fc.assert(
    fc.property(bodies, fc.constantFrom(...dialects), (body, protocol) => {
      const { features } = readPrompt(body);
      const { modifiers, uses, hosts, reads, again } = featuresIn(body);
      const kept = [...keptIds({ protocol, body }), ...referencedIds({ protocol, body })];
      for (const [is, feature] of [
        [modifiers.length > 0, Feature.modifiers],
        [uses.length > 0 || reads > 0 || again, Feature.uses],
        [hosts.length > 0, Feature.hosts],
        [firstFileIn(body) !== null, Feature.files],
        [kept.length > 0, Feature.stored],
        [requestsThinking(body) || codecs[protocol].translation.reasoning?.(body) != null, Feature.thought],
      ] as const) {
        if (!is) continue;
        read++;
        expect(features & feature).toBe(feature);
      }
    }),
    { numRuns: often(700, 50_000) },
  );
  expect(read).toBeGreaterThan(200);
});

test.each([
  [{ generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }, false],
  [{ generation_config: { thinking_config: { thinking_budget: 0 } } }, false],
  [{ generationConfig: { thinkingConfig: { thinkingBudget: 1 } } }, true],
  [{ generation_config: { thinking_config: { thinking_budget: 1 } } }, true],
  [{ generationConfig: { thinkingConfig: { includeThoughts: true } } }, true],
  [{ reasoning: { max_tokens: 1 } }, true],
  [{ reasoning: { max_tokens: 0 } }, false],
  [{ think: true }, true],
  [{ think: 'low' }, true],
  [{ think: false }, false],
  [{ think: null }, false],
])('a budget of no tokens asks for no thought, nor does a switch that is off: %j', (body, expected) => {
  expect(requestsThinking(body)).toBe(expected);
});

test('what a call of a function was given names no file, what stands beside it does', () => {
  const part = (more: object) => ({ messages: [{ role: 'assistant', content: [{ type: 'tool_use', ...more }] }] });
  expect(firstFileIn(part({ input: { file_id: 'given' } }))).toBeNull();
  expect(firstFileIn(part({ input: { file_id: 'given' }, source: { file_id: 'named' } }))).toBe('named');
  expect(firstFileIn(part({ type: 'document', input: { file_id: 'named' } }))).toBe('named');
});
