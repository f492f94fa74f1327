/** Where instructions may stand: what hosts refuse that take them first alone, and what they get. */
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecFor } from '../../server/protocols/registry.ts';
import { rulesFor, withinRules } from '../../server/providers/knowledge/apply.ts';
import { isSystemFirst, type SystemOrder, systemOrderAt } from '../../server/providers/knowledge/message-order.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';

type Item = Record<string, unknown>;

interface Host {
  readonly provider: string;
  readonly dialect: ProtocolId;
  readonly model: string;
  readonly order?: SystemOrder;
}

function translated(from: ProtocolId, { provider, dialect, model, order }: Host, body: Item) {
  const dropped: string[] = [];
  const request = codecFor(from).translation.decodeRequest(body, { model, stream: false });
  const made = codecFor(dialect).translation.encodeRequest(request, dropped, targetFor(provider, model));
  const within = withinRules(made, rulesFor(provider, dialect, true, model, order), dropped);
  return { turns: (within.messages ?? within.input) as readonly Item[], within, dropped };
}

function passed({ provider, dialect, model, order }: Host, body: Item) {
  const dropped: string[] = [];
  const within = withinRules(body, rulesFor(provider, dialect, false, model, order), dropped);
  return { within, dropped, turns: (within.messages ?? within.input) as readonly Item[] };
}

const rolesOf = (turns: readonly Item[]) => turns.map(({ role }) => role);
const host = (provider: string, dialect: ProtocolId = 'openai-chat', model = 'qwen3.8'): Host => ({
  provider,
  dialect,
  model,
});

/** What Claude Code sends on its first turn for a model whose name it does not know. */
const firstTurn = {
  system: 'S',
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'system', content: [{ type: 'text', text: 'environment' }] },
  ],
};
const strict = ['vllm', 'lm-studio', 'minimax', 'fireworks', 'nvidia', 'ali', 'custom', 'openrouter', 'siliconflow'];

test.each([...strict.map((provider) => host(provider)), host('ollama', 'ollama-chat')])(
  'the first turn of an agent reaches $provider with its instructions first, and says what moved',
  (where) => {
    const { turns, dropped } = translated('anthropic-messages', where, firstTurn);
    expect(turns).toEqual([
      { role: 'system', content: 'S' },
      { role: 'user', content: 'hi\n\n<system>\nenvironment\n</system>' },
    ]);
    expect(dropped).toEqual([
      '/messages: the upstream takes one system message, first: later ones are reminders in the user’s turn',
    ]);
  },
);

test.each([...strict.map((provider) => host(provider)), host('ollama', 'ollama-chat')])(
  'instructions and a developer’s item before the first question are one system message at $provider',
  (where) => {
    const { turns, dropped } = translated('openai-responses', where, {
      instructions: 'base',
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'rules' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      ],
    });
    expect(turns).toEqual([
      { role: 'system', content: 'base\n\nrules' },
      { role: 'user', content: 'hi' },
    ]);
    expect(dropped).toEqual([
      '/messages: the upstream takes one system message, first: the leading system messages are one',
    ]);
  },
);

test('turns that are joined for Ollama keep their pictures, and what they thought is named as lost', () => {
  const where = host('ollama', 'ollama-chat');
  const image = (data: string) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } });
  const reminded = translated('anthropic-messages', where, {
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'one' }, image('AAAA')] },
      { role: 'system', content: 'environment' },
      { role: 'user', content: [{ type: 'text', text: 'two' }, image('BBBB'), image('CCCC')] },
    ],
  });
  expect(reminded.turns).toEqual([
    {
      role: 'user',
      content: 'one\n\n<system>\nenvironment\n</system>\n\ntwo',
      images: ['AAAA', 'BBBB', 'CCCC'],
    },
  ]);
  expect(reminded.dropped).toEqual([
    '/messages: the upstream takes one system message, first: later ones are reminders in the user’s turn',
  ]);
  const later = { role: 'user', content: 'b', images: ['AAAA'] };
  const unknown = host('custom', 'ollama-chat');
  expect(translated('ollama-chat', unknown, { messages: [{ role: 'user', content: 'a' }, later] }).turns).toEqual([
    { role: 'user', content: 'a\n\nb', images: ['AAAA'] },
  ]);
  const { dropped } = translated('openai-chat', unknown, {
    messages: [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'assistant', content: 'c', reasoning_content: 'thought' },
    ],
  });
  expect(dropped).toContainEqual(expect.stringContaining('thinking of the later ones are left out'));
});

