/** The playground: what is sent for each model, what is kept, and what stands under an answer. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  type Answer,
  bodyOf,
  codeOf,
  defaultSettings,
  invalidSetting,
  type ModelSupport,
  messagesOf,
  noAnswer,
  speedOf,
  type Turn,
} from '../../web/features/playground/conversation.ts';
import { aroundPages, linksIn, reader, rendered } from './rendered.tsx';

beforeEach(() => aroundPages(reader(1)));
afterEach(() => vi.unstubAllGlobals());

const answer = (some: Partial<Answer>): Answer => ({ ...noAnswer, state: 'complete', ...some });
const turn = (id: number, text: string, ...answers: readonly (readonly Answer[])[]): Turn => ({
  ...{ id, text, files: [], answers },
});
const takes = (some: Partial<ModelSupport>): ModelSupport => ({
  ...{ output_cap: null, input_limit: null, efforts: null, refuses: [], inputs: null, ...some },
});
const full = {
  ...defaultSettings,
  ...{ temperature: '1.4', top_p: '0.9', presence_penalty: '-0.5', frequency_penalty: '0.3', seed: '7' },
  ...{ stop: 'END\n\nSTOP', effort: 'high', json: true, max_tokens: '1,024' },
  tools: '[{"type":"function","function":{"name":"look"}}]',
  extra: '{"top_k":40}',
};

test('every parameter that is set is sent, under the name of the wire', () => {
  expect(bodyOf(full, 'm', [], takes({ efforts: ['low', 'high'] }))).toEqual({
    ...{ messages: [], model: 'm', group: '', stream: true, stream_options: { include_usage: true } },
    ...{ max_tokens: 1024, temperature: 1.4, top_p: 0.9, presence_penalty: -0.5, frequency_penalty: 0.3, seed: 7 },
    ...{ stop: ['END', 'STOP'], reasoning_effort: 'high', response_format: { type: 'json_object' }, top_k: 40 },
    tools: [{ type: 'function', function: { name: 'look' } }],
  });
});

test('a member that a model refuses is left out of its request, and an effort it has no word for', () => {
  const body = bodyOf(full, 'm', [], takes({ refuses: ['temperature', 'topP', 'stop'], efforts: ['low'] }));
  for (const member of ['temperature', 'top_p', 'stop', 'reasoning_effort']) expect(body).not.toHaveProperty(member);
  expect(body).toMatchObject({ presence_penalty: -0.5, seed: 7 });
});

test('a parameter that cannot be read is named before anything is sent', () => {
  expect(invalidSetting(full)).toBeNull();
  expect(invalidSetting({ ...full, max_tokens: '12.7' })).toBe('maxTokens');
  expect(invalidSetting({ ...full, seed: 'x' })).toBe('seed');
  expect(invalidSetting({ ...full, temperature: '2.5' })).toBe('temperature');
  expect(invalidSetting({ ...full, tools: '{}' })).toBe('tools');
  expect(invalidSetting({ ...full, extra: '[1]' })).toBe('extra');
});

test('each model hears its own answers, and no question that failed', () => {
  const turns = [
    turn(1, 'one', [answer({ text: 'A1' })], [answer({ text: 'B1' })]),
    turn(2, 'two', [answer({ state: 'error', error: 'x' })], [answer({ text: 'B2' })]),
    turn(3, 'three', [], []),
  ];
  const heard = (place: number) => messagesOf(turns, place, 'S').map(({ content }) => content);
  expect(heard(0)).toEqual(['S', 'one', 'A1', 'three']);
  expect(heard(1)).toEqual(['S', 'one', 'B1', 'two', 'B2', 'three']);
});

test('pictures, texts and other files go with the question', () => {
  const files = [
    { name: 'a.png', kind: 'image', data: 'data:image/png;base64,AA' },
    { name: 'b.csv', kind: 'text', data: '1,2' },
    { name: 'c.pdf', kind: 'file', data: 'data:application/pdf;base64,BB' },
    { name: 'gone.png', kind: 'image', data: '' },
  ] as const;
  const [, message] = messagesOf([{ ...turn(1, 'what?', []), files }], 0, 'S');
  expect(message?.content).toEqual([
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
    { type: 'text', text: 'b.csv\n```\n1,2\n```' },
    { type: 'file', file: { filename: 'c.pdf', file_data: 'data:application/pdf;base64,BB' } },
    { type: 'text', text: 'what?' },
  ]);
});

test('results of tools follow the calls they belong to', () => {
  const calls = [{ id: 'c1', name: 'look', arguments: '{}' }];
  const messages = messagesOf([turn(1, 'q', [answer({ calls, results: { c1: '42' } })])], 0, 'S');
  expect(messages.slice(2)).toEqual([
    {
      ...{ role: 'assistant', content: '' },
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: '42' },
  ]);
  expect(messagesOf([turn(1, 'q', [answer({ calls })])], 0, 'S')).toHaveLength(2);
});

test('speed is of the stream alone, without the wait for its first token', () => {
  expect(speedOf(answer({ tokensOut: 100, firstMs: 500, ms: 1500 }))).toBe(100);
  expect(speedOf(answer({ tokensOut: 100, firstMs: null, ms: 1500 }))).toBeNull();
  expect(speedOf(answer({ tokensOut: 5, firstMs: 500, ms: 510 }))).toBeNull();
});

test('code asks for the same, with a key of one\u2019s own and without what is the console\u2019s', () => {
  const code = codeOf('https://site.example', bodyOf(full, 'm', [{ role: 'user', content: "it's" }], undefined));
  expect(code.curl).toContain('https://site.example/v1/chat/completions');
  expect(code.curl).toContain("it'\\''s");
  expect(code.curl).not.toContain('"group"');
  expect(code.python).toContain('"stream": True');
  expect(code.node).toContain("baseURL: 'https://site.example/v1'");
});

test('two answers are laid over each other: marked is what one says alone, and each can be read back whole', async () => {
  const { piecesOf, sharedIn } = await import('../../web/features/playground/difference.tsx');
  const pairs = [
    ['Walk both lists at once.\n\n```rust\nlet x = 1;\n```', 'Walk the lists at once.\n\n```rust\nlet y = 1;\n```'],
    ['先比较两个列表的头部，再取较小者。', '比较两个列表的头部，取较小的一个。'],
    ['', 'only the second'],
    ['one two', 'three four'],
  ] as const;
  for (const [first, second] of pairs) {
    const pieces = piecesOf(first, second);
    const read = (of: string) =>
      pieces.filter((piece) => piece.in === 'both' || piece.in === of).map(({ text }) => text);
    expect([read('first').join(''), read('second').join('')]).toEqual([first, second]);
  }
  expect(piecesOf('a big red dog', 'a small red dog')).toEqual([
    { text: 'a ', in: 'both' },
    { text: 'big ', in: 'first' },
    { text: 'small ', in: 'second' },
    { text: 'red dog', in: 'both' },
  ]);
  // In Chinese single words are told apart too, not whole sentences.
  expect(piecesOf('取较小者', '取较大者').some((piece) => piece.in === 'both')).toBe(true);
  const shared = (first: string, second: string) => sharedIn(piecesOf(first, second));
  expect([shared('a b', 'a b'), shared('', ''), shared('one', 'two'), shared('a b', 'a c')]).toEqual([1, 1, 0, 0.5]);
});

test('answers with next to no word in common do not hold the page: they are compared by lines', async () => {
  const { piecesOf } = await import('../../web/features/playground/difference.tsx');
  const words = (name: string) => Array.from({ length: 5000 }, (_, at) => `${name}${at}`).join(' ');
  // The one word would be found, in many seconds.
  const [first, second] = ['left', 'right'].map((name) => `${words(name)} common ${words(name)}`) as [string, string];
  expect(piecesOf(`the same line\n${first}`, `the same line\n${second}`)).toEqual([
    { text: 'the same line\n', in: 'both' },
    { text: first, in: 'first' },
    { text: second, in: 'second' },
  ]);
});

test('a reload brings models, settings, questions and answers back, with cost, times and the way to the log', async () => {
  const { writeKept, readKept } = await import('../../web/features/playground/keep.ts');
  const first = answer({ text: 'yes', cost: 21, logId: 8, tokensIn: 12, tokensOut: 30, firstMs: 300, ms: 900 });
  const second = answer({ text: 'hm', state: 'loading' });
  writeKept({ models: ['m1', 'm2'], settings: full, turns: [turn(1, 'Is it so?', [first], [second])] });
  expect(readKept().turns[0]?.answers[1]?.[0]?.state).toBe('stopped');
  const { PlaygroundPage } = await import('../../web/features/playground/playground-page.tsx');
  const html = rendered(<PlaygroundPage />, {
    path: '/playground',
    answers: {
      status: { quota_per_unit: 500_000, display_in_currency: true },
      'own-models': ['m1', 'm2', 'm3'],
      'model-takes,m1': takes({ refuses: ['topP'], efforts: ['low'] }),
      'model-takes,m2': takes({ refuses: ['topP'] }),
    },
  });
  for (const text of ['Is it so?', '$0.000042', '输入 12 · 输出 30', '首字 0.30 s', '50 tok/s', '已停止'])
    expect(html).toContain(text);
  expect(linksIn(html)).toContain('/log?open=8');
  expect(html.match(/<article/g)).toHaveLength(3);
  expect(html).toContain('该模型不接受');
  expect(html).toContain('推理强度');
});

test('files that do not fit into what a browser keeps are left out, and the words stay', async () => {
  const { writeKept, readKept } = await import('../../web/features/playground/keep.ts');
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem(key: string, value: string) {
      if (value.length > 5000) throw new Error('QuotaExceededError');
      kept.set(key, value);
    },
  });
  const files = [{ name: 'large.png', kind: 'image', data: 'x'.repeat(6000) }] as const;
  writeKept({ models: ['m'], settings: defaultSettings, turns: [{ ...turn(1, 'look', []), files }] });
  expect(readKept().turns[0]).toMatchObject({ text: 'look', files: [{ name: 'large.png', data: '' }] });
});

test('a slider without a value has a hollow knob and says that the model decides', async () => {
  const { SettingsForm } = await import('../../web/features/playground/settings-form.tsx');
  const nothing = () => undefined;
  const form = (settings: Partial<typeof defaultSettings>) =>
    rendered(
      <SettingsForm
        {...{ settings: { ...defaultSettings, ...settings }, models: [''], names: ['m'], known: ['m'], takes: [] }}
        onModels={nothing}
        onChange={nothing}
      />,
    );
  const slider = (html: string) => html.split('<input').find((part) => /type="range"[^>]*"Top p"/.test(part)) ?? '';
  expect(slider(form({ top_p: '' }))).toMatch(/aria-valuetext="由模型决定"[^>]*slider-unset/);
  expect(slider(form({ top_p: '0.5' }))).not.toMatch(/aria-valuetext|slider-unset/);
});
