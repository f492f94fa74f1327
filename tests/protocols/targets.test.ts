import { describe, expect, test } from 'vitest';
import type { ChatRequest, ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { closestEffort } from '../../server/protocols/shared/effort.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';

const dialects = Object.keys(codecs) as ProtocolId[];
const hi = { role: 'user', parts: [{ type: 'text', text: 'hi' }] } as const;
const bare: ChatRequest = {
  model: '',
  messages: [hi],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  stream: false,
  maxTokens: null,
  temperature: null,
  topP: null,
  topK: null,
  stop: [],
  seed: null,
  presencePenalty: null,
  frequencyPenalty: null,
  responseFormat: null,
  reasoning: null,
  user: null,
  candidates: 1,
  dialect: 'anthropic-messages',
  extra: {},
};
const effort = (word: string) => ({ effort: word, budget: null, includeThoughts: null });
const budget = (tokens: number) => ({ effort: null, budget: tokens, includeThoughts: null });

/** A request encoded for a model of a provider. */
function translated(to: ProtocolId, [provider, model]: readonly [string, string], requested: Partial<ChatRequest>) {
  const dropped: string[] = [];
  const request = {
    ...bare,
    dialect: to === bare.dialect ? ('openai-chat' as const) : bare.dialect,
    ...requested,
    model,
  };
  const made = codecs[to].translation.encodeRequest(request, dropped, targetFor(provider, model));
  return { made: JSON.parse(JSON.stringify(made)) as Record<string, never>, dropped };
}

describe('words for effort', () => {
  test.each([
    ['xhigh', ['low', 'medium', 'high'], 'high'],
    ['max', ['low', 'medium', 'high', 'xhigh'], 'xhigh'],
    ['xhigh', ['low', 'medium', 'high', 'max'], 'high'],
    ['minimal', ['low', 'medium', 'high'], 'low'],
    ['medium', ['low', 'high'], 'high'],
    ['low', ['none', 'high'], 'high'],
    ['none', ['none', 'high'], 'none'],
    ['none', ['low', 'high'], 'low'],
    ['high', ['none', 'default'], 'default'],
    ['high', ['none'], null],
    ['high', [], null],
    ['ultra', ['low', 'high', 'max'], 'high'],
  ])('of %s, %j the nearest is %s', (word, words, near) => {
    expect(closestEffort(word, words)).toBe(near);
  });
});

describe('sampling', () => {
  const sampling = { temperature: 0.3, topP: 0.9, topK: 5 };
  const claude = ['temperature', 'top_p', 'top_k'];

  test.each(['claude-opus-4-7', 'claude-opus-4-8', 'claude-sonnet-5', 'claude-fable-5', 'claude-opus-5-5'])(
    'none of it reaches %s, and each loss is listed',
    (model) => {
      for (const provider of ['anthropic', 'aws', 'vertex']) {
        const { made, dropped } = translated('anthropic-messages', [provider, model], sampling);
        for (const member of claude) expect(made).not.toHaveProperty(member);
        expect(dropped).toEqual(claude.map((member) => `/${member}: not taken by this model`));
      }
    },
  );

  test('models that take it get it', () => {
    const { made, dropped } = translated('anthropic-messages', ['anthropic', 'claude-sonnet-4-6'], {
      temperature: 0.3,
      topK: 5,
    });
    expect(made).toMatchObject({ temperature: 0.3, top_k: 5 });
    expect(dropped).toEqual([]);
  });

  test('a member that everybody heeds anyway is no loss', () => {
    expect(translated('anthropic-messages', ['anthropic', 'claude-opus-5-5'], { temperature: 1 }).dropped).toEqual([]);
  });

  test.each([
    ['gpt-5', null, false],
    ['gpt-5.2', null, true],
    ['gpt-5.2', effort('none'), true],
    ['gpt-5.2', effort('high'), false],
    ['gpt-5.2-codex', null, false],
    ['o3', null, false],
    ['gpt-4o', null, true],
    ['gpt-5-chat-latest', null, true],
  ])('%s with %j takes a temperature: %s', (model, reasoning, supported) => {
    const { made, dropped } = translated('openai-chat', ['openai', model], { temperature: 0.3, reasoning });
    expect('temperature' in made).toBe(supported);
    expect(dropped.includes('/temperature: not taken by this model')).toBe(!supported);
  });
});

describe('efforts and limits', () => {
  test.each([
    ['groq', 'qwen/qwen3-32b', 'xhigh', 'default'],
    ['groq', 'qwen/qwen3-32b', 'none', 'none'],
    ['groq', 'llama-3.3-70b-versatile', 'xhigh', undefined],
    ['groq', 'openai/gpt-oss-120b', 'xhigh', 'high'],
    ['xai', 'grok-4-0709', 'high', undefined],
    ['xai', 'grok-4.3', 'xhigh', 'high'],
    ['mistral', 'mistral-large-latest', 'high', undefined],
    ['mistral', 'mistral-small-latest', 'medium', 'high'],
    ['openai', 'gpt-5', 'xhigh', 'high'],
    ['openai', 'gpt-5.1', 'minimal', 'low'],
    ['openai', 'gpt-5.4', 'max', 'xhigh'],
    ['openai', 'gpt-4o', 'high', undefined],
    ['openrouter', 'openai/o1', 'xhigh', 'xhigh'],
    ['deepseek', 'deepseek-v4-pro', 'xhigh', 'high'],
    ['custom', 'whatever', 'xhigh', 'xhigh'],
    // The table of limits says that it does not think.
    ['together', 'Qwen/Qwen2.5-7B-Instruct-Turbo', 'high', undefined],
    ['fireworks', 'accounts/fireworks/models/deepseek-v4-pro', 'low', 'high'],
  ])('%s %s gets %s as %s', (provider, model, word, expected) => {
    const { made, dropped } = translated('openai-chat', [provider, model], { reasoning: effort(word) });
    expect(made.reasoning_effort).toBe(expected);
    expect(dropped.length > 0).toBe(word !== expected);
  });

  test.each([
    ['openai-chat', 'groq', 'llama-3.3-70b-versatile', 'max_tokens', 32_768],
    ['openai-chat', 'cerebras', 'zai-glm-4.7', 'max_tokens', 40_960],
    ['openai-chat', 'openai', 'gpt-4o', 'max_tokens', 16_384],
    ['openai-chat', 'openai', 'o3', 'max_completion_tokens', 100_000],
    ['openai-responses', 'openai', 'gpt-4.1', 'max_output_tokens', 32_768],
    ['anthropic-messages', 'anthropic', 'claude-sonnet-4-5', 'max_tokens', 64_000],
    ['cohere-chat', 'cohere', 'command-a-03-2025', 'max_tokens', 8000],
  ] as const)('%s: 128,000 tokens of %s %s are too many', (to, provider, model, member, cap) => {
    const { made, dropped } = translated(to, [provider, model], { maxTokens: 128_000 });
    expect(made[member]).toBe(cap);
    expect(dropped).toEqual([`/max_tokens: ${cap} are the most that this model writes`]);
    expect(translated(to, [provider, model], { maxTokens: 100 })).toMatchObject({
      made: { [member]: 100 },
      dropped: [],
    });
  });
});

describe('an answer without a limit is as long as the model can write', () => {
  test.each([
    ['claude-opus-5-5', null, 128_000],
    ['claude-opus-5-5', effort('high'), 128_000],
    ['claude-opus-4-6', effort('high'), 128_000],
    ['claude-sonnet-4-5', null, 64_000],
    ['claude-sonnet-4-5', effort('high'), 64_000],
    ['claude-opus-4-1', effort('high'), 32_000],
    ['claude-3-5-sonnet-20241022', null, 8192],
    ['some-model', null, 8192],
  ])('%s with %j: %i', (model, reasoning, max) => {
    const { made } = translated('anthropic-messages', ['anthropic', model], { reasoning });
    expect(made.max_tokens).toBe(max);
    const thinking = made.thinking as { budget_tokens?: number } | undefined;
    if (thinking?.budget_tokens !== undefined) expect(thinking.budget_tokens).toBeLessThanOrEqual(max - 1024);
  });

  test('a thought fits below what the client allows, or raises it as far as the model goes', () => {
    const of = (maxTokens: number, tokens: number) =>
      translated('anthropic-messages', ['anthropic', 'claude-opus-4-1'], { maxTokens, reasoning: budget(tokens) }).made;
    expect(of(5000, 2000)).toMatchObject({ max_tokens: 5000, thinking: { budget_tokens: 2000 } });
    expect(of(2000, 10_000)).toMatchObject({ max_tokens: 11_024, thinking: { budget_tokens: 10_000 } });
    expect(of(2000, 60_000)).toMatchObject({ max_tokens: 32_000, thinking: { budget_tokens: 30_976 } });
  });
});

describe('how thinking is requested from a model', () => {
  test.each([
    ['claude-opus-4-8', effort('high'), { type: 'adaptive' }, 'high'],
    ['claude-opus-4-8', budget(10_000), { type: 'adaptive' }, 'high'],
    ['claude-opus-4-8', effort('none'), { type: 'disabled' }, undefined],
    ['claude-opus-5', effort('none'), { type: 'disabled' }, undefined],
    ['claude-opus-5-5', effort('none'), { type: 'adaptive' }, 'low'],
    ['claude-fable-5', budget(0), { type: 'adaptive' }, 'low'],
    ['claude-opus-4-6', effort('xhigh'), { type: 'adaptive' }, 'high'],
    ['claude-opus-4-7', effort('xhigh'), { type: 'adaptive' }, 'xhigh'],
    ['claude-sonnet-4-5', effort('low'), { type: 'enabled', budget_tokens: 2048 }, undefined],
    ['claude-3-5-haiku-20241022', effort('high'), undefined, undefined],
    ['claude-next', effort('high'), { type: 'adaptive' }, 'high'],
  ])('%s: %j', (model, reasoning, thinking, word) => {
    const { made } = translated('anthropic-messages', ['anthropic', model], { reasoning });
    expect(made.thinking).toEqual(thinking);
    expect((made.output_config as { effort?: string } | undefined)?.effort).toBe(word);
  });

  test.each([
    ['gemini-3-pro-preview', effort('medium'), { thinkingLevel: 'HIGH', includeThoughts: true }],
    ['gemini-3-pro-preview', effort('none'), { thinkingLevel: 'LOW', includeThoughts: true }],
    ['gemini-3.5-flash', effort('minimal'), { thinkingLevel: 'MINIMAL', includeThoughts: true }],
    ['gemini-3.1-pro-preview', effort('minimal'), { thinkingLevel: 'LOW', includeThoughts: true }],
    ['gemini-2.5-pro', effort('xhigh'), { thinkingBudget: 32_000, includeThoughts: true }],
    ['gemini-2.5-pro', effort('none'), { thinkingBudget: 128, includeThoughts: true }],
    ['gemini-2.5-flash', effort('max'), { thinkingBudget: 24_576, includeThoughts: true }],
    ['gemini-2.5-flash', effort('none'), { thinkingBudget: 0, includeThoughts: false }],
    ['gemini-2.5-flash-lite', budget(100), { thinkingBudget: 512, includeThoughts: true }],
    ['gemini-2.0-flash', effort('high'), undefined],
  ])('%s: %j', (model, reasoning, config) => {
    const { made } = translated('gemini-generate', ['gemini', model], { reasoning });
    expect((made.generationConfig as { thinkingConfig?: unknown } | undefined)?.thinkingConfig).toEqual(config);
  });

  test.each([
    ['moonshot', 'kimi-k2.6', { thinking: { type: 'disabled' } }],
    ['zhipu-v4', 'glm-5.1', { thinking: { type: 'disabled' } }],
    ['deepseek', 'deepseek-v4-pro', { thinking: { type: 'disabled' } }],
    ['ali', 'qwen3.6-plus', { enable_thinking: false }],
    ['siliconflow', 'Qwen/Qwen3-14B', { enable_thinking: false }],
    ['fireworks', 'accounts/fireworks/models/kimi-k2p6', { reasoning_effort: 'none' }],
    ['openai', 'gpt-5.1', { reasoning_effort: 'none' }],
    ['openai', 'gpt-5', { reasoning_effort: 'minimal' }],
    ['moonshot', 'kimi-k2.7-code', {}],
  ])('%s %s is asked not to', (provider, model, expected) => {
    const { made } = translated('openai-chat', [provider, model], { reasoning: effort('none') });
    const { thinking, reasoning_effort: word, enable_thinking } = made as Record<string, unknown>;
    expect(JSON.parse(JSON.stringify({ thinking, reasoning_effort: word, enable_thinking }))).toEqual(expected);
  });
});

const tool = { kind: 'function', name: 'f', description: null, schema: { type: 'object' }, strict: null } as const;
const search = { kind: 'provider', name: 'web_search', description: null, schema: null, strict: null } as const;

describe('what cannot be asked together', () => {
  const format = { type: 'json' } as const;

  test('a form for the answer beside tools', () => {
    const older = translated('gemini-generate', ['gemini', 'gemini-2.5-pro'], {
      tools: [tool],
      responseFormat: format,
    });
    expect(older.made.generationConfig).toBeUndefined();
    expect(older.dropped).toEqual(['/response_format: not taken beside tools by this model, asked for in words']);
    const newer = translated('gemini-generate', ['gemini', 'gemini-3.5-flash'], {
      tools: [tool],
      responseFormat: format,
    });
    expect(newer.made.generationConfig).toEqual({ responseMimeType: 'application/json' });
  });

  test('the provider’s own tools beside others', () => {
    const { made, dropped } = translated('gemini-generate', ['vertex', 'gemini-3.5-flash'], { tools: [search, tool] });
    expect(JSON.stringify(made.tools)).not.toContain('googleSearch');
    expect(dropped).toEqual(['/tools/0: web_search cannot be offered beside other tools here']);
    const alone = translated('gemini-generate', ['vertex', 'gemini-3.5-flash'], { tools: [search] });
    expect(alone.made.tools).toEqual([{ googleSearch: {} }]);
  });

  test('pictures for a model that reads words alone', () => {
    const image = {
      type: 'image',
      source: { kind: 'url', url: 'https://example.com/a.png', mimeType: null },
    } as const;
    const note = {
      type: 'file',
      source: { kind: 'base64', data: 'aGk=', mimeType: 'text/plain' },
      name: null,
    } as const;
    const messages = [
      { role: 'user', parts: [image, { type: 'text', text: 'what is it?' }, note] },
      { role: 'user', parts: [image] },
    ] as const;
    const { made, dropped } = translated('openai-chat', ['deepseek', 'deepseek-v4-pro'], { messages });
    expect(JSON.stringify(made.messages)).not.toContain('example.com');
    expect(JSON.stringify(made.messages)).toContain('what is it?\\nhi');
    expect(dropped).toEqual([0, 1].map((at) => `/messages/${at}/content/0: image cannot be read by this model`));
  });

  test('several answers, and penalties', () => {
    const requested = { candidates: 2, presencePenalty: 0.5, frequencyPenalty: 0 };
    const { made, dropped } = translated('gemini-generate', ['gemini', 'gemini-3.1-pro-preview'], requested);
    expect(made.generationConfig).toBeUndefined();
    expect(dropped).toEqual(['/presence_penalty: not taken by this model', '/n: one answer only']);
    const own = { ...requested, dialect: 'gemini-generate' as const };
    expect(translated('gemini-generate', ['gemini', 'gemini-2.0-flash'], own).made.generationConfig).toEqual({
      candidateCount: 2,
      presencePenalty: 0.5,
      frequencyPenalty: 0,
    });
  });
});

test.each([
  ['openai-responses', 'openai', 'gpt-5.1', 'xhigh', { reasoning: { effort: 'high', summary: 'auto' } }],
  ['openai-responses', 'openai', 'gpt-5.2-codex', 'none', { reasoning: { effort: 'low', summary: 'auto' } }],
  ['openai-responses', 'openai', 'gpt-4.1', 'high', {}],
  ['cohere-chat', 'cohere', 'command-a-03-2025', 'high', {}],
  ['cohere-chat', 'cohere', 'command-a-reasoning-08-2025', 'high', { thinking: { type: 'enabled' } }],
  ['ollama-chat', 'ollama', 'gpt-oss:20b', 'xhigh', { think: 'high' }],
  ['ollama-chat', 'ollama', 'llama3-7b', 'high', {}],
] as const)('%s: %s %s gets %s as %j', (to, provider, model, word, expected) => {
  const { made } = translated(to, [provider, model], { reasoning: effort(word) });
  const { reasoning, thinking, think } = made as Record<string, unknown>;
  expect(JSON.parse(JSON.stringify({ reasoning, thinking, think }))).toEqual(expected);
});

test('a call in the history bears a signature wherever one is wanted', () => {
  const call = { type: 'tool-call', id: 'a', name: 'f', arguments: '{}' } as const;
  const messages = [hi, { role: 'assistant', parts: [call] }] as const;
  const signed = (model: string) =>
    JSON.stringify(translated('gemini-generate', ['gemini', model], { messages }).made).includes(
      'skip_thought_signature',
    );
  expect(['gemini-3-pro-preview', 'gemini-flash-latest', 'gemini-pro-latest'].map(signed)).toEqual([true, true, true]);
  expect(['gemini-2.5-pro', 'gemini-2.0-flash', 'my-tuned-model'].map(signed)).toEqual([false, false, false]);
});

test('a tool that cannot be forced is offered, where forcing is refused', () => {
  const requested = { tools: [tool], toolChoice: 'required' } as const satisfies Partial<ChatRequest>;
  const five = translated('anthropic-messages', ['anthropic', 'claude-opus-5-5'], requested);
  expect(five.made.tool_choice).toEqual({ type: 'auto' });
  expect(five.dropped).toEqual(['/tool_choice: this model cannot be made to call a tool']);
  expect(translated('anthropic-messages', ['anthropic', 'claude-opus-4-8'], requested).made.tool_choice).toEqual({
    type: 'any',
  });
  // It would think without being asked to.
  expect(translated('anthropic-messages', ['anthropic', 'claude-opus-5'], requested).made).toMatchObject({
    tool_choice: { type: 'any' },
    thinking: { type: 'disabled' },
  });
});

test.each(dialects)('%s: an unknown model gets the request as it was', (to) => {
  const requested = { temperature: 0.5, maxTokens: 900_000 };
  const { made, dropped } = translated(to, ['custom', 'my-own-model'], requested);
  const text = JSON.stringify(made);
  expect(text).toContain('0.5');
  expect(text).toContain('900000');
  expect(dropped).toEqual([]);
});