test('a host whose documents allow them keeps several instructions where they stand', () => {
  for (const provider of ['openai', 'azure', 'deepseek', 'xai']) {
    const { turns, dropped } = translated('anthropic-messages', { ...host(provider), order: 'anywhere' }, firstTurn);
    expect(rolesOf(turns)).toEqual(['system', 'user', 'system']);
    expect(dropped).toEqual([]);
  }
});

test.each([
  ['openai', 'https://api.openai.com', 'anywhere'],
  ['openai', 'https://eu.api.openai.com/v1', 'anywhere'],
  ['openai', 'https://relay.example.com', 'default'],
  ['openai', 'https://api.openai.com.example.com', 'default'],
  ['azure', 'https://own.openai.azure.com', 'anywhere'],
  ['deepseek', 'https://api.deepseek.com', 'anywhere'],
  ['xai', 'https://api.x.ai', 'anywhere'],
  ['vllm', 'https://api.openai.com', 'default'],
])('%s at %s: %s', (provider, address, order) => {
  expect(systemOrderAt(provider, 'openai-chat', address, undefined)).toBe(order);
});

test('what the channel says of its host wins over rows and address, other words say nothing', () => {
  expect(systemOrderAt('vllm', 'openai-chat', 'http://127.0.0.1:8000', 'anywhere')).toBe('anywhere');
  expect(systemOrderAt('openai', 'openai-chat', 'https://api.openai.com', 'first')).toBe('first');
  expect(systemOrderAt('vllm', 'openai-chat', 'http://127.0.0.1:8000', true)).toBe('default');
  const body = {
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'developer', content: 'x' },
    ],
  };
  expect(passed({ ...host('vllm'), order: 'anywhere' }, body).within).toBe(body);
  expect(rolesOf(passed({ ...host('openai'), order: 'first' }, body).turns)).toEqual(['user']);
});

test('a request that passes is touched where a row says that the host refuses it, and nowhere else', () => {
  const body = {
    messages: [
      { role: 'developer', content: 'a' },
      { role: 'system', content: [{ type: 'text', text: 'b' }] },
      { role: 'user', content: 'c' },
      { role: 'assistant', content: 'd' },
      { role: 'developer', content: 'e' },
      { role: 'user', content: [{ type: 'text', text: 'f' }] },
    ],
  };
  expect(passed(host('vllm'), body).turns).toEqual([
    {
      role: 'system',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    { role: 'user', content: 'c' },
    { role: 'assistant', content: 'd' },
    {
      role: 'user',
      content: [
        { type: 'text', text: '<system>\ne\n</system>' },
        { type: 'text', text: 'f' },
      ],
    },
  ]);
  for (const provider of ['custom', 'openai', 'openrouter']) expect(passed(host(provider), body).within).toBe(body);
  const calm = {
    messages: [
      { role: 'system', content: 'a' },
      { role: 'user', content: 'b' },
      { role: 'user', content: 'c' },
    ],
  };
  expect(passed(host('vllm'), calm).within).toBe(calm);
});

test('a reminder does not come between calls and their results', () => {
  const call = { role: 'assistant', content: null, tool_calls: [{ id: 'a' }, { id: 'b' }] };
  const { turns } = passed(host('vllm'), {
    messages: [
      { role: 'user', content: 'go' },
      call,
      { role: 'system', content: 'x' },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'system', content: 'y' },
      { role: 'tool', tool_call_id: 'b', content: '2' },
    ],
  });
  expect(rolesOf(turns)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
  expect(turns.at(-1)?.content).toBe('<system>\nx\n</system>\n\n<system>\ny\n</system>');
});

test('the last instructions are the question where there is none', () => {
  const body = {
    messages: [
      { role: 'system', content: 'a' },
      { role: 'system', content: 'say hi' },
    ],
  };
  const { turns, dropped } = passed(host('vllm'), body);
  expect(turns).toEqual([
    { role: 'system', content: 'a' },
    { role: 'user', content: 'say hi' },
  ]);
  expect(dropped).toEqual([
    '/messages: the upstream takes one system message, first: nobody asks anything, so that the last of them is the question',
  ]);
});

test('a Responses host gets a developer’s first items in its instructions, later ones from the user', () => {
  const developer = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'rules' }] };
  const asks = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] };
  const { within, turns } = passed(host('lm-studio', 'openai-responses'), {
    instructions: 'base',
    input: [developer, asks, developer],
  });
  expect(within.instructions).toBe('base\n\nrules');
  expect(turns).toEqual([
    {
      ...asks,
      content: [
        { type: 'input_text', text: 'hi' },
        { type: 'input_text', text: '<system>\nrules\n</system>' },
      ],
    },
  ]);
  const bare = passed(host('vllm', 'openai-responses'), { input: [developer, asks] });
  expect(rolesOf(bare.turns)).toEqual(['system', 'user']);
  const body = { instructions: 'base', input: [asks] };
  expect(passed(host('vllm', 'openai-responses'), body).within).toBe(body);
});

