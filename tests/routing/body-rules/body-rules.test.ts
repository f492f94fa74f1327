/** Rules of a channel: as the family's own program acts, within bounds, and never to the harm of who pays. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isRuleProblem, type Operation, readOperations } from '../../../server/contract/channel-rules.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { applyRules, boundsOf } from '../../../server/routing/body-rules.ts';

type Members = Readonly<Record<string, unknown>>;

/** What gjson 1.20 and sjson 1.2.5 made of them in new-api's order of steps; `null` = the request is refused. */
const family = JSON.parse(readFileSync(new URL('./family.json', import.meta.url), 'utf8')) as {
  readonly body: Members;
  readonly context: Parameters<typeof applyRules>[2];
  readonly cases: readonly { readonly name: string; readonly operations: unknown; readonly result: Members | null }[];
};

const chat = { channel: { id: 1 }, operation: 'chat' } as const;

function rules(value: unknown): readonly Operation[] {
  const read = readOperations(value);
  if (isRuleProblem(read)) throw new Error(`${read.field}: ${read.expected_en}`);
  return read;
}

const run = (operations: unknown, body: Members = family.body): Members =>
  applyRules(rules(operations), body, family.context, chat);

test.each(family.cases)('as in the family: $name', ({ operations, result }) => {
  const before = JSON.stringify(family.body);
  if (result === null) expect(() => run(operations)).toThrow(AppError);
  else expect(run(operations)).toEqual(result);
  expect(JSON.stringify(family.body)).toBe(before);
});

const ask = {
  model: 'm',
  messages: [{ role: 'user', content: 'hi' }],
  metadata: { tier: 'priority', n: 9, big: 'x'.repeat(9000) },
};
const from = (from: string, to: string) => [{ mode: 'copy', from, to }];
test.each<[string, readonly object[]]>([
  ['a service tier', from('metadata.tier', 'service_tier')],
  ['a number of answers', from('metadata.n', 'n')],
  ['a number of answers of Gemini', from('metadata.n', 'generationConfig.candidateCount')],
  ['a size', from('metadata.tier', 'size')],
])('a caller cannot have a rule write %s for less than it costs', (_name, operations) => {
  expect(() => run(operations, ask)).toThrow(/nothing was reserved/);
});

test.each<[string, object]>([
  ['the request names another tier', { service_tier: 'flex' }],
  ['another member has the same word', { speed: 'priority' }],
])('a caller cannot have a rule write a service tier where %s', (_name, members) => {
  expect(() => run(from('metadata.tier', 'service_tier'), { ...ask, ...members })).toThrow(/for service_tier/);
  expect(run(from('metadata.tier', 'service_tier'), { ...ask, service_tier: 'priority' })).toBeDefined();
});

test('a body that rules make larger than was reserved for is not sent', () => {
  const doubling = Array.from({ length: 40 }, () => from('metadata.big', 'metadata.big2')).flat();
  const grows = [{ mode: 'replace', path: 'metadata.big', from: 'x', to: 'y'.repeat(200) }];
  expect(run(doubling, ask).metadata).toMatchObject({ big2: ask.metadata.big });
  expect(() => run(grows, ask)).toThrow(/too large/);
});

test.each<[string, unknown, string]>([
  ['no list', {}, 'operations'],
  ['65 rules', Array(65).fill({ mode: 'delete', path: 'a' }), 'operations'],
  ['a rule that is no object', ['delete'], 'operations[0]'],
  ['a mode of nobody', [{ mode: 'explode', path: 'a' }], 'operations[0].mode'],
  ['no path', [{ mode: 'delete' }], 'operations[0].path'],
  ['a path that ends in a dot', [{ mode: 'delete', path: 'a.' }], 'operations[0].path'],
  ['a query', [{ mode: 'delete', path: 'tools.#(a==1)' }], 'operations[0].path'],
  ['a wildcard within a name', [{ mode: 'delete', path: 'max_*' }], 'operations[0].path'],
  ['a wildcard to copy from', [{ mode: 'copy', from: 'a.*', to: 'b' }], 'operations[0].from'],
  ['a wildcard to copy to', [{ mode: 'copy', from: 'a', to: 'b.*' }], 'operations[0].to'],
  ['how the answer comes', [{ mode: 'set', path: 'stream', value: false }], 'operations[0].path'],
  ['a model of the caller’s words', [{ mode: 'copy', from: 'user', to: 'model' }], 'operations[0].to'],
  ['a model that is synced', [{ mode: 'sync_fields', from: 'json:model', to: 'user' }], 'operations[0].from'],
  ['a header', [{ mode: 'sync_fields', from: 'header:x', to: 'user' }], 'operations[0].from'],
  ['an affix of nothing', [{ mode: 'ensure_prefix', path: 'a', value: '' }], 'operations[0].value'],
  ['an affix that is a list', [{ mode: 'trim_prefix', path: 'a', value: [] }], 'operations[0].value'],
  ['nothing to replace', [{ mode: 'replace', path: 'a' }], 'operations[0].from'],
  ['an empty pattern', [{ mode: 'regex_replace', path: 'a', from: '' }], 'operations[0].from'],
  ['a pattern that cannot be read', [{ mode: 'regex_replace', path: 'a', from: '(' }], 'operations[0].from'],
  ['two repetitions', [{ mode: 'regex_replace', path: 'a', from: 'a*b*' }], 'operations[0].from'],
  ['a repetition of a repetition', [{ mode: 'regex_replace', path: 'a', from: '(a+)+' }], 'operations[0].from'],
  ['a repetition of a bounded one', [{ mode: 'regex_replace', path: 'a', from: '(a{1,9})*' }], 'operations[0].from'],
  ['a reference back', [{ mode: 'regex_replace', path: 'a', from: '(a)\\1' }], 'operations[0].from'],
  ['a look ahead', [{ mode: 'regex_replace', path: 'a', from: 'a(?=b)' }], 'operations[0].from'],
  ['conditions of nothing', [{ mode: 'delete', path: 'a', conditions: {} }], 'operations[0].conditions'],
  [
    'a condition of no mode',
    [{ mode: 'delete', path: 'a', conditions: [{ path: 'b' }] }],
    'operations[0].conditions[0].mode',
  ],
  [
    'a condition of no path',
    [{ mode: 'delete', path: 'a', conditions: [{ mode: 'full' }] }],
    'operations[0].conditions[0].path',
  ],
  [
    'a condition of the last error',
    [{ mode: 'delete', path: 'a', conditions: { last_error_code: 1 } }],
    'operations[0].conditions.last_error_code.path',
  ],
  ['pruning of everything', [{ mode: 'prune_objects', path: 'messages', value: {} }], 'operations[0].value'],
  ['an error without words', [{ mode: 'return_error', value: {} }], 'operations[0].value'],
  [
    'an error that is none',
    [{ mode: 'return_error', value: { message: 'a', status_code: 200 } }],
    'operations[0].value.status_code',
  ],
  [
    'an error that tries on',
    [{ mode: 'return_error', value: { message: 'a', skip_retry: false } }],
    'operations[0].value.skip_retry',
  ],
])('rules with %s are refused, and the place is named', (_name, value, field) => {
  expect(readOperations(value)).toMatchObject({ field });
});