test.each([
  ['anthropic', 'claude-haiku-4-5'],
  ['aws', 'us.anthropic.claude-opus-4-7'],
  ['aws', 'anthropic.claude-sonnet-4-6'],
  ['vertex', 'claude-sonnet-4-6'],
])('%s: %s gets instructions in the middle as words of the user, behind results', (provider, model) => {
  const where = host(provider, 'anthropic-messages', model);
  expect(passed(where, firstTurn).turns).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'text', text: '<system>\nenvironment\n</system>' },
      ],
    },
  ]);
  const called = passed(where, {
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a' }] },
      { role: 'system', content: 'x' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
    ],
  });
  expect(rolesOf(called.turns)).toEqual(['user', 'assistant', 'user']);
  expect(((called.turns[2]?.content ?? []) as readonly Item[]).map(({ type }) => type)).toEqual([
    'tool_result',
    'text',
  ]);
});

test.each([
  ['anthropic', 'claude-opus-4-8'],
  ['aws', 'us.anthropic.claude-opus-4-8'],
  ['vertex', 'claude-sonnet-5'],
  ['anthropic', 'claude-fable-5'],
])('%s: %s takes instructions in the middle and keeps them', (provider, model) => {
  expect(passed(host(provider, 'anthropic-messages', model), firstTurn).within).toBe(firstTurn);
});

test.each(['vllm', 'lm-studio', 'nvidia'])('%s: a model whose template wants turns gets turns', (provider) => {
  const twice = {
    messages: [
      { role: 'user', content: 'a' },
      { role: 'user', content: 'b' },
    ],
  };
  expect(passed(host(provider, 'openai-chat', 'google/gemma-3-27b-it'), twice).turns).toEqual([
    { role: 'user', content: 'a\n\nb' },
  ]);
});

test('what the rule leaves is as the rule wants it', () => {
  const roles = ['system', 'developer', 'user', 'assistant', 'tool'];
  for (let seed = 0; seed < 400; seed++) {
    const messages = Array.from({ length: 1 + (seed % 6) }, (_, at) => ({
      role: roles[Math.floor(seed / 5 ** at + at * seed) % 5],
      content: String(at),
    }));
    const { turns } = passed(host('vllm'), { messages });
    expect(isSystemFirst(turns, undefined, {}), JSON.stringify(rolesOf(messages))).toBe(true);
    for (const { content } of messages) expect(JSON.stringify(turns)).toContain(content);
  }
});

test.each(['deepseek', 'minimax', 'ali', 'moonshot', 'zhipu-v4'])(
  '%s takes no instructions between the turns of Anthropic’s dialect',
  (provider) => {
    const where = host(provider, 'anthropic-messages', 'm');
    const { turns, within, dropped } = passed(where, firstTurn);
    const text = (words: string) => ({ type: 'text', text: words });
    expect(turns).toEqual([{ role: 'user', content: [text('hi'), text('<system>\nenvironment\n</system>')] }]);
    expect(within.system).toBe('S');
    expect(dropped).toHaveLength(1);
    const calm = { system: 'S', messages: [{ role: 'user', content: 'hi' }] };
    expect(passed(where, calm).within).toBe(calm);
  },
);

test('a host’s rules for OpenAI’s dialect say nothing of its other one', () => {
  const address = 'https://api.deepseek.com';
  expect(systemOrderAt('deepseek', 'openai-chat', address, undefined)).toBe('anywhere');
  expect(systemOrderAt('deepseek', 'anthropic-messages', address, undefined)).toBe('default');
  expect(systemOrderAt('deepseek', 'anthropic-messages', address, 'anywhere')).toBe('anywhere');
});

test('instructions between the calls of one answer come behind their results', () => {
  const call = (id: string, type = 'function_call') => ({ type, call_id: id, name: 'f', arguments: '{}' });
  const result = (id: string) => ({ type: 'function_call_output', call_id: id, output: id });
  const middle = { role: 'developer', content: 'now' };
  const asks = { role: 'user', content: 'go' };
  const thought = { type: 'reasoning', summary: [] };
  const reminder = { role: 'user', content: '<system>\nnow\n</system>' };
  const { turns } = passed(host('vllm', 'openai-responses'), {
    input: [asks, call('1'), middle, thought, call('2'), result('1'), result('2'), call('3'), result('3')],
  });
  expect(turns).toEqual([
    asks,
    call('1'),
    thought,
    call('2'),
    result('1'),
    result('2'),
    reminder,
    call('3'),
    result('3'),
  ]);
  const apart = [asks, call('1'), result('1'), middle, call('2'), result('2')];
  expect(passed(host('vllm', 'openai-responses'), { input: apart }).turns).toEqual(
    apart.map((item) => (item === middle ? reminder : item)),
  );
});

test('members of instructions, such as their names, are declared as lost where these join others', () => {
  const first = '/messages: the upstream takes one system message, first';
  const system = (content: string, more: object = {}) => ({ role: 'system', content, ...more });
  const asked = { role: 'user', content: 'hi' };
  const declared = (...messages: readonly object[]) => passed(host('vllm'), { messages }).dropped;
  expect(declared(system('a', { name: 'one' }), system('b', { name: 'two' }), asked)).toEqual([
    `${first}: the leading system messages are one; name of the later ones are left out`,
  ]);
  expect(declared(system('a', { name: 'one' }), system('b', { name: 'one' }), asked)).toEqual([
    `${first}: the leading system messages are one`,
  ]);
  expect(declared(asked, system('b', { name: 'two' }))).toEqual([
    `${first}: later ones are reminders in the user’s turn; name of the later ones are left out`,
  ]);
  const input = [
    { type: 'message', role: 'developer', content: 'a', phase: 'early' },
    { type: 'message', role: 'user', content: 'hi', status: 'completed' },
  ];
  const { dropped } = passed(host('lm-studio', 'openai-responses'), { instructions: 'base', input });
  expect(dropped.join()).toContain('the leading system messages are one; phase of the later ones are left out');
});

const begins = { messages: [{ role: 'assistant', content: 'hello' }] };
const wish = { role: 'user', content: 'Begin.' };

test.each([...strict, 'ollama'].map((provider) => host(provider)))(
  'a conversation in which nobody asks is begun by the user at $provider',
  (where) => {
    const { turns, dropped } = translated('anthropic-messages', where, { system: 'S', ...begins });
    expect(turns).toEqual([{ role: 'system', content: 'S' }, wish, ...begins.messages]);
    expect(dropped).toEqual([
      '/messages: the upstream wants somebody to ask: a word of the user’s stands before the answers',
    ]);
    expect(translated('anthropic-messages', where, begins).turns).toEqual([wish, ...begins.messages]);
    const asked = { messages: [...begins.messages, { role: 'user', content: 'hi' }] };
    expect(translated('anthropic-messages', where, asked)).toMatchObject({ turns: asked.messages, dropped: [] });
  },
);

test('a request of the host’s own dialect keeps a conversation in which nobody asks', () => {
  expect(passed(host('vllm'), begins)).toMatchObject({ turns: begins.messages, dropped: [] });
});

test('a host whose documents say nothing of it gets no question of ours', () => {
  const where = { ...host('openai'), order: 'anywhere' as const };
  expect(translated('anthropic-messages', where, begins).turns).toEqual(begins.messages);
});

test('words to go on from are marked as such at Mistral, and nothing else is', () => {
  const where = host('mistral', 'openai-chat', 'mistral-large-latest');
  const user = { role: 'user', content: 'hi' };
  const assistant = { role: 'assistant', content: '{' };
  const ends = { messages: [user, assistant, user, assistant] };
  expect(translated('anthropic-messages', where, ends)).toMatchObject({
    turns: [user, assistant, user, { ...assistant, prefix: true }],
    dropped: [],
  });
  expect(translated('anthropic-messages', where, { messages: [assistant, user] }).turns).toEqual([assistant, user]);
  expect(passed(where, ends).within).toEqual(ends);
});