test('a pattern with a repetition looks at no long text, one without at any', () => {
  const long = { text: 'a'.repeat(5000) };
  const replaced = (pattern: string) => run([{ mode: 'regex_replace', path: 'text', from: pattern, to: '' }], long);
  expect(() => replaced('a+$')).toThrow(/too long/);
  expect(replaced('^a').text).toHaveLength(4999);
});

test.each<[string, readonly object[], object]>([
  [
    'a value that is set',
    [{ mode: 'set', path: 'n', value: 4 }],
    { freesLimit: false, factor: 1, written: [{ n: 4 }] },
  ],
  ['a limit that is set', [{ mode: 'set', path: 'max_tokens', value: 9 }], { freesLimit: false }],
  ['a limit that is set to nothing', [{ mode: 'set', path: 'max_tokens', value: null }], { freesLimit: true }],
  ['a limit that is deleted', [{ mode: 'delete', path: 'max_completion_tokens' }], { freesLimit: true }],
  [
    'a limit of Gemini that is deleted',
    [{ mode: 'delete', path: 'generationConfig.maxOutputTokens' }],
    { freesLimit: true },
  ],
  ['a limit within any member', [{ mode: 'delete', path: '*.max_tokens' }], { freesLimit: true }],
  ['a limit that is moved', [{ mode: 'move', from: 'max_tokens', to: 'x' }], { freesLimit: true }],
  ['a limit that is written from elsewhere', from('seed', 'max_tokens'), { freesLimit: true, factor: 2 }],
  [
    'a limit that another member is kept the same as',
    [{ mode: 'sync_fields', from: 'json:max_tokens', to: 'json:user' }],
    { freesLimit: true },
  ],
  [
    'other members that are kept the same',
    [{ mode: 'sync_fields', from: 'json:seed', to: 'json:user' }],
    { freesLimit: false },
  ],
  ['a limit that is copied elsewhere', from('max_tokens', 'seed'), { freesLimit: false }],
  ['another member that is deleted', [{ mode: 'delete', path: 'tools.*.strict' }], { freesLimit: false, factor: 1 }],
  ['objects of the prompt', [{ mode: 'prune_objects', path: 'messages', value: 'x' }], { freesLimit: false }],
  ['objects anywhere', [{ mode: 'prune_objects', path: '', value: 'x' }], { freesLimit: true }],
  ['a member of each message', [{ mode: 'set', path: 'messages.*.name', value: 1 }], { factor: 2 }],
])('what is reserved for %s', (_name, operations, bounds) => {
  expect(boundsOf(rules(operations))).toMatchObject(bounds);
});

test('an affix is taken where the text has it, and only there', () => {
  const trimmed = (operation: object) => run([{ path: 'user', ...operation }], { user: 'team-a', other: 1 }).user;
  expect(trimmed({ mode: 'trim_suffix', value: '-a' })).toBe('team');
  expect(trimmed({ mode: 'trim_suffix', value: '-b' })).toBe('team-a');
  expect(trimmed({ mode: 'ensure_suffix', value: '-a' })).toBe('team-a');
  expect(trimmed({ mode: 'ensure_suffix', value: '-b' })).toBe('team-a-b');
});

test('a member is deleted within the element of a list that its path names, and within no other', () => {
  const body = { tools: [{ strict: true, name: 'a' }, { strict: true, name: 'b' }, 'odd'] };
  expect(run([{ mode: 'delete', path: 'tools.1.strict' }], body).tools).toEqual([
    { strict: true, name: 'a' },
    { name: 'b' },
    'odd',
  ]);
  expect(run([{ mode: 'delete', path: 'tools.7.strict' }], body)).toEqual(body);
});
